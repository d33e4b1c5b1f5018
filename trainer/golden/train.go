package golden

import (
	"context"
	"errors"
	"fmt"
	"strings"

	"golang.org/x/sync/errgroup"

	"boost-tui/experiment"
	"boost-tui/kernels"
	"boost-tui/model"
	"boost-tui/step"
	"boost-tui/trainer/mesh"
)

// run trains the case; the ranks live in this process. Where others lead, they follow those step by step.
func (c Case) run(ctx context.Context, o Options, w way, r *Report, leaders []outcome) (out []outcome, err error) {
	m := mesh.Mesh{TP: o.TP, DP: o.DP, PP: o.PP}
	var devices []kernels.Device
	defer func() {
		for _, d := range devices {
			err = errors.Join(err, d.Close())
		}
	}()
	for rank := range m.World() {
		d, err := o.Open(rank, m.World())
		if err != nil {
			return nil, fmt.Errorf("open the device of rank %d: %w", rank, err)
		}
		devices = append(devices, d)
	}
	r.Device = devices[0].Info().Backend
	r.EmulatedDevice = r.Device == experiment.DeviceEmu
	ids, err := identities(m, devices[0])
	if err != nil {
		return nil, err
	}
	out = make([]outcome, len(devices))
	ranks, ctx := errgroup.WithContext(ctx)
	for rank, d := range devices {
		ranks.Go(func() error {
			var err error
			var lead []stride
			if leaders != nil {
				lead = leaders[rank].strides
			}
			if out[rank], err = c.rank(ctx, d, m, ids, rank, c.step(o, w), lead); err != nil {
				return fmt.Errorf("rank %d: %w", rank, err)
			}
			return nil
		})
	}
	return out, ranks.Wait()
}

// group is one of a mesh's: the axis, and its first rank.
type group struct {
	axis  mesh.Axis
	first int
}

var axes = []mesh.Axis{mesh.TP, mesh.DP, mesh.PP}

// identities makes one for every group of more than one rank.
func identities(m mesh.Mesh, dev kernels.Device) (map[group]kernels.UID, error) {
	ids := map[group]kernels.UID{}
	for _, a := range axes {
		for _, g := range m.Groups(a) {
			if len(g) == 1 {
				continue
			}
			id, err := dev.UID()
			if err != nil {
				return nil, err
			}
			ids[group{a, g[0]}] = id
		}
	}
	return ids, nil
}

// enter makes a rank's communicators, in the same order on all. They are those to close, also after an error.
func enter(ctx context.Context, d kernels.Device, m mesh.Mesh, ids map[group]kernels.UID, rank int) (g step.Groups, open []kernels.Comm, err error) {
	at, err := m.Coordinate(rank)
	if err != nil {
		return g, nil, err
	}
	for i, to := range []*kernels.Comm{&g.TP, &g.DP, &g.PP} {
		members, err := m.Group(axes[i], rank)
		if err != nil {
			return g, open, err
		}
		if len(members) == 1 {
			continue
		}
		if *to, err = d.Join(ctx, ids[group{axes[i], members[0]}], len(members), at.Along(axes[i]), axes[i].String()); err != nil {
			return g, open, err
		}
		open = append(open, *to)
	}
	return g, open, nil
}

