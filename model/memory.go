package model

import (
	"boost-tui/experiment"
	"boost-tui/kernels"
)

// arenas are the flat views over whole allocations.
type arenas struct {
	weights, gradients kernels.View // same layout
	added              kernels.View // front of the gradients: norms and embedding, which every micro-batch adds to
	norms              kernels.View // gradients of the norms, the very front
}

// memory sorts matrices by what they are for and whether collectives work on them.
type memory struct {
	kept, keptShared, work, workShared, logits arena
	shared                                     bool // more than one rank
}

func (m *memory) keep(shared bool) *arena {
	if shared && m.shared {
		return &m.keptShared
	}
	return &m.kept
}

func (m *memory) use(shared bool) *arena {
	if shared && m.shared {
		return &m.workShared
	}
	return &m.work
}

// allocate makes every allocation of the decoder, in an order that is the same on every rank.
func (d *Decoder) allocate() error {
	if err := d.allocateWeights(); err != nil {
		return err
	}
	m := &memory{shared: d.dims.tp > 1}
	for l := range d.blocks {
		d.keepBlock(m, &d.blocks[l])
	}
	t, split := d.dims.rows, d.dims.split
	m.keep(false).matrix(&d.last, t, d.dims.res)
	m.keep(split).matrix(&d.finalStat, t, 1)
	m.logits.matrix(&d.logits, t, d.dims.vocab)
	d.useWork(m)
	for _, a := range []struct {
		arena  *arena
		name   string
		shared bool
	}{{&m.kept, kernels.MemActivations, false}, {&m.keptShared, kernels.MemActivations, true}, {&m.logits, kernels.MemLogits, false},
		{&m.work, kernels.MemBuffers, false}, {&m.workShared, kernels.MemBuffers, true}} {
		if _, err := a.arena.commit(d.dev, a.name, a.shared); err != nil {
			return err
		}
	}
	if !d.cfg.Grouped && d.cfg.Scheme == experiment.Vanilla {
		d.work.din = d.work.dins.part(0)
	}
	return nil
}

// keepBlock reserves a block's activations. Outputs that an all-reduce completes lie in shared memory.
func (d *Decoder) keepBlock(m *memory, b *block) {
	k, s, t := &b.kept, d.dims, d.dims.rows
	vanilla, side := b.qkv.place.rank, b.qkv.rank == 0 && d.cfg.Grouped
	m.keep(b.layer == 0 && !s.split).matrix(&k.x, t, s.res)
	m.keep(false).matrix(&k.x2, t, s.res)
	m.keep(s.split).matrix(&k.stat1, t, 1)
	m.keep(s.split).matrix(&k.stat2, t, 1)
	m.keep(vanilla).bundle(&k.qkv, 3, t, s.attn, side)
	m.keep(false).matrix(&k.attn, t, s.attn)
	m.keep(false).matrix(&k.lse, t, s.heads)
	m.keep(vanilla).bundle(&k.gateUp, 2, t, s.ff, side)
	m.keep(false).matrix(&k.product, t, s.ff)
	if b.qkv.rank == 0 {
		return
	}
	for _, l := range []struct {
		dst *bundle
		g   *group
	}{{&k.latQKV, &b.qkv}, {&k.latO, &b.o}, {&k.latGateUp, &b.gateUp}, {&k.latDown, &b.down}} {
		m.keep(l.g.place.in).bundle(l.dst, l.g.n(), t, l.g.rank, d.cfg.Grouped)
	}
}

