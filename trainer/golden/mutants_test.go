package golden

import (
	"context"
	"strings"
	"testing"

	"boost-tui/experiment"
	"boost-tui/kernels"
)

// noRope leaves queries and keys as they are.
func noRope(_ *mistaken, _ kernels.Call, op kernels.Op) (kernels.Op, error) {
	if o, ok := op.(*kernels.Rope); ok {
		return &kernels.Axpby{A: 1, X: o.X, Out: o.X}, nil
	}
	return op, nil
}

// noCrossing forgets the latents of the block before.
func noCrossing(_ *mistaken, _ kernels.Call, op kernels.Op) (kernels.Op, error) {
	if o, ok := op.(*kernels.Cross); ok {
		return &kernels.Axpby{A: 1, X: o.U, Out: o.H}, nil
	}
	return op, nil
}

// crossingsAddUp hands the crossed latent on to the next block, not the raw one.
func crossingsAddUp(m *mistaken, call kernels.Call, op kernels.Op) (kernels.Op, error) {
	o, ok := op.(*kernels.Cross)
	if !ok {
		return op, nil
	}
	if err := m.Device.Do(call, op); err != nil {
		return nil, err
	}
	return &kernels.Axpby{A: 1, X: o.H, Out: o.U}, nil
}

// crossesBefore crosses raw latents, before the activation.
func crossesBefore(m *mistaken, call kernels.Call, op kernels.Op) (kernels.Op, error) {
	o, ok := op.(*kernels.Cross)
	if !ok {
		return op, nil
	}
	raw := *o
	raw.Silu = false
	if err := m.Device.Do(call, &raw); err != nil {
		return nil, err
	}
	b, err := m.Alloc("ones", o.U.Bytes(), false)
	if err != nil {
		return nil, err
	}
	ones := kernels.Matrix(b, 0, o.U.Rows, o.U.Cols, o.U.DType)
	if err := m.Device.Do(call, &kernels.Fill{X: ones, Value: 1}); err != nil {
		return nil, err
	}
	return &kernels.SwiGLU{G: o.H, U: ones, Y: o.H, Silu: true}, nil
}

// decayInGradient adds the decay to the gradient instead of shrinking the weights.
func decayInGradient(m *mistaken, call kernels.Call, op kernels.Op) (kernels.Op, error) {
	o, ok := op.(*kernels.AdamW)
	if !ok {
		return op, nil
	}
	c := *o
	c.WeightDecay = 0
	return &c, m.Device.Do(call, &kernels.Axpby{A: 1, B: o.WeightDecay, X: o.Grad, Y: o.Param, Out: o.Grad})
}

// deliberate are the mistakes that the reference's own check of the cases lists.
var deliberate = map[string]struct {
	c      string
	change func(*Case)
	wrong  func(*mistaken, kernels.Call, kernels.Op) (kernels.Op, error)
}{
	"eps 1e-6 instead of 1e-5":          {"cola_base", func(c *Case) { c.Config.Eps = 1e-6 }, nil},
	"interleaved rope":                  {"full_base", nil, interleaved},
	"no rope":                           {"cola_base", nil, noRope},
	"rope theta 5e5":                    {"full_base", func(c *Case) { c.Config.RopeTheta = 5e5 }, nil},
	"cola without silu":                 {"cola_base", func(c *Case) { c.Config.Variant = "svd" }, nil},
	"cola drops the MLP's silu":         {"cola_base", func(c *Case) { c.Config.OnlyLRAct = true }, nil},
	"cola keeps the MLP's silu":         {"cola_only_lr_act", func(c *Case) { c.Config.OnlyLRAct = false }, nil},
	"lax without crossing":              {"lax_identity", nil, noCrossing},
	"lax adds crossed latents up":       {"lax_identity", nil, crossingsAddUp},
	"lax crosses before the activation": {"lax_vector_cola", nil, crossesBefore},
	"beta2 0.999":                       {"cola_base", func(c *Case) { c.Optimizer.Beta2 = 0.999 }, nil},
	"weight decay 0.05 not 0.1":         {"cola_base", func(c *Case) { c.Optimizer.WeightDecay = 0.05 }, nil},
	"decay in the gradient":             {"full_wd05", nil, decayInGradient},
	"no clipping":                       {"cola_clip", func(c *Case) { c.Optimizer.GradClip = 0 }, nil},
	"loro never exact":                  {"loro_base", func(c *Case) { c.Optimizer.LoroFreq = 99 }, nil},
	"loro without refresh":              {"loro_base", func(c *Case) { c.Optimizer.RefreshFreq = 99 }, nil},
	"loro eps 1e-8":                     {"loro_base", func(c *Case) { c.Optimizer.Eps = 1e-8 }, nil},
	"relora alpha 16":                   {"relora_base", func(c *Case) { c.Config.Alpha = 16 }, nil},
	"relora clears the step counter":    {"relora_base", func(c *Case) { c.Optimizer.KeepStep = false }, nil},
	"relora never merges":               {"relora_base", func(c *Case) { c.Optimizer.ReloraFreq = 99 }, nil},
	"sltrain without scale":             {"sltrain_base", func(c *Case) { c.Config.Alpha = 16 }, nil},
}

