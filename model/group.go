package model

import "boost-tui/kernels"

// group is linears that share their input: q, k, v; gate, up; or o or down alone. Sizes are the rank's own. A linear is
//
//	y = x W^T + scale · (act(x A^T) + crossing) B^T
//
// with W, or the factors, or both (METHOD.md §2).
type group struct {
	name          string // of its collective when grouped
	names         []string
	units         []unit
	place         placement
	in, out, rank int // rank 0: no factors
	dense         bool
	silu          bool    // between the factors (CoLA)
	scale         float32 // of the factors' product

	w, dw  kernels.View // [n·out, in]; dw absent: frozen (relora)
	sparse []sparse     // instead of w: one for each linear (sltrain)
	a, da  kernels.View // [n·rank, in]
	b, db  kernels.View // [n·out, rank]
	gate   gate
}

// flow is what a group's forward works on.
type flow struct {
	from   source
	in     kernels.View
	ride   kernels.View // statistic of the online norm that travels with the first latent and then scales them
	latent bundle       // kept for the backward
	out    bundle
	base   kernels.View // added to the output (one linear only); absent: nothing
	next   string       // chunk that begins after the group's collective
	cross  crossing
}

func (g *group) n() int { return len(g.names) }

// sumsLatents and sumsOutput say what a contracted dimension that is split leaves as partial sums. Where a matrix of
// full size stands beside the factors, one sum over the outputs completes both.
func (g *group) sumsLatents() bool { return g.rank > 0 && !g.dense && g.place.in }

func (g *group) sumsOutput() bool { return g.dense && g.place.in || g.place.rank }

// forward is the group's outputs.
func (g *group) forward(p *pass, f flow) {
	out, completed := f.out, g.sumsOutput()
	apart := completed && !f.base.IsZero() // the base must not be summed over the ranks
	if apart {
		out = single(p.work.out)
	}
	base := f.base
	if apart {
		base = kernels.View{}
	}
	var under pendings
	if g.dense {
		for _, u := range g.units {
			d := out.span(u)
			p.x.Do(u.name+".W", &kernels.Gemm{TransB: true, Alpha: 1, A: f.in, B: g.operator(p, u), D: d})
			if completed && g.rank == 0 {
				under.add(p.complete(u.name, d, p.work.rows))
			}
		}
	}
	if g.rank > 0 {
		g.latents(p, f)
		h := g.activate(p, f)
		g.expand(p, h, out, base, completed, &under)
	}
	under.wait()
	p.chunk(f.next)
	if apart {
		p.x.Do("residual", &kernels.Axpby{A: 1, B: 1, X: f.base, Y: p.summed(out.all, p.work.rows), Out: f.out.all})
	}
}

// latents is u_i = in A_i^T, completed over the ranks where that is due. The statistic rides with the first.
func (g *group) latents(p *pass, f flow) {
	if g.rank == 0 || f.from == fromLatents {
		return
	}
	var under pendings
	for i, u := range g.units {
		d := f.latent.span(u)
		p.x.Do(u.name+".A", &kernels.Gemm{TransB: true, Alpha: 1, A: f.in, B: g.rowsOf(g.a, u), D: d})
		if g.sumsLatents() {
			views := []kernels.View{d}
			if i == 0 && !f.ride.IsZero() {
				views = append(views, f.ride)
			}
			under.add(p.x.StartReduce(u.name, p.tp, views...))
		}
	}
	under.wait()
	if g.sumsLatents() {
		p.chunk(f.next)
	}
}

// activate finishes the latents: the delayed scale of the online norm, silu, and the crossing from the block before.
func (g *group) activate(p *pass, f flow) bundle {
	if !f.ride.IsZero() {
		p.x.Do("rstd", &kernels.NormRStd{Stat: f.ride, RStd: f.ride, Width: p.cfg.D, Eps: p.cfg.Eps})
	}
	h, alone := f.latent, !f.cross.here()
	fused := g.silu && alone
	if fused {
		h = f.latent.over(p.work.hidden)
	}
	if fused || !f.ride.IsZero() {
		for _, u := range g.units {
			l := f.latent.span(u)
			op := &kernels.Latent{P: l, RStd: f.ride, U: l, Silu: fused}
			if fused {
				op.H = h.span(u)
			}
			p.x.Do(u.name+".latent", op)
		}
	}
	if alone {
		return h
	}
	return g.cross(p, f.latent, f.cross)
}

// expand is out_i = scale · h_i B_i^T (+ base, or what a matrix beside the factors gave), completed over the ranks where that is due.
func (g *group) expand(p *pass, h, out bundle, base kernels.View, reduce bool, under *pendings) {
	for _, u := range g.units {
		op := g.batch(u, h, bundle{all: g.b, n: g.n()}, out)
		op.TransB, op.Alpha, op.C = true, g.scale, base
		if g.dense || !base.IsZero() {
			op.Beta = 1
		}
		p.x.Do(u.name+".B", op)
		if reduce {
			under.add(p.complete(u.name, out.span(u), p.work.rows))
		}
	}
}

// operator is the unit's matrices of full size. Those that are sparse are made dense in shared memory, for the next product alone.
func (g *group) operator(p *pass, u unit) kernels.View {
	if g.sparse == nil {
		return g.rowsOf(g.w, u)
	}
	return g.scatter(p, u)
}

// batch is the unit's products d_i = a_i b_i.
func (g *group) batch(u unit, a, b, d bundle) *kernels.Gemm {
	return &kernels.Gemm{Alpha: 1, A: a.part(u.lo), B: b.part(u.lo), D: d.part(u.lo),
		Batch: u.count(), StrideA: a.stride(), StrideB: b.stride(), StrideD: d.stride()}
}

// pendings are collectives under way.
type pendings []kernels.Pending

func (w *pendings) add(p kernels.Pending) { *w = append(*w, p) }

func (w *pendings) wait() {
	for _, p := range *w {
		p.Wait()
	}
	*w = nil
}
