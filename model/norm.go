package model

import "boost-tui/kernels"

// norm is an RMSNorm of the residual stream. Where that is split on d its statistic spans the ranks.
type norm struct {
	name        string // of its collectives
	gamma, dgam kernels.View
	split       bool
	online      bool // the statistic rides with the next latents, which it then scales (METHOD.md §3.5)
}

// forward makes p.work.z from the input; under sequence parallelism of the rank's tokens, gathered from all. stat is kept for the backward as 1/rho. The view returned is the
// statistic that must ride along, absent when the norm is complete.
func (n *norm) forward(p *pass, in, stat kernels.View) (ride kernels.View) {
	p.x.Do(n.name+".stat", &kernels.NormStats{X: in, Stat: stat})
	if n.split && n.online {
		p.x.Do(n.name, &kernels.NormApply{X: in, W: n.gamma, Y: p.work.z})
		return stat
	}
	if n.split {
		p.x.Reduce(n.name, p.tp, stat)
	}
	p.x.Do(n.name+".rstd", &kernels.NormRStd{Stat: stat, RStd: stat, Width: p.cfg.D, Eps: p.cfg.Eps})
	n.apply(p, in, stat)
	return kernels.View{}
}

func (n *norm) apply(p *pass, in, rstd kernels.View) kernels.View {
	out := p.work.z
	if p.sp() {
		out = p.work.rows
	}
	p.x.Do(n.name, &kernels.NormApply{X: in, W: n.gamma, RStd: rstd, Y: out})
	if p.sp() {
		p.gatherRows(n.name, out, p.work.z)
	}
	return p.work.z
}

// again is the forward's output once more, for the backward.
func (n *norm) again(p *pass, in, rstd kernels.View) func() kernels.View {
	return func() kernels.View { return n.apply(p, in, rstd) }
}

// wanted is where the backward of the following linears shall put <u, du>; the online norm needs no collective then.
func (n *norm) wanted(p *pass) kernels.View {
	if n.split && n.online {
		return p.work.dot
	}
	return kernels.View{}
}

// backward adds the gradient that comes through the norm to p.work.dx; first overwrites it instead.
func (n *norm) backward(p *pass, in, rstd, dz kernels.View, first bool) {
	dot := p.work.dot
	if !n.split || !n.online {
		p.x.Do(n.name+".dot", &kernels.NormBwdStats{X: in, W: n.gamma, RStd: rstd, DY: dz, Dot: dot})
		if n.split {
			p.x.Reduce(n.name, p.tp, dot)
		}
	}
	op := &kernels.NormBwdApply{X: in, W: n.gamma, RStd: rstd, DY: dz, Dot: dot, DX: p.work.dx, DW: n.dgam, Width: p.cfg.D}
	if !first {
		op.Base = p.work.dx
	}
	p.x.Do(n.name+".back", op)
}
