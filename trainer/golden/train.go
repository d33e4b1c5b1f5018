package golden

import (
	"context"
	"fmt"
	"strings"

	"boost-tui/experiment"
	"boost-tui/model"
	"boost-tui/step"
)

// step is the case as a training step.
func (c Case) step(s experiment.Scheme, w way) step.Config {
	k, o := c.Config, c.Optimizer
	base := experiment.Variant(k.LaxBase)
	if base == "" {
		base = experiment.SVD
	}
	return step.Config{
		Model: model.Config{D: k.DModel, Layers: k.Layers, Heads: k.Heads, FF: k.DFF, Vocab: k.Vocab, RankAttn: k.Rank, RankMLP: k.Rank,
			Eps: float32(k.Eps), Theta: float32(k.RopeTheta), Variant: experiment.Variant(k.Variant), PlainGLU: k.OnlyLRAct, Scheme: s,
			Gate: k.LaxGate, Base: base, Alpha: k.Alpha, Delta: k.Sparsity,
			Batch: c.Batch, Seq: c.Seq, Micros: 1, SyncNorm: w.sync, Grouped: w.grouped, Recompute: w.recompute},
		Clip: o.GradClip, Beta1: o.Beta1, Beta2: o.Beta2, Eps: o.Eps, WeightDecay: o.WeightDecay,
		Cycles: step.Cycles{Exact: o.LoroFreq, Refresh: o.RefreshFreq, Merge: o.ReloraFreq, KeepStep: o.KeepStep},
	}
}

// load sets every parameter.
func (c Case) load(ctx context.Context, m *model.Decoder) error {
	for _, p := range m.Params() {
		linear, sparse := strings.CutSuffix(p.Name, ".sparse_value")
		if sparse {
			if err := m.LoadSupport(ctx, linear, c.tensors[linear+".sparse_index"].I64); err != nil {
				return err
			}
		}
		t, ok := c.tensors[p.Name]
		if !ok || t.F32 == nil {
			return fmt.Errorf("the case has no weights %s", p.Name)
		}
		if err := m.Load(ctx, p.Name, t.F32); err != nil {
			return err
		}
	}
	return nil
}

// redraw replaces what a merge of relora drew after step i, counted from 0, by what the reference drew.
func (c Case) redraw(ctx context.Context, m *model.Decoder, i int) error {
	f := c.Optimizer.ReloraFreq
	if f == 0 || (i+1)%f != 0 {
		return nil
	}
	for _, p := range m.Params() {
		if !strings.HasSuffix(p.Name, ".A") {
			continue
		}
		t, ok := c.tensors[fmt.Sprintf("reinit.%d.%s", (i+1)/f-1, p.Name)]
		if !ok || t.F32 == nil {
			return fmt.Errorf("the case has no factor %s for after step %d", p.Name, i)
		}
		if err := m.Load(ctx, p.Name, t.F32); err != nil {
			return err
		}
	}
	return nil
}