// useWork reserves the memory that blocks share.
func (d *Decoder) useWork(m *memory) {
	w, s, t, b := &d.work, d.dims, d.dims.rows, &d.blocks[0]
	vanilla := b.qkv.place.rank
	m.use(false).matrix(&w.z, t, s.res)
	m.use(false).matrix(&w.dx, t, s.res)
	if vanilla && !d.cfg.Grouped {
		m.use(true).bundle(&w.dins, 3, t, s.res, false)
	} else {
		m.use(!s.split).matrix(&w.din, t, s.res)
	}
	if !s.split {
		m.use(true).matrix(&w.out, t, s.res)
	}
	m.use(vanilla).matrix(&w.dattn, t, s.attn)
	m.use(vanilla).matrix(&w.dproduct, t, s.ff)
	m.use(false).bundle(&w.dqkv, 3, t, s.attn, b.qkv.rank == 0 && d.cfg.Grouped)
	m.use(false).matrix(&w.heads, t, s.heads)
	m.use(s.split).matrix(&w.dot, t, 1)
	m.use(false).matrix(&w.dotMore, t, 1)
	if r := max(3*b.qkv.rank, 2*b.gateUp.rank); r > 0 {
		m.use(false).matrix(&w.hidden, t, r)
		m.use(s.split).matrix(&w.dlatent, t, r)
	}
	if s.split && s.tp > 1 {
		m.use(true).matrix(&w.part, t, s.res)
		m.use(true).matrix(&w.parts, s.tp*t, s.res)
		m.use(false).matrix(&w.full, t, d.cfg.D)
	}
	m.use(true).matrix(&w.top, t, 1)
	m.use(true).bundle(&w.sums, 2, t, 1, false)
	m.use(false).matrix(&d.lossOut, 1, 1)
	m.use(false).typed(&d.ids, t, 1, kernels.I32)
	m.use(false).typed(&d.targets, t, 1, kernels.I32)
}

// allocateWeights makes the arenas of weights and gradients, alike. Norms come first and the embedding
// second: what is replicated, and what gradients are added to, are then each one piece.
func (d *Decoder) allocateWeights() error {
	var weights, gradients arena
	pair := func(w, g *kernels.View, rows, cols int) {
		weights.matrix(w, rows, cols)
		gradients.matrix(g, rows, cols)
	}
	for l := range d.blocks {
		b := &d.blocks[l]
		pair(&b.attnNorm.gamma, &b.attnNorm.dgam, 1, d.dims.res)
		pair(&b.mlpNorm.gamma, &b.mlpNorm.dgam, 1, d.dims.res)
	}
	pair(&d.finalNorm.gamma, &d.finalNorm.dgam, 1, d.dims.res)
	norms := gradients.layout.Bytes()
	lo, hi := d.dims.span(d.cfg.Vocab, !d.dims.split)
	pair(&d.table.weight, &d.table.grad, hi-lo, d.dims.res)
	added := gradients.layout.Bytes()
	pair(&d.head.weight, &d.head.grad, d.dims.vocab, d.cfg.D)
	for l := range d.blocks {
		b := &d.blocks[l]
		for _, g := range []*group{&b.qkv, &b.o, &b.gateUp, &b.down} {
			if g.rank == 0 {
				pair(&g.w, &g.dw, g.n()*g.out, g.in)
				continue
			}
			pair(&g.a, &g.da, g.n()*g.rank, g.in)
			pair(&g.b, &g.db, g.n()*g.out, g.rank)
		}
	}
	var err error
	if d.arenas.weights, err = weights.commit(d.dev, kernels.MemWeights, false); err != nil {
		return err
	}
	if d.arenas.gradients, err = gradients.commit(d.dev, kernels.MemGradients, false); err != nil {
		return err
	}
	d.arenas.added = d.arenas.gradients.ColRange(0, int(added/4))
	d.arenas.norms = d.arenas.gradients.ColRange(0, int(norms/4))
	return nil
}

// Weights and Gradients are the flat arenas of the rank's parameters, one row each, of the same layout.
func (d *Decoder) Weights() kernels.View { return d.arenas.weights }

// Gradients of the rank's parameters.
func (d *Decoder) Gradients() kernels.View { return d.arenas.gradients }

// OwnGradients and ReplicatedGradients are the parts of Gradients that only this rank holds, and that every rank
// of the tensor-parallel group holds alike (absent: none), so that a norm counts each element once (METHOD.md §2).
func (d *Decoder) OwnGradients() kernels.View {
	if d.dims.split || d.dims.tp == 1 {
		return d.arenas.gradients
	}
	return d.arenas.gradients.ColRange(d.arenas.norms.Cols, d.arenas.gradients.Cols)
}

// ReplicatedGradients are the gradients that every rank holds alike; absent: none.
func (d *Decoder) ReplicatedGradients() kernels.View {
	if d.dims.split || d.dims.tp == 1 {
		return kernels.View{}
	}
	return d.arenas.norms
}
