package model

import (
	"boost-tui/experiment"
	"boost-tui/kernels"
)

// gate weighs what crosses from the block before (METHOD.md §2, LaX): nothing does (identity), a vector, or a matrix.
// Under vanilla both are split by the rows of the latents that they make.
type gate struct {
	kind    string       // of experiment; empty: nothing crosses
	v, dv   kernels.View // vector [1, n·rank]; matrix [n·rank, whole rank]
	gathers bool         // a matrix takes all ranks' latents: they are gathered, and their gradients scattered
}

// crossing is what a group exchanges with the same group of the blocks before and after.
type crossing struct {
	prev     bundle       // latents of the block before; absent in the first block
	gathered kernels.View // room for everyone's of them, where the gate takes all
	filled   bool         // they are there
	carry    bundle       // gradient of the own latents from the block after, and then of prev
	fresh    bool         // there is no block after
}

// here reports whether latents of the block before cross into the group.
func (c crossing) here() bool { return !c.prev.all.IsZero() }

// again is the crossing for a backward: what was gathered is there.
func (c crossing) again() crossing { c.filled = true; return c }

// crossing of a group of the block.
func (b *block) crossing(p *pass, lane int) crossing {
	if b.qkv.gate.kind == "" {
		return crossing{}
	}
	c := crossing{gathered: b.kept.gathered[lane], carry: p.work.carry[lane], fresh: b.last}
	if b.before != nil {
		c.prev = b.before.kept.latents[lane]
	}
	return c
}

// cross is ht_i = act(u_i) + gate_i(act(prev_i)). What is handed on to the next block is act(u_i), without its own
// crossing: crossings do not add up.
func (g *group) cross(p *pass, latent bundle, c crossing) bundle {
	h := latent.over(p.work.hidden)
	if g.gate.kind != experiment.GateDense {
		for _, u := range g.units {
			p.x.Do(u.name+".cross", &kernels.Cross{U: latent.span(u), Prev: c.prev.span(u), Gate: g.gateOf(g.gate.v, u), H: h.span(u), Silu: g.silu})
		}
		return h
	}
	if g.silu {
		p.x.Do("latent.cross", &kernels.Latent{P: latent.all, U: latent.all, H: h.all, Silu: true})
	}
	if !c.filled {
		g.gather(p, c)
	}
	g.eachSource(p, c, func(u unit, from bundle, lo, hi int) {
		op := g.batch(u, from, g.columns(g.gate.v, lo, hi), h)
		op.TransB, op.Beta = true, 1
		if lo == 0 && !g.silu {
			op.C, op.StrideC = latent.part(u.lo), latent.stride()
		}
		p.x.Do(u.name+".cross", op)
	})
	return h
}

// eachSource calls f for the latents that a unit's matrices take, with the columns lo to hi of the matrices that take
// them: once with the rank's own latents, or with every rank's.
func (g *group) eachSource(p *pass, c crossing, f func(u unit, from bundle, lo, hi int)) {
	if !g.gate.gathers {
		prev := g.activated(p, c.prev)
		for _, u := range g.units {
			f(u, prev, 0, g.rank)
		}
		return
	}
	for _, u := range g.units {
		for j := range p.dims.tp {
			f(u, g.sourceOf(c.gathered, u, j, p), j*g.rank, (j+1)*g.rank)
		}
	}
}

// columns are columns of the group's gate matrices.
func (g *group) columns(of kernels.View, lo, hi int) bundle {
	return bundle{all: of.ColRange(lo, hi), n: g.n()}
}

// activated is what crosses of the latents of the block before.
func (g *group) activated(p *pass, prev bundle) bundle {
	if !g.silu {
		return prev
	}
	h := prev.over(p.work.before)
	p.x.Do("latent.before", &kernels.Latent{P: prev.all, U: prev.all, H: h.all, Silu: true})
	return h
}

