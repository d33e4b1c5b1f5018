package model

import "boost-tui/kernels"

// reverse is what a group's backward works on.
type reverse struct {
	dy     bundle
	latent bundle              // as the forward kept it
	input  func() kernels.View // the forward's input, remade or kept; called while a collective is under way
	din    kernels.View        // gradient of the input: overwritten
	dot    kernels.View        // where <u, du> goes, for the online norm; absent: not wanted
	next   string              // chunk that begins after the group's collective
}

// backward gives the input's gradient and adds the weights'. The weights' gradients that are ready are
// computed while the collective is under way.
func (g *group) backward(p *pass, r reverse) {
	if g.rank == 0 {
		g.backwardFull(p, r)
		return
	}
	dh := r.latent.over(p.work.dlatent)
	var under pendings
	for _, u := range g.units {
		p.x.Do(u.name+".dh", g.batch(u, r.dy, bundle{all: g.b, n: g.n()}, dh))
		if g.place.out {
			under.add(p.x.StartReduce(u.name, p.tp, dh.span(u)))
		}
	}
	var in kernels.View
	if g.place.out {
		in = g.upGrad(p, r)
		under.wait()
		p.chunk(r.next)
	}
	g.latentBackward(p, r, dh)
	separate := g.inputGrad(p, r, dh, &under)
	if !g.place.out {
		in = g.upGrad(p, r)
	}
	g.weightGrad(p, "dA", dh, in, g.da)
	under.wait()
	p.chunk(r.next)
	for i := 1; separate && i < g.n(); i++ {
		p.x.Do("dx.sum", &kernels.Axpby{A: 1, B: 1, X: r.din, Y: p.work.dins.part(i), Out: r.din})
	}
}

func (g *group) backwardFull(p *pass, r reverse) {
	for i, u := range g.units {
		p.x.Do(u.name+".dx", &kernels.Gemm{Alpha: 1, Beta: after(i), A: r.dy.span(u), B: g.rowsOf(g.w, u), D: r.din})
	}
	var under pendings
	if g.place.out {
		under.add(p.x.StartReduce(g.name, p.tp, r.din))
	}
	g.weightGrad(p, "dW", r.dy, r.input(), g.dw)
	under.wait()
	p.chunk(r.next)
}

// upGrad adds the gradients of the up-projections; it returns the group's input, which it has remade.
func (g *group) upGrad(p *pass, r reverse) kernels.View {
	h := r.latent
	if g.silu {
		h = r.latent.over(p.work.hidden)
		p.x.Do("latent.again", &kernels.Latent{P: r.latent.all, U: r.latent.all, H: h.all, Silu: true})
	}
	for _, u := range g.units {
		op := g.batch(u, r.dy, h, bundle{all: g.db, n: g.n()})
		op.TransA, op.Beta = true, p.accumulate()
		p.x.Do(u.name+".dB", op)
	}
	return r.input()
}

// latentBackward turns the gradient of the activated latents into that of the raw ones, in place.
func (g *group) latentBackward(p *pass, r reverse, dh bundle) {
	if !g.silu && r.dot.IsZero() {
		return
	}
	for i, u := range g.units {
		op := &kernels.LatentBwd{DH: dh.span(u), U: r.latent.span(u), DU: dh.span(u), Dot: r.dot, Silu: g.silu}
		if i > 0 && !r.dot.IsZero() {
			op.Dot = p.work.dotMore
		}
		p.x.Do(u.name+".latent", op)
		if i > 0 && !r.dot.IsZero() {
			p.x.Do("dot.sum", &kernels.Axpby{A: 1, B: 1, X: r.dot, Y: p.work.dotMore, Out: r.dot})
		}
	}
}

// inputGrad is din = sum of du_i A_i. Where the sum must be completed over the ranks and the group is not
// grouped, every linear has a collective of its own (METHOD.md §3.2) and the sum is left to the caller.
func (g *group) inputGrad(p *pass, r reverse, du bundle, under *pendings) (separate bool) {
	separate = g.place.rank && len(g.units) > 1
	for i, u := range g.units {
		op := &kernels.Gemm{Alpha: 1, Beta: after(i), A: du.span(u), B: g.rowsOf(g.a, u), D: r.din}
		if separate {
			op.D, op.Beta = p.work.dins.part(i), 0
		}
		p.x.Do(u.name+".dx", op)
		if g.place.rank {
			under.add(p.x.StartReduce(u.name, p.tp, op.D))
		}
	}
	return separate
}

// weightGrad is dw_i += dy_i^T in.
func (g *group) weightGrad(p *pass, op string, dy bundle, in, dw kernels.View) {
	for _, u := range g.units {
		p.x.Do(u.name+"."+op, &kernels.Gemm{TransA: true, Alpha: 1, Beta: p.accumulate(), A: dy.span(u), B: in, D: g.rowsOf(dw, u)})
	}
}

// rowsOf is the unit's part of stacked weights.
func (g *group) rowsOf(w kernels.View, u unit) kernels.View {
	rows := w.Rows / g.n()
	return w.RowRange(u.lo*rows, u.hi*rows)
}

// after is the factor of what is there already: the first of several products overwrites it.
func after(i int) float32 {
	if i == 0 {
		return 0
	}
	return 1
}
