package golden

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"

	"boost-tui/experiment"
	"boost-tui/kernels"
	"boost-tui/kernels/reference"
)

// open makes reference ranks of one world.
func open(deferred bool) func(rank, n int) (kernels.Device, error) {
	return openWorld(deferred, false)
}

// openWorld makes them of such a world, a new one for every first rank.
func openWorld(deferred, coarse bool) func(rank, n int) (kernels.Device, error) {
	var w *reference.World
	return func(rank, n int) (kernels.Device, error) {
		if rank == 0 {
			w = &reference.World{Deferred: deferred, Coarse: coarse}
		}
		return reference.New(w, rank), nil
	}
}

// TestCases runs every case under every scheme and degree that fits it, with both norms, grouped and not.
func TestCases(t *testing.T) {
	cases, err := Cases()
	if err != nil {
		t.Fatal(err)
	}
	if len(cases) != 16 {
		t.Fatalf("%d embedded cases", len(cases))
	}
	for _, c := range cases {
		if short := []string{"cola_base"}; testing.Short() && !slices.Contains(short, c.Name) {
			continue // these show the race detector every path
		}
		for _, s := range c.Schemes() {
			for _, tp := range c.TPs(s) {
				t.Run(fmt.Sprintf("%s/%s/tp%d", c.Name, s, tp), func(t *testing.T) {
					t.Parallel()
					on, off := true, false
					for _, o := range []Options{{Recompute: []string{experiment.RecomputeNone}}, {SyncNorm: &off, Grouped: &on, Recompute: c.Recomputes(s)[1:]}} {
						o.Scheme, o.TP, o.Open = s, tp, open(false)
						r, err := Verify(context.Background(), c, o)
						if err != nil {
							t.Fatal(err)
						}
						if !r.OK {
							t.Errorf("%+v", r)
						}
						t.Logf("loss %.1e gradient %.1e final %.1e", r.LossMaxAbsError, r.GradientMaxRelError, r.FinalMaxRelError)
					}
				})
			}
		}
	}
}

func TestDoesNotFit(t *testing.T) {
	cases, err := Cases()
	if err != nil {
		t.Fatal(err)
	}
	other := cases[0]
	other.Config.Variant = "other"
	for _, v := range []struct {
		c  Case
		s  experiment.Scheme
		tp int
	}{{cases[0], experiment.FullRank, 1}, {cases[0], experiment.BTP, 3}, {other, experiment.BTP, 1}, {other, "", 1}, {cases[0], "nonsense", 1}} {
		_, err := Verify(context.Background(), v.c, Options{Scheme: v.s, TP: v.tp, Open: open(false)})
		if !errors.Is(err, ErrFit) {
			t.Errorf("%s under %s tp %d: %v", v.c.Name, v.s, v.tp, err)
		}
	}
}