// gather brings all ranks' latents of the block before together, where a gate takes them all.
func (g *group) gather(p *pass, c crossing) {
	if !g.gate.gathers || !c.here() {
		return
	}
	own := c.prev.over(p.work.before)
	if g.silu {
		g.activated(p, c.prev)
	} else {
		p.x.Do("latent.before", &kernels.Copy{Src: c.prev.all, Dst: own.all})
	}
	var under pendings
	for _, u := range g.units {
		under.add(p.x.Start(u.name+".lax", p.tp, kernels.Part{Kind: kernels.AllGather, Send: own.span(u).Flat(), Recv: g.gatheredOf(c.gathered, u, p)}))
	}
	under.wait()
}

// gatheredOf is the room of a unit in a group's: every rank's latents of it, one after the other, in one row.
func (g *group) gatheredOf(all kernels.View, u unit, p *pass) kernels.View {
	each := p.dims.rows * g.rank * p.dims.tp
	return all.ColRange(u.lo*each, u.hi*each)
}

// sourceOf is rank j's part of that room, as a bundle of the whole group of which only the unit's are there.
func (g *group) sourceOf(all kernels.View, u unit, j int, p *pass) bundle {
	room, t, c := g.gatheredOf(all, u, p), p.dims.rows, u.count()*g.rank
	own := room.ColRange(j*t*c, (j+1)*t*c)
	v := kernels.Matrix(own.Buf, own.Offset, t, c, own.DType)
	return bundle{all: v, n: u.count(), side: true, first: u.lo}
}

// gateOf is the unit's part of gate vectors side by side; absent for the identity.
func (g *group) gateOf(v kernels.View, u unit) kernels.View {
	if v.IsZero() {
		return v
	}
	return v.ColRange(u.lo*g.rank, u.hi*g.rank)
}

// crossBackward takes the gradient of ht, adds the gates', leaves that of prev in the carry and returns that of act(u).
func (g *group) crossBackward(p *pass, r reverse, dht bundle) bundle {
	c := r.cross
	switch {
	case g.gate.kind == "" || !c.here() && c.fresh:
		return dht
	case !c.here():
		p.x.Do("carry", &kernels.Axpby{A: 1, B: 1, X: dht.all, Y: c.carry.all, Out: dht.all})
		return dht
	case g.gate.kind == experiment.GateDense:
		return g.denseBackward(p, c, dht)
	}
	for _, u := range g.units {
		op := &kernels.CrossBwd{DH: dht.span(u), Carry: c.carry.span(u), Gate: g.gateOf(g.gate.v, u), DGate: g.gateOf(g.gate.dv, u), Silu: g.silu, Fresh: c.fresh}
		if g.gate.kind == experiment.GateVector {
			op.Prev = c.prev.span(u)
		}
		p.x.Do(u.name+".cross", op)
	}
	return dht
}

func (g *group) denseBackward(p *pass, c crossing, dht bundle) bundle {
	dh := dht
	if !c.fresh { // the carry is read before it is written
		dh = dht.over(p.work.crossed)
		p.x.Do("carry", &kernels.Axpby{A: 1, B: 1, X: dht.all, Y: c.carry.all, Out: dh.all})
	}
	g.eachSource(p, c, func(u unit, from bundle, lo, hi int) {
		op := g.batch(u, dht, from, g.columns(g.gate.dv, lo, hi))
		op.TransA, op.Beta = true, p.accumulate()
		p.x.Do(u.name+".dgate", op)
	})
	if !g.gate.gathers {
		for _, u := range g.units {
			p.x.Do(u.name+".carry", g.batch(u, dht, g.columns(g.gate.v, 0, g.rank), c.carry))
		}
		return dh
	}
	var under pendings
	for _, u := range g.units {
		for j := range p.dims.tp {
			cols := g.columns(g.gate.v, j*g.rank, (j+1)*g.rank)
			p.x.Do(u.name+".carry", g.batch(u, dht, cols, g.sourceOf(p.work.scattered, u, j, p)))
		}
		under.add(p.x.Start(u.name+".lax", p.tp, kernels.Part{Kind: kernels.ReduceScatter,
			Send: g.gatheredOf(p.work.scattered, u, p), Recv: c.carry.span(u).Flat()}))
	}
	under.wait()
	return dh
}
