package model

import "boost-tui/kernels"

// Sequence parallelism (METHOD.md §4): where the residual stream would be the same on every rank, each holds the rows of its
// own tokens. Norms and residual sums work on those. What a linear takes is gathered from all ranks; partial sums
// over the ranks are reduced to the rows of each.

// sp reports whether ranks share the rows of the residual stream.
func (d *Decoder) sp() bool { return d.cfg.SP && d.dims.tp > 1 }

// gatherRows brings everybody's rows together.
func (p *pass) gatherRows(name string, rows, all kernels.View) {
	p.x.Start(name, p.tp, kernels.Part{Kind: kernels.AllGather, Send: rows.Flat(), Recv: all.Flat()}).Wait()
}

// complete starts the sum of partial sums over the ranks, in place, or of the rank's rows of it into rows.
func (p *pass) complete(name string, partial, rows kernels.View) kernels.Pending {
	if !p.sp() {
		return p.x.StartReduce(name, p.tp, partial)
	}
	return p.x.Start(name, p.tp, kernels.Part{Kind: kernels.ReduceScatter, Send: partial.Flat(), Recv: rows.Flat()})
}

// summed is where complete leaves its result.
func (p *pass) summed(partial, rows kernels.View) kernels.View {
	if p.sp() {
		return rows
	}
	return partial
}

// wholeGradient is the gradient of the residual stream for a linear that all tokens go through.
func (p *pass) wholeGradient(name string) kernels.View {
	if !p.sp() {
		return p.work.dx
	}
	p.gatherRows(name, p.work.dx, p.work.out)
	return p.work.out
}

// sumNorms starts the sum over the ranks of the norms' gradients, each of its rank's tokens, once all micro-batches are in.
func (p *pass) sumNorms() kernels.Pending {
	if !p.sp() || p.micro+1 < p.cfg.Micros {
		return kernels.Pending{}
	}
	p.at(-1, ChunkFactors)
	for _, r := range p.arenas.regions {
		if r.Replicated && r.Done == DoneAll {
			return p.x.StartReduce("norms", p.tp, p.arenas.gradients.ColRange(r.Lo, r.Hi))
		}
	}
	return kernels.Pending{}
}