// rank is the life of one rank.
func (c Case) rank(ctx context.Context, d kernels.Device, m mesh.Mesh, ids map[group]kernels.UID, rank int, cfg step.Config, lead []stride) (out outcome, err error) {
	groups, open, err := enter(ctx, d, m, ids, rank)
	defer func() {
		for _, c := range open {
			err = errors.Join(err, c.Close())
		}
	}()
	if err != nil {
		return out, err
	}
	at, err := m.Coordinate(rank)
	if err != nil {
		return out, err
	}
	out.at = at
	s, err := step.New(cfg, d, groups)
	if err != nil {
		return out, err
	}
	if err := c.load(ctx, s.Model()); err != nil {
		return out, err
	}
	share := func(tokens []int32) []int32 { n := len(tokens) / m.DP; return tokens[at.DP*n : (at.DP+1)*n] }
	f := &follower{dev: d, step: s, lead: lead}
	for i := range c.Steps {
		if s.Mixed() {
			if err := f.before(ctx); err != nil {
				return out, err
			}
		}
		res, err := s.Run(ctx, step.Input{Tokens: share(c.tokens[i]), LR: c.Optimizer.LR[i], Index: i + 1})
		if err != nil {
			return out, err
		}
		out.loss, out.norm = append(out.loss, res.Loss), append(out.norm, res.GradNorm)
		if i == 0 || s.Mixed() {
			if out.grads, err = gradients(ctx, s); err != nil {
				return out, err
			}
		}
		if err := c.redraw(ctx, s.Model(), i); err != nil {
			return out, err
		}
		if s.Mixed() {
			f.out[i].grads = out.grads
			if err := f.after(ctx); err != nil {
				return out, err
			}
		}
	}
	if out.strides = f.out; s.Mixed() {
		if err := f.end(ctx); err != nil {
			return out, err
		}
	}
	st, err := stateOf(ctx, s)
	if err != nil {
		return out, err
	}
	out.final = st.weights()
	out.after, err = s.Evaluate(ctx, share(c.tokens[0]))
	return out, err
}

// gradients reads every parameter's gradient; frozen ones have none. They are complete where the rank steps them.
func gradients(ctx context.Context, s *step.Step) (map[string]shard, error) {
	out := map[string]shard{}
	for _, p := range s.Model().Params() {
		if p.Grad.IsZero() {
			continue
		}
		data, p, err := s.Model().ReadGrad(ctx, p.Name)
		if err != nil {
			return nil, err
		}
		out[p.Name] = shard{param: p, data: data}
	}
	if !s.Sliced() {
		return out, nil
	}
	for name, x := range out {
		x.slices = [][2]int64{} // none, until some are found
		out[name] = x
	}
	for _, slot := range s.State() {
		if slot.Kind == step.FirstMoment {
			x := out[slot.Param.Name]
			x.slices = append(x.slices, [2]int64{slot.From, slot.From + slot.View.Len()})
			out[slot.Param.Name] = x
		}
	}
	return out, nil
}

// step is the case as a training step. A replica's sequences are one micro-batch, or under a pipeline one each.
func (c Case) step(o Options, w way) step.Config {
	k, opt := c.Config, c.Optimizer
	batch, micros := c.Batch/o.DP, 1
	if o.PP > 1 {
		batch, micros = 1, batch
	}
	base := experiment.Variant(k.LaxBase)
	if base == "" {
		base = experiment.SVD
	}
	return step.Config{
		Model: model.Config{D: k.DModel, Layers: k.Layers, Heads: k.Heads, FF: k.DFF, Vocab: k.Vocab, RankAttn: k.Rank, RankMLP: k.Rank,
			Eps: float32(k.Eps), Theta: float32(k.RopeTheta), Variant: experiment.Variant(k.Variant), PlainGLU: k.OnlyLRAct, Scheme: o.Scheme, SP: o.SP,
			Gate: k.LaxGate, Base: base, Alpha: k.Alpha, Delta: k.Sparsity,
			DType: o.DType, Batch: batch, Seq: c.Seq, Micros: micros, SyncNorm: w.sync, Grouped: w.grouped, Recompute: w.recompute},
		Clip: opt.GradClip, Beta1: opt.Beta1, Beta2: opt.Beta2, Eps: opt.Eps, WeightDecay: opt.WeightDecay, Zero: o.Zero,
		Cycles: step.Cycles{Exact: opt.LoroFreq, Refresh: opt.RefreshFreq, Merge: opt.ReloraFreq, KeepStep: opt.KeepStep},
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
