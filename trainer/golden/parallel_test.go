package golden

import (
	"context"
	"errors"
	"fmt"
	"testing"

	"boost-tui/experiment"
	"boost-tui/kernels"
)

// dimensions are what is tried beside the tensor-parallel degrees, as far as a case fits.
var dimensions = []Options{{DP: 2}, {DP: 2, Zero: 1}, {PP: 2}, {PP: 3}, {DP: 2, PP: 2, Zero: 1}, {SP: true}, {SP: true, DP: 2, PP: 2, Zero: 1}}

func describe(o Options) string {
	return fmt.Sprintf("%s/tp%d.dp%d.pp%d.zero%d.sp=%v", o.Scheme, max(o.TP, 1), max(o.DP, 1), max(o.PP, 1), o.Zero, o.SP)
}

// TestParallelCases runs every case under every scheme and degree that fits it, over replicas, with their optimizer in
// slices, over stages, and with sequence parallelism.
func TestParallelCases(t *testing.T) {
	parallelCases(t, func() func(rank, n int) (kernels.Device, error) { return open(false) }, func(c Case, s experiment.Scheme) []string { return []string{experiment.RecomputeNone} })
}

// TestParallelCasesOnProcessor does so on the cpu device, where streams run at the same time, with every way of recomputing.
func TestParallelCasesOnProcessor(t *testing.T) {
	parallelCases(t, func() func(rank, n int) (kernels.Device, error) { return processor(t, "") }, Case.Recomputes)
}

func parallelCases(t *testing.T, devices func() func(rank, n int) (kernels.Device, error), recompute func(Case, experiment.Scheme) []string) {
	cases, err := Cases()
	if err != nil {
		t.Fatal(err)
	}
	on, off, ran := true, false, map[string]int{}
	for _, c := range cases {
		for _, s := range c.Schemes() {
			for _, tp := range c.TPs(s) {
				for _, o := range dimensions {
					o.Scheme, o.TP, o.Grouped, o.SyncNorm, o.Recompute = s, tp, &on, &off, recompute(c, s)
					if testing.Short() && tp > 2 {
						continue
					}
					if o.Open = devices(); errors.Is(c.Fits(o), ErrFit) {
						continue
					}
					ran[fmt.Sprint(o.DP, o.PP, o.Zero, o.SP)]++
					r, err := Verify(context.Background(), c, o)
					if err != nil {
						t.Fatalf("%s/%s: %v", c.Name, describe(o), err)
					}
					if !r.OK {
						t.Errorf("%s/%s: %+v", c.Name, describe(o), r)
					}
				}
			}
		}
	}
	if len(ran) != len(dimensions) {
		t.Errorf("not every dimension was tried: %v", ran)
	}
	t.Log(ran)
}
