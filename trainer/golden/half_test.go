package golden

import (
	"context"
	"fmt"
	"math"
	"testing"

	"boost-tui/experiment"
	"boost-tui/kernels"
)

// TestCasesInBF16 follows the reference device on one that sums in fp32 in another order, as a GPU may: every case under every
// scheme, one with both norms, grouped and not, and every way of recomputing.
func TestCasesInBF16(t *testing.T) {
	cases, err := Cases()
	if err != nil {
		t.Fatal(err)
	}
	on, off := true, false
	for _, c := range cases {
		if testing.Short() && c.Name != "cola_clip" {
			continue
		}
		for _, s := range c.Schemes() {
			for _, tp := range c.TPs(s) {
				if tp > 2 && !inQuick[c.Name] && c.Name != "cola_tp8" {
					continue // nothing new but minutes
				}
				t.Run(fmt.Sprintf("%s/%s/tp%d", c.Name, s, tp), func(t *testing.T) {
					t.Parallel()
					o := Options{Scheme: s, DType: kernels.BF16, TP: tp, Open: openWorld(false, true)}
					if c.Name != "cola_base" {
						o.Grouped, o.SyncNorm, o.Recompute = &on, &off, []string{experiment.RecomputeNone}
					}
					r, err := Verify(context.Background(), c, o)
					if err != nil {
						t.Fatal(err)
					}
					if !r.OK {
						t.Errorf("%+v", r)
					}
					report(t, r)
				})
			}
		}
	}
}

// TestParallelCasesInBF16 does so over replicas, with masters in slices, over stages and tokens.
func TestParallelCasesInBF16(t *testing.T) {
	if testing.Short() {
		t.Skip("minutes under the race detector")
	}
	on, off := true, false
	for _, name := range []string{"cola_clip", "full_base", "lax_dense", "loro_base", "relora_base", "sltrain_base"} {
		c := named(t)[name]
		for _, o := range dimensions {
			for _, tp := range []int{1, 2} {
				o.Scheme, o.TP, o.Grouped, o.SyncNorm, o.Recompute, o.DType = c.Schemes()[0], tp, &on, &off, []string{experiment.RecomputeNone}, kernels.BF16
				if c.Fits(o) != nil {
					continue
				}
				t.Run(name+"/"+describe(o), func(t *testing.T) {
					t.Parallel()
					o.Open = openWorld(false, true)
					r, err := Verify(context.Background(), c, o)
					if err != nil {
						t.Fatal(err)
					}
					if !r.OK {
						t.Errorf("%+v", r)
					}
					report(t, r)
				})
			}
		}
	}
}

// TestReferenceInBF16 holds the reference device's first step against the case: no more than rounding may be between them.
func TestReferenceInBF16(t *testing.T) {
	cases, err := Cases()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range cases {
		for _, s := range c.Schemes() {
			o := Options{Scheme: s, DType: kernels.BF16, TP: 1, DP: 1, PP: 1}
			leaders, err := c.lead(context.Background(), o, way{grouped: true, recompute: experiment.RecomputeNone})
			if err != nil {
				t.Fatal(err)
			}
			var list []float64
			for name, want := range c.Expected.GradL2 {
				if c.zero(name) {
					continue
				}
				g := whole(leaders, name, func(o outcome) map[string]shard { return o.strides[0].grads })[0]
				if e := math.Abs(norm(g)-want) / want; e > 4e-2 {
					t.Errorf("%s under %s: the gradient's norm of %s is %.2g off", c.Name, s, name, e)
				} else {
					list = append(list, e)
				}
			}
			loss := math.Abs(leaders[0].loss[0] - c.Expected.Loss[0])
			if m := median(list); m > 1.2e-2 || loss > 3e-3 {
				t.Errorf("%s under %s: loss %.2g off, norms of gradients %.2g in the median", c.Name, s, loss, m)
			}
			t.Logf("%s/%s: loss %.1e, norms of gradients up to %.1e, median %.1e", c.Name, s, loss, list[len(list)-1], median(list))
		}
	}
}
