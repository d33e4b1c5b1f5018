package model

import "boost-tui/kernels"

// Where a matrix of full size stands beside the factors (relora, sltrain), one factor of every linear is whole on every
// rank, and its gradient is a partial sum: that of the down-projections where outputs are split, of the up-projections where inputs are
// (METHOD.md §3.1).

// ChunkFactors is the chunk of a block's backward that sums those gradients: once in a step, with its last micro-batch.
const ChunkFactors = "factors"

// replicated reports which of a group's factors every rank holds whole.
func (g *group) replicated() (a, b bool) {
	both := g.dense && g.rank > 0
	return both && g.place.out, both && g.place.in
}

// sumFactors starts the sum over the ranks of the block's gradients of replicated factors, once all micro-batches are in: 7·r·d elements.
func (b *block) sumFactors(p *pass) kernels.Pending {
	if p.micro+1 < p.cfg.Micros || !p.partialFactors() {
		return kernels.Pending{}
	}
	p.chunk(ChunkFactors)
	var views []kernels.View
	for _, g := range b.groups() {
		switch a, b := g.replicated(); {
		case a:
			views = append(views, g.da)
		case b:
			views = append(views, g.db)
		}
	}
	return p.x.StartReduce("factors", p.tp, views...)
}

// partialFactors reports whether there are such factors.
func (d *Decoder) partialFactors() bool { return d.cfg.dense() && d.cfg.factors() && d.dims.tp > 1 }

// Merge moves what the factors of relora have learnt into the frozen matrices and starts them anew (METHOD.md §2):
// W += scale · B A, A is drawn again, B is 0. nth counts the merges from 0. The function of the decoder stays the same. Nothing is communicated.
func (d *Decoder) Merge(x *kernels.Exec, nth int) {
	for l := range d.blocks {
		x.At(d.blocks[l].layer, "merge")
		for _, g := range d.blocks[l].groups() {
			for i, name := range g.names {
				u := unit{lo: i, hi: i + 1}
				a := d.params[d.byName[name+".A"]]
				x.Do(name+".merge", &kernels.Gemm{Alpha: g.scale, Beta: 1, A: g.rowsOf(g.b, u), B: a.Weight, D: g.rowsOf(g.w, u)})
				x.Do(name+".A.again", &kernels.Draw{X: a.Weight, Key: d.drawKey(a.Name, nth+1), Row: a.RowLo, Col: a.ColLo, Width: a.Cols, Bound: boundOf(a)})
			}
			x.Do(g.name+".B.zero", &kernels.Fill{X: g.b})
		}
	}
}
