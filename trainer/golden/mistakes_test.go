package golden

import (
	"context"
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"boost-tui/experiment"
	"boost-tui/kernels"
)

// mistaken is a device on which one operation is done wrongly, as popular implementations do it.
type mistaken struct {
	kernels.Device
	local kernels.View // 1/rms of the rank's own columns, for alphaAfter
	wrong func(m *mistaken, call kernels.Call, op kernels.Op) (kernels.Op, error)
}

func (m *mistaken) Do(call kernels.Call, op kernels.Op) error {
	op, err := m.wrong(m, call, op)
	if err != nil || op == nil { // left out
		return err
	}
	return m.Device.Do(call, op)
}

// edit changes a contiguous view through the host.
func (m *mistaken) edit(v kernels.View, f func([]float32)) error {
	h, err := m.Host(v.Bytes())
	if err != nil {
		return err
	}
	if err := m.Device.Do(kernels.Call{}, &kernels.Download{Src: v, Dst: h}); err != nil {
		return err
	}
	x := make([]float32, v.Len())
	half := v.DType == kernels.BF16
	for i := range x {
		if half {
			x[i] = kernels.FromBF16(binary.NativeEndian.Uint16(h.Bytes[2*i:]))
		} else {
			x[i] = math.Float32frombits(binary.NativeEndian.Uint32(h.Bytes[4*i:]))
		}
	}
	f(x)
	for i := range x {
		if half {
			binary.NativeEndian.PutUint16(h.Bytes[2*i:], kernels.ToBF16(x[i]))
		} else {
			binary.NativeEndian.PutUint32(h.Bytes[4*i:], math.Float32bits(x[i]))
		}
	}
	return m.Device.Do(kernels.Call{}, &kernels.Upload{Src: h, Dst: v})
}

// alphaAfter normalises by the rank's own RMS and multiplies the reduced latents by its own RMS over the global one (METHOD.md §3.5: wrong).
func alphaAfter(m *mistaken, call kernels.Call, op kernels.Op) (kernels.Op, error) {
	switch o := op.(type) {
	case *kernels.NormApply:
		if !o.RStd.IsZero() {
			break
		}
		if m.local.IsZero() {
			b, err := m.Alloc("local", int64(o.X.Rows)*8, false)
			if err != nil {
				return nil, err
			}
			m.local = kernels.Matrix(b, 0, o.X.Rows, 1, kernels.F32)
		}
		if err := m.Device.Do(call, &kernels.NormStats{X: o.X, Stat: m.local}); err != nil {
			return nil, err
		}
		if err := m.Device.Do(call, &kernels.NormRStd{Stat: m.local, RStd: m.local, Width: o.X.Cols, Eps: 1e-5}); err != nil {
			return nil, err
		}
		return &kernels.NormApply{X: o.X, W: o.W, RStd: m.local, Y: o.Y}, nil
	case *kernels.Latent:
		if o.RStd.IsZero() {
			break
		}
		alpha := m.local
		alpha.Offset = m.local.Bytes()
		var global []float32
		if err := m.edit(o.RStd, func(x []float32) { global = x }); err != nil {
			return nil, err
		}
		var own []float32
		if err := m.edit(m.local, func(x []float32) { own = x }); err != nil {
			return nil, err
		}
		err := m.edit(alpha, func(x []float32) {
			for i := range x {
				x[i] = global[i] / own[i]
			}
		})
		return &kernels.Latent{P: o.P, RStd: alpha, U: o.U, H: o.H, Silu: o.Silu}, err
	}
	return op, nil
}

// noDot forgets that the norm's backward needs <u, du>.
func noDot(m *mistaken, call kernels.Call, op kernels.Op) (kernels.Op, error) {
	if o, ok := op.(*kernels.NormBwdApply); ok {
		return op, m.Device.Do(call, &kernels.Fill{X: o.Dot})
	}
	return op, nil
}

// countTwice adds the replicated gradients to every rank's own before the norm is reduced.
func countTwice(_ *mistaken, _ kernels.Call, op kernels.Op) (kernels.Op, error) {
	if o, ok := op.(*kernels.SumSq); ok && o.X.Offset > 0 {
		x := o.X
		x.Cols += int(x.Offset / x.DType.Bytes())
		x.LD, x.Offset = x.Cols, 0
		return &kernels.SumSq{X: x, Out: o.Out}, nil
	}
	return op, nil
}

