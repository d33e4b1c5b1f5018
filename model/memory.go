package model

import (
	"boost-tui/experiment"
	"boost-tui/kernels"
)

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
		b := &d.blocks[l]
		m.keep(l == 0 && !d.dims.split).matrix(&b.kept.x, d.dims.rows, d.dims.res)
		d.reserve(&b.kept, b, m.keep, d.keeps)
	}
	d.reserve(&d.shared, &d.blocks[len(d.blocks)-1], m.use, func(p part) bool { return !d.keeps(p) })
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
	for l := range d.blocks {
		d.share(&d.blocks[l])
	}
	return nil
}

// reserve asks for the parts of a block's activations that are wanted. What collectives work on lies in shared memory.
func (d *Decoder) reserve(k *kept, b *block, from func(shared bool) *arena, want func(part) bool) {
	s, t, vanilla, side := d.dims, d.dims.rows, b.qkv.place.rank, d.cfg.dense() && d.cfg.Grouped
	if want(partX2) {
		from(false).matrix(&k.x2, t, s.res)
	}
	if want(partStats) {
		from(s.split).matrix(&k.stat1, t, 1)
		from(s.split).matrix(&k.stat2, t, 1)
	}
	if want(partCore) {
		from(vanilla).bundle(&k.qkv, 3, t, s.attn, side)
		from(false).matrix(&k.attn, t, s.attn)
		from(false).matrix(&k.lse, t, s.heads)
		from(vanilla).bundle(&k.gateUp, 2, t, s.ff, side)
		from(false).matrix(&k.product, t, s.ff)
	}
	for i, g := range b.groups() {
		if want(partLatents) && g.rank > 0 {
			from(g.sumsLatents()).bundle(&k.latents[i], g.n(), t, g.rank, d.cfg.Grouped)
		}
		if want(partGathered) && g.gate.gathers && b.before != nil {
			from(true).matrix(&k.gathered[i], 1, s.tp*t*g.n()*g.rank)
		}
	}
}

// share lets a block use the shared memory of the parts that it does not keep.
func (d *Decoder) share(b *block) {
	k, s := &b.kept, &d.shared
	if !d.keeps(partX2) {
		k.x2 = s.x2
	}
	if !d.keeps(partStats) {
		k.stat1, k.stat2 = s.stat1, s.stat2
	}
	if !d.keeps(partLatents) {
		k.latents = s.latents
	}
	if !d.keeps(partCore) {
		k.qkv, k.attn, k.lse, k.gateUp, k.product = s.qkv, s.attn, s.lse, s.gateUp, s.product
	}
	if !d.keeps(partGathered) {
		k.gathered = s.gathered
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
	m.use(false).bundle(&w.dqkv, 3, t, s.attn, d.cfg.dense() && d.cfg.Grouped)
	m.use(false).matrix(&w.heads, t, s.heads)
	m.use(s.split).matrix(&w.dot, t, 1)
	m.use(false).matrix(&w.dotMore, t, 1)
	if r := max(3*b.qkv.rank, 2*b.gateUp.rank); r > 0 {
		m.use(false).matrix(&w.hidden, t, r)
		m.use(s.split).matrix(&w.dlatent, t, r)
		d.useCrossings(m, r)
	}
	d.useOperator(m)
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

// useCrossings reserves what lax needs; r is the width of the widest latents.
func (d *Decoder) useCrossings(m *memory, r int) {
	w, t, b := &d.work, d.dims.rows, &d.blocks[len(d.blocks)-1]
	if b.before == nil {
		return
	}
	gate := b.qkv.gate
	for i, g := range b.groups() {
		m.use(gate.gathers).bundle(&w.carry[i], g.n(), t, g.rank, d.cfg.Grouped)
	}
	if gate.kind != experiment.GateDense {
		return
	}
	m.use(false).matrix(&w.crossed, t, r)
	if gate.gathers || b.qkv.silu {
		m.use(gate.gathers).matrix(&w.before, t, r)
	}
	if gate.gathers {
		m.use(true).matrix(&w.scattered, 1, d.dims.tp*t*r)
	}
}

// useOperator reserves room for a unit's sparse matrices made dense.
func (d *Decoder) useOperator(m *memory) {
	most := 0
	for _, g := range d.blocks[0].groups() {
		for _, u := range g.units {
			if g.sparse != nil {
				most = max(most, u.count()*g.out*g.in)
			}
		}
	}
	if most > 0 {
		m.use(false).matrix(&d.work.operator, 1, most)
	}
}
