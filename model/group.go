package model

import "boost-tui/kernels"

// group is linears that share their input: q, k, v; gate, up; or o or down alone. Sizes are the rank's own.
type group struct {
	name          string // of its collective when grouped
	names         []string
	units         []unit
	place         placement
	in, out, rank int  // rank 0: one full matrix each
	silu          bool // between the factors (CoLA)

	w, dw kernels.View // [n·out, in]; with factors absent
	a, da kernels.View // [n·rank, in]
	b, db kernels.View // [n·out, rank]
}

// flow is what a group's forward works on.
type flow struct {
	in     kernels.View
	ride   kernels.View // statistic of the online norm that travels with the first latent and then scales them
	latent bundle       // kept for the backward
	out    bundle
	base   kernels.View // added to the output (one linear only); absent: nothing
	next   string       // chunk that begins after the group's collective
}

func (g *group) n() int { return len(g.names) }

// forward is y_i = x W_i^T, or y_i = act(x A_i^T) B_i^T.
func (g *group) forward(p *pass, f flow) {
	out, completed := f.out, g.place.in
	if g.rank > 0 {
		completed = g.place.rank
	}
	if completed && !f.base.IsZero() {
		out = single(p.work.out)
	}
	if g.rank == 0 {
		g.project(p, "W", f.in, g.w, out, g.place.in, kernels.View{})
	} else {
		g.project(p, "A", f.in, g.a, f.latent, g.place.in, f.ride)
		if g.place.in {
			p.chunk(f.next)
		}
		h := g.activate(p, f)
		base := f.base
		if completed {
			base = kernels.View{}
		}
		g.expand(p, h, out, base)
	}
	p.chunk(f.next)
	if completed && !f.base.IsZero() {
		p.x.Do("residual", &kernels.Axpby{A: 1, B: 1, X: f.base, Y: out.all, Out: f.out.all})
	}
}

// project is out_i = in W_i^T for W or A, completed over the ranks where that is due. The statistic rides with the first.
func (g *group) project(p *pass, op string, in, w kernels.View, out bundle, reduce bool, ride kernels.View) {
	rows := w.Rows / g.n()
	var under pendings
	for i, u := range g.units {
		d := out.span(u)
		p.x.Do(u.name+"."+op, &kernels.Gemm{TransB: true, Alpha: 1, A: in, B: w.RowRange(u.lo*rows, u.hi*rows), D: d})
		if reduce {
			views := []kernels.View{d}
			if i == 0 && !ride.IsZero() {
				views = append(views, ride)
			}
			under.add(p.x.StartReduce(u.name, p.tp, views...))
		}
	}
	under.wait()
}

// activate finishes the latents: the delayed scale of the online norm, and silu.
func (g *group) activate(p *pass, f flow) bundle {
	if !f.ride.IsZero() {
		p.x.Do("rstd", &kernels.NormRStd{Stat: f.ride, RStd: f.ride, Width: p.cfg.D, Eps: p.cfg.Eps})
	}
	h := f.latent
	if g.silu {
		h = f.latent.over(p.work.hidden)
	} else if f.ride.IsZero() {
		return h
	}
	for _, u := range g.units {
		l := f.latent.span(u)
		op := &kernels.Latent{P: l, RStd: f.ride, U: l, Silu: g.silu}
		if g.silu {
			op.H = h.span(u)
		}
		p.x.Do(u.name+".latent", op)
	}
	return h
}

// expand is out_i = h_i B_i^T (+ base), completed over the ranks where that is due.
func (g *group) expand(p *pass, h, out bundle, base kernels.View) {
	var under pendings
	for _, u := range g.units {
		op := g.batch(u, h, bundle{all: g.b, n: g.n()}, out)
		op.TransB, op.C = true, base
		if !base.IsZero() {
			op.Beta = 1
		}
		p.x.Do(u.name+".B", op)
		if g.place.rank {
			under.add(p.x.StartReduce(u.name, p.tp, out.span(u)))
		}
	}
	under.wait()
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