// TestDeliberateMistakes plants every mistake that the reference's own check of the cases lists: the loss must
// miss by 1e-4 or more, ten times the tolerance.
func TestDeliberateMistakes(t *testing.T) {
	if testing.Short() {
		t.Skip("minutes under the race detector: the cpu device's cases stand for it in a short run")
	}
	cases := named(t)
	for name, k := range deliberate {
		inBoth(t, name, func(t *testing.T, dt kernels.DType) {
			c, standard := cases[k.c], cases[k.c]
			if k.change != nil {
				k.change(&c)
			}
			grouped := k.c != "full_base" // queries and keys of full, grouped, lie side by side; a mistake edits one by one
			r := plant(t, c, Options{DType: dt, standard: &standard, Grouped: &grouped}, k.wrong)
			if r.OK || dt == kernels.F32 && r.LossMaxAbsError < 1e-4 {
				t.Errorf("not found: %+v", r)
			}
			report(t, r)
		})
	}
}

// TestParallelMistakes plants what goes wrong only on more than one rank, or only where something is recomputed.
func TestParallelMistakes(t *testing.T) {
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
	lowRank, none := []string{experiment.RecomputeLowRank}, []string{experiment.RecomputeNone}
	for name, k := range map[string]struct {
		c     string
		o     Options
		miss  string
		wrong func(*mistaken, kernels.Call, kernels.Op) (kernels.Op, error)
	}{
		"relora: gradients of whole factors not summed": {"relora_base", Options{TP: 2, Recompute: none}, "gradient",
			skip(func(c kernels.Call, op kernels.Op) bool { return c.Label.Op == "factors" })},
		"sltrain: gradients of whole factors not summed": {"sltrain_base", Options{TP: 2, Recompute: none}, "gradient",
			skip(func(c kernels.Call, op kernels.Op) bool { return c.Label.Op == "factors" })},
		"loro: r/d of a rank's part": {"loro_base", Options{Scheme: experiment.Vanilla, TP: 2, Recompute: none}, "loss",
			func(_ *mistaken, c kernels.Call, op kernels.Op) (kernels.Op, error) {
				if o, ok := op.(*kernels.Adam); ok && c.Label.Op == "adam.factors" {
					half := *o
					half.Rate /= 2
					return &half, nil
				}
				return op, nil
			}},
		"loro: the exact step's result stays with its owner": {"loro_base", Options{TP: 2, Recompute: none}, "loss",
			func(_ *mistaken, _ kernels.Call, op kernels.Op) (kernels.Op, error) {
				if o, ok := op.(*kernels.Collective); ok && o.Parts[0].Kind == kernels.Broadcast {
					return nil, nil
				}
				return op, nil
			}},
		"lax: nothing carried down": {"lax_vector_cola", Options{TP: 2, Recompute: none}, "gradient",
			func(_ *mistaken, _ kernels.Call, op kernels.Op) (kernels.Op, error) {
				if o, ok := op.(*kernels.CrossBwd); ok {
					c := *o
					c.Fresh = true
					return &c, nil
				}
				return op, nil
			}},
		"lax: gradients of gathered latents not summed": {"lax_dense", Options{Scheme: experiment.Vanilla, TP: 2, Recompute: none}, "gradient",
			func(_ *mistaken, c kernels.Call, op kernels.Op) (kernels.Op, error) {
				if o, ok := op.(*kernels.Collective); ok && strings.HasSuffix(c.Label.Op, ".lax") && o.Parts[0].Kind == kernels.ReduceScatter {
					return nil, nil
				}
				return op, nil
			}},
		"recomputation without rope": {"cola_base", Options{TP: 2, Recompute: lowRank}, "gradient",
			skip(func(c kernels.Call, op kernels.Op) bool {
				_, rope := op.(*kernels.Rope)
				return rope && strings.HasPrefix(c.Label.Chunk, "again.")
			})},
		"recomputation under vanilla without its sums": {"cola_base", Options{Scheme: experiment.Vanilla, TP: 2, Recompute: lowRank}, "gradient",
			skip(func(c kernels.Call, op kernels.Op) bool {
				return op.Class() == kernels.Communication && strings.HasPrefix(c.Label.Chunk, "again.")
			})},
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

// inBoth runs a test in F32 and in BF16.
func inBoth(t *testing.T, name string, f func(t *testing.T, dt kernels.DType)) {
	for _, dt := range []kernels.DType{kernels.F32, kernels.BF16} {
		t.Run(name+"/"+dt.String(), func(t *testing.T) {
			t.Parallel()
			f(t, dt)
		})
	}
}

func report(t *testing.T, r Report) {
	t.Helper()
	t.Logf("loss %.1e gradient %.1e, median %.1e, change %.1e, median %.1e, moments %.1e", r.LossMaxAbsError, r.GradientMaxRelError, r.GradientMedianRelError,
		r.FinalMaxRelError, r.FinalMedianRelError, r.MomentMaxRelError)
}

func named(t *testing.T) map[string]Case {
	t.Helper()
	cases, err := Cases()
	if err != nil {
		t.Fatal(err)
	}
	out := map[string]Case{}
	for _, c := range cases {
		out[c.Name] = c
	}
	return out
}

// plant verifies a case on devices that make a mistake; unless asked otherwise grouped, and with the online norm.
func plant(t *testing.T, c Case, o Options, wrong func(*mistaken, kernels.Call, kernels.Op) (kernels.Op, error)) Report {
	t.Helper()
	off, on := false, true
	ranks := openWorld(false, o.DType == kernels.BF16)
	o.SyncNorm = &off
	if o.Grouped == nil {
		o.Grouped = &on
	}
	if o.Recompute == nil {
		o.Recompute = []string{experiment.RecomputeNone}
	}
	o.Open = func(rank, n int) (kernels.Device, error) {
		d, err := ranks(rank, n)
		if wrong == nil {
			return d, err
		}
		return &mistaken{Device: d, wrong: wrong}, err
	}
	r, err := Verify(context.Background(), c, o)
	if err != nil {
		t.Fatal(err)
	}
	return r
}
