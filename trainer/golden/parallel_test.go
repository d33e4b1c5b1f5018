package golden

import (
	"context"
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"testing"

	"boost-tui/experiment"
	"boost-tui/kernels"
)

// dimensions are what is tried beside the tensor-parallel degrees, as far as a case fits.
var dimensions = []Options{{DP: 2}, {DP: 2, Zero: 1}, {PP: 2}, {PP: 3}, {DP: 2, PP: 2, Zero: 1}, {SP: true}, {SP: true, DP: 2, PP: 2, Zero: 1}}

func describe(o Options) string {
	return fmt.Sprintf("%s/tp%d.dp%d.pp%d.zero%d.sp=%v", o.Scheme, max(o.TP, 1), max(o.DP, 1), max(o.PP, 1), o.Zero, o.SP)
}

// TestParallelCases runs a case of every variant under every scheme that fits it, over replicas, with their optimizer in slices,
// over stages, and with sequence parallelism.
func TestParallelCases(t *testing.T) {
	if testing.Short() {
		t.Skip("minutes under the race detector: the cpu device's cases stand for it in a short run")
	}
	some := []string{"cola_base", "cola_clip", "full_base", "lax_dense", "lax_identity", "loro_base", "relora_base", "sltrain_base"}
	parallelCases(t, some, func() func(rank, n int) (kernels.Device, error) { return open(false) }, func(c Case, s experiment.Scheme) []string { return []string{experiment.RecomputeNone} })
}

// TestParallelCasesOnProcessor runs all cases so on the cpu device, where streams run at the same time, with every way of recomputing.
func TestParallelCasesOnProcessor(t *testing.T) {
	if testing.Short() {
		t.Skip("minutes under the race detector; the trainer's meshes stand for it in a short run")
	}
	parallelCases(t, nil, func() func(rank, n int) (kernels.Device, error) { return processor(t, "") }, Case.Recomputes)
}

// parallelCases runs the named cases; nil: all.
func parallelCases(t *testing.T, only []string, devices func() func(rank, n int) (kernels.Device, error), recompute func(Case, experiment.Scheme) []string) {
	cases, err := Cases()
	if err != nil {
		t.Fatal(err)
	}
	on, off, ran := true, false, map[string]int{}
	for _, c := range cases {
		if only != nil && !slices.Contains(only, c.Name) {
			continue
		}
		for _, s := range c.Schemes() {
			for _, tp := range c.TPs(s) {
				for _, o := range dimensions {
					o.Scheme, o.TP, o.Grouped, o.SyncNorm, o.Recompute = s, tp, &on, &off, recompute(c, s)
					if tp > 2 && os.Getenv("BOOST_TEST_SOAK") == "" {
						continue // many ranks on few cores
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

// TestDimensionMistakes plants what goes wrong only over replicas, stages or tokens.
func TestDimensionMistakes(t *testing.T) {
	if testing.Short() {
		t.Skip("minutes under the race detector: the cpu device's cases stand for it in a short run")
	}
	cases := named(t)
	skip := func(which func(kernels.Call, kernels.Op) bool) func(*mistaken, kernels.Call, kernels.Op) (kernels.Op, error) {
		return func(_ *mistaken, call kernels.Call, op kernels.Op) (kernels.Op, error) {
			if which(call, op) {
				return nil, nil
			}
			return op, nil
		}
	}
	called := func(name string) func(kernels.Call, kernels.Op) bool {
		return func(c kernels.Call, op kernels.Op) bool {
			return op.Class() == kernels.Communication && c.Label.Op == name
		}
	}
	for name, k := range map[string]struct {
		c     string
		o     Options
		miss  string
		wrong func(*mistaken, kernels.Call, kernels.Op) (kernels.Op, error)
	}{
		"gradients not reduced over replicas": {"cola_base", Options{DP: 2}, "gradient", skip(called("gradients"))},
		"loss of one replica alone":           {"cola_base", Options{DP: 2}, "loss", skip(called("replicas"))},
		"sum instead of the mean": {"cola_base", Options{DP: 2}, "gradient", func(_ *mistaken, _ kernels.Call, op kernels.Op) (kernels.Op, error) {
			if o, ok := op.(*kernels.XentLoss); ok {
				c := *o
				c.Scale *= 2
				return &c, nil
			}
			return op, nil
		}},
		"norm of one replica's slices":  {"cola_clip", Options{DP: 2, Zero: 1}, "gradient norm", skip(func(c kernels.Call, op kernels.Op) bool { return called("replicas")(c, op) && parts(op) > 1 })},
		"weights not gathered":          {"cola_base", Options{DP: 2, Zero: 1}, "loss", skip(called("weights"))},
		"exact step on the owner alone": {"loro_base", Options{DP: 2}, "loss", skip(func(_ kernels.Call, op kernels.Op) bool { return kindOf(op) == kernels.Broadcast })},
		"norm of one stage":             {"cola_clip", Options{PP: 2}, "gradient norm", skip(called("stages"))},
		"latents without their gradients between stages": {"lax_identity", Options{PP: 3}, "gradient",
			func(_ *mistaken, c kernels.Call, op kernels.Op) (kernels.Op, error) {
				if o, ok := op.(*kernels.CrossBwd); ok && c.Label.Layer < 2 {
					x := *o
					x.Fresh = true
					return &x, nil
				}
				if o, ok := op.(*kernels.Axpby); ok && c.Label.Op == "carry" {
					return &kernels.Axpby{A: 1, X: o.X, Out: o.Out}, nil
				}
				return op, nil
			}},
		"gains of one rank's tokens": {"full_base", Options{TP: 2, SP: true}, "gradient", skip(called("norms"))},
	} {
		inBoth(t, name, func(t *testing.T, dt kernels.DType) {
			o := k.o
			o.DType = dt
			r := plant(t, cases[k.c], o, k.wrong)
			if r.OK || dt == kernels.F32 && !strings.Contains(strings.Join(r.Misses, "\n"), k.miss) {
				t.Errorf("not found: %+v", r)
			}
			report(t, r)
		})
	}
}

// parts of a collective, and the kind of its first.
func parts(op kernels.Op) int {
	if c, ok := op.(*kernels.Collective); ok {
		return len(c.Parts)
	}
	return 0
}

func kindOf(op kernels.Op) kernels.CollectiveKind {
	if c, ok := op.(*kernels.Collective); ok {
		return c.Parts[0].Kind
	}
	return kernels.AllReduce
}
