package model

import (
	"boost-tui/experiment"
	"boost-tui/kernels"
)

// memory sorts matrices by what they are for and whether messages work on them.
type memory struct {
	kept, keptShared, work, workShared, logits arena
	tp, pp                                     bool // more than one rank along the axis
}

// keep and use give the arena of what is kept from forward to backward, and of what every block uses anew. reduced says that collectives
// of the tensor-parallel group work on it, sent that stages send it.
func (m *memory) keep(reduced, sent bool) *arena {
	if reduced && m.tp || sent && m.pp {
		return &m.keptShared
	}
	return &m.kept
}

func (m *memory) use(reduced, sent bool) *arena {
	if reduced && m.tp || sent && m.pp {
		return &m.workShared
	}
	return &m.work
}

// allocate makes every allocation of the decoder, in an order that is the same on every rank of the tensor-parallel group.
func (d *Decoder) allocate() error {
	if err := d.allocateWeights(); err != nil {
		return err
	}
	of := arena{dt: d.cfg.DType}
	m := &memory{kept: of, keptShared: of, work: of, workShared: of, logits: of, tp: d.dims.tp > 1, pp: d.stage.piped()}
	d.keepTurns(m)
	last := &d.blocks[len(d.blocks)-1]
	d.reserve(&d.shared, last, func(reduced, _ bool) *arena { return m.use(reduced, false) }, func(p part) bool { return !d.keeps(p) })
	if d.stage.Last() {
		m.logits.fp32(&d.logits, d.dims.rows, d.dims.vocab)
		if d.cfg.DType != kernels.F32 {
			m.logits.matrix(&d.dlogits, d.dims.rows, d.dims.vocab)
		}
	}
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
	if d.dlogits.IsZero() {
		d.dlogits = d.logits
	}
	if !d.cfg.Grouped && d.cfg.Scheme == experiment.Vanilla {
		d.work.din = d.work.dins.part(0)
	}
	for i := range d.turns.flights {
		for l := range d.blocks {
			d.share(&d.turns.flights[i].blocks[l])
		}
	}
	d.turn(0)
	return nil
}

// keepTurns reserves what micro-batches in flight keep, and what stages hand to each other.
func (d *Decoder) keepTurns(m *memory) {
	s, t := d.dims, &d.turns
	n := d.stage.InFlight(d.cfg.Micros)
	t.flights, t.results, t.gradients = make([]flight, n), make([]handed, 1), make([]handed, 1)
	for i := range t.flights {
		f := &t.flights[i]
		f.blocks = make([]kept, len(d.blocks))
		for l := range d.blocks {
			if l > 0 || d.stage.First() {
				m.keep(l == 0 && !s.split, false).matrix(&f.blocks[l].x, s.stream, s.res)
			}
			sent := d.crosses() && l+1 == len(d.blocks) && !d.stage.Last()
			d.reserve(&f.blocks[l], &d.blocks[l], func(reduced, latents bool) *arena { return m.keep(reduced, latents && sent) }, d.keeps)
		}
		if d.stage.First() {
			m.use(false, false).typed(&f.ids, s.rows, 1, kernels.I32)
		}
		if d.stage.Last() {
			m.use(false, false).typed(&f.targets, s.rows, 1, kernels.I32)
			m.keep(s.split, false).fp32(&f.finalStat, s.stream, 1)
		}
	}
	if !d.stage.First() {
		t.arrivals = make([]handed, n+1)
	}
	for i := range t.arrivals {
		m.keep(false, false).matrix(&t.arrivals[i].x, s.stream, s.res)
		if d.crosses() {
			d.latents(&t.arrivals[i].latents, m.keep(false, false))
		}
	}
	if d.stage.piped() {
		t.gradients = make([]handed, 2)
	}
	if !d.stage.Last() {
		t.results = make([]handed, 2)
	}
	for i := range t.results {
		m.keep(false, !d.stage.Last()).matrix(&t.results[i].x, s.stream, s.res)
	}
	for i := range t.gradients {
		m.use(d.sp(), true).matrix(&t.gradients[i].x, s.stream, s.res)
		if d.crosses() && d.cfg.Layers > 1 {
			d.latents(&t.gradients[i].latents, m.use(d.blocks[0].qkv.gate.gathers, true))
		}
	}
}

// latents reserves the latents of one block, or their gradients.
func (d *Decoder) latents(to *lanes, from *arena) {
	for i, g := range d.blocks[0].groups() {
		from.bundle(&to[i], g.n(), d.dims.rows, g.rank, d.cfg.Grouped)
	}
}