// interleaved turns neighbouring elements of a head instead of its halves.
func interleaved(m *mistaken, call kernels.Call, op kernels.Op) (kernels.Op, error) {
	o, ok := op.(*kernels.Rope)
	if !ok {
		return op, nil
	}
	order := func(back bool) func([]float32) {
		return func(x []float32) {
			for h := 0; h < len(x); h += o.HeadDim {
				head, half := append([]float32(nil), x[h:h+o.HeadDim]...), o.HeadDim/2
				for i := range half {
					if back {
						x[h+2*i], x[h+2*i+1] = head[i], head[half+i]
					} else {
						x[h+i], x[h+half+i] = head[2*i], head[2*i+1]
					}
				}
			}
		}
	}
	if err := m.edit(o.X, order(false)); err != nil {
		return nil, err
	}
	if err := m.Device.Do(call, op); err != nil {
		return nil, err
	}
	return &kernels.Axpby{A: 1, X: o.X, Out: o.X}, m.edit(o.X, order(true))
}

// localStatistic leaves the statistic out of the all-reduce.
func localStatistic(_ *mistaken, _ kernels.Call, op kernels.Op) (kernels.Op, error) {
	if o, ok := op.(*kernels.Collective); ok && len(o.Parts) > 1 {
		return &kernels.Collective{Comm: o.Comm, Parts: o.Parts[:1]}, nil
	}
	return op, nil
}

// noDecay forgets the weight decay.
func noDecay(_ *mistaken, _ kernels.Call, op kernels.Op) (kernels.Op, error) {
	if o, ok := op.(*kernels.AdamW); ok {
		c := *o
		c.WeightDecay = 0
		return &c, nil
	}
	return op, nil
}

// noLatentSilu drops the nonlinearity's derivative.
func noLatentSilu(_ *mistaken, _ kernels.Call, op kernels.Op) (kernels.Op, error) {
	if o, ok := op.(*kernels.LatentBwd); ok {
		c := *o
		c.Silu = false
		return &c, nil
	}
	return op, nil
}

// TestMistakes plants well-known errors. Each must be found, with and without more than one rank where it can show.
func TestMistakes(t *testing.T) {
	byName := named(t)
	off, on := false, true
	for name, k := range map[string]struct {
		wrong  func(*mistaken, kernels.Call, kernels.Op) (kernels.Op, error)
		c      string
		scheme experiment.Scheme
		tp     int
		sync   *bool
		miss   string
	}{
		"local RMS, alpha after the sum": {alphaAfter, "cola_base", experiment.BTP, 2, &off, "loss"},
		"statistic not reduced":          {localStatistic, "svd_base", experiment.BTP, 2, &off, "loss"},
		"no <u, du>":                     {noDot, "cola_base", experiment.BTP, 1, &off, "gradient"},
		"no dot in the sync norm":        {noDot, "svd_base", experiment.BTP, 2, &on, "gradient"},
		"replicated gradients counted":   {countTwice, "full_base", experiment.FullRank, 2, nil, "gradient norm"},
		"interleaved rope":               {interleaved, "cola_base", experiment.BTP, 1, nil, "gradient"},
		"no weight decay":                {noDecay, "full_wd05", experiment.FullRank, 1, nil, "loss"},
		"no derivative of silu":          {noLatentSilu, "cola_1layer", experiment.Vanilla, 2, nil, "gradient"},
	} {
		inBoth(t, name, func(t *testing.T, dt kernels.DType) {
			ranks := openWorld(false, dt == kernels.BF16)
			r, err := Verify(context.Background(), byName[k.c], Options{Scheme: k.scheme, DType: dt, TP: k.tp, SyncNorm: k.sync, Grouped: &on, Recompute: []string{experiment.RecomputeNone},
				Open: func(rank, n int) (kernels.Device, error) {
					d, err := ranks(rank, n)
					return &mistaken{Device: d, wrong: k.wrong}, err
				}})
			if err != nil {
				t.Fatal(err)
			}
			if r.OK || dt == kernels.F32 && !strings.Contains(strings.Join(r.Misses, "\n"), k.miss) {
				t.Errorf("not found: %+v", r)
			}
			report(t, r)
		})
	}
}
