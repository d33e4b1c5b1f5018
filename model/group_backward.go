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
	cross  crossing
}

// backward gives the input's gradient and adds the weights'. The weights' gradients that are ready are
// computed while the collective is under way.
func (g *group) backward(p *pass, r reverse) {
	var under pendings
	var in kernels.View
	var dh bundle
	if g.rank > 0 {
		dh = g.hiddenGrad(p, r, &under)
		if g.gradientsSumLatents() {
			in = g.upGrad(p, r)
			under.wait()
			p.chunk(r.next)
		}
		dh = g.latentBackward(p, r, g.crossBackward(p, r, dh))
	}
	separate := g.inputGrad(p, r, dh, &under)
	if in.IsZero() {
		in = g.upGrad(p, r)
	}
	if g.rank > 0 {
		g.weightGrad(p, "dA", dh, in, g.da)
	}
	g.operatorGrad(p, r.dy, in)
	under.wait()
	p.chunk(r.next)
	for i := 1; separate && i < g.n(); i++ {
		p.x.Do("dx.sum", &kernels.Axpby{A: 1, B: 1, X: r.din, Y: p.work.dins.part(i), Out: r.din})
	}
}

// gradientsSumLatents says whether the latents' gradients are partial sums: their outputs are split.
func (g *group) gradientsSumLatents() bool { return !g.dense && g.place.out }

// hiddenGrad is the gradient of what the up-projections take: scale · dy_i B_i.
func (g *group) hiddenGrad(p *pass, r reverse, under *pendings) bundle {
	dh := r.latent.over(p.work.dlatent)
	for _, u := range g.units {
		op := g.batch(u, r.dy, bundle{all: g.b, n: g.n()}, dh)
		op.Alpha = g.scale
		p.x.Do(u.name+".dh", op)
		if g.gradientsSumLatents() {
			under.add(p.x.StartReduce(u.name, p.tp, dh.span(u)))
		}
	}
	return dh
}

// upGrad adds the gradients of the up-projections; it returns the group's input, which it has remade.
func (g *group) upGrad(p *pass, r reverse) kernels.View {
	if g.rank == 0 {
		return r.input()
	}
	h := g.activate(p, flow{latent: r.latent, cross: r.cross.again()})
	for _, u := range g.units {
		op := g.batch(u, r.dy, h, bundle{all: g.db, n: g.n()})
		op.TransA, op.Alpha, op.Beta = true, g.scale, p.accumulate()
		p.x.Do(u.name+".dB", op)
	}
	return r.input()
}

// latentBackward turns the gradient of the activated latents into that of the raw ones, in place.
func (g *group) latentBackward(p *pass, r reverse, dh bundle) bundle {
	if !g.silu && r.dot.IsZero() {
		return dh
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
	return dh
}

// inputGrad is din = sum of dy_i W_i and du_i A_i. Where the sum must be completed over the ranks and the group is not
// grouped, every linear of two factors has a collective of its own (METHOD.md §3.2) and the sum is left to the caller.
func (g *group) inputGrad(p *pass, r reverse, du bundle, under *pendings) (separate bool) {
	separate = g.place.rank && len(g.units) > 1
	terms := 0
	if g.dense {
		for _, u := range g.units {
			p.x.Do(u.name+".dx", &kernels.Gemm{Alpha: 1, Beta: after(terms), A: r.dy.span(u), B: g.operator(p, u), D: r.din})
			terms++
		}
	}
	for i, u := range g.units {
		if g.rank == 0 {
			break
		}
		op := &kernels.Gemm{Alpha: 1, Beta: after(terms), A: du.span(u), B: g.rowsOf(g.a, u), D: r.din}
		if separate {
			op.D, op.Beta = p.work.dins.part(i), 0
		}
		p.x.Do(u.name+".dx", op)
		terms++
		if g.place.rank {
			under.add(p.x.StartReduce(u.name, p.tp, op.D))
		}
	}
	if g.dense && g.place.out {
		under.add(p.complete(g.name, r.din, p.work.drows))
	}
	return separate
}

// operatorGrad adds the gradients of the matrices of full size, but of frozen ones.
func (g *group) operatorGrad(p *pass, dy bundle, in kernels.View) {
	switch {
	case g.sparse != nil:
		g.pick(p, dy, in)
	case !g.dw.IsZero():
		g.weightGrad(p, "dW", dy, in, g.dw)
	}
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