// reserve asks for the parts of a block's activations that are wanted. What collectives work on lies in shared memory.
func (d *Decoder) reserve(k *kept, b *block, from func(reduced, latents bool) *arena, want func(part) bool) {
	s, t, vanilla, side := d.dims, d.dims.rows, b.qkv.place.rank, d.cfg.dense() && d.cfg.Grouped
	if want(partX2) {
		from(false, false).matrix(&k.x2, s.stream, s.res)
	}
	if want(partStats) {
		from(s.split, false).fp32(&k.stat1, s.stream, 1)
		from(s.split, false).fp32(&k.stat2, s.stream, 1)
	}
	if want(partCore) {
		from(vanilla, false).bundle(&k.qkv, 3, t, s.attn, side)
		from(false, false).matrix(&k.attn, t, s.attn)
		from(false, false).fp32(&k.lse, t, s.heads)
		from(vanilla, false).bundle(&k.gateUp, 2, t, s.ff, side)
		from(false, false).matrix(&k.product, t, s.ff)
	}
	for i, g := range b.groups() {
		if want(partLatents) && g.rank > 0 {
			from(g.sumsLatents(), true).bundle(&k.latents[i], g.n(), t, g.rank, d.cfg.Grouped)
		}
		if want(partGathered) && g.gate.gathers && b.before != nil {
			from(true, false).matrix(&k.gathered[i], 1, s.tp*t*g.n()*g.rank)
		}
	}
}

// share lets a block use the shared memory of the parts that it does not keep.
func (d *Decoder) share(k *kept) {
	s := &d.shared
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
	m.use(d.sp(), false).matrix(&w.z, t, s.res)
	if d.sp() {
		m.use(true, false).matrix(&w.rows, s.stream, s.res)
		m.use(true, false).matrix(&w.drows, s.stream, s.res)
	}
	if vanilla && !d.cfg.Grouped {
		m.use(true, false).bundle(&w.dins, 3, t, s.res, false)
	} else {
		m.use(!s.split, false).matrix(&w.din, t, s.res)
	}
	if !s.split {
		m.use(true, false).matrix(&w.out, t, s.res)
	}
	m.use(vanilla, false).matrix(&w.dattn, t, s.attn)
	m.use(vanilla, false).matrix(&w.dproduct, t, s.ff)
	m.use(false, false).bundle(&w.dqkv, 3, t, s.attn, d.cfg.dense() && d.cfg.Grouped)
	m.use(false, false).fp32(&w.heads, t, s.heads)
	m.use(s.split, false).fp32(&w.dot, s.stream, 1)
	m.use(false, false).fp32(&w.dotMore, s.stream, 1)
	if r := max(3*b.qkv.rank, 2*b.gateUp.rank); r > 0 {
		m.use(false, false).matrix(&w.hidden, t, r)
		m.use(s.split, false).matrix(&w.dlatent, t, r)
		d.useCrossings(m, r)
	}
	d.useOperator(m)
	if d.cfg.Replicas > 1 || m.pp {
		m.workShared.fp32(&d.lossOut, 1, 1)
	} else {
		m.work.fp32(&d.lossOut, 1, 1)
	}
	if d.stage.Last() {
		d.useHead(m)
	}
}

// useHead reserves what the head and the loss need.
func (d *Decoder) useHead(m *memory) {
	w, s, t := &d.work, d.dims, d.dims.rows
	if s.split && s.tp > 1 {
		m.use(true, false).matrix(&w.part, t, s.res)
		m.use(true, false).matrix(&w.parts, s.tp*t, s.res)
		m.use(false, false).matrix(&w.full, t, d.cfg.D)
	}
	m.use(true, false).fp32(&w.top, t, 1)
	w.sums.n = 2
	m.use(true, false).fp32(&w.sums.all, 2*t, 1)
}

// useCrossings reserves what lax needs; r is the width of the widest latents.
func (d *Decoder) useCrossings(m *memory, r int) {
	w, t, b := &d.work, d.dims.rows, &d.blocks[len(d.blocks)-1]
	if b.before == nil {
		return
	}
	gate := b.qkv.gate
	if gate.kind != experiment.GateDense {
		return
	}
	m.use(false, false).matrix(&w.crossed, t, r)
	if gate.gathers || b.qkv.silu {
		m.use(gate.gathers, false).matrix(&w.before, t, r)
	}
	if gate.gathers {
		m.use(true, false).matrix(&w.scattered, 1, d.dims.tp*t*r)
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
		m.use(false, false).fp32(&d.work.operator, 1, most)
	}
}
