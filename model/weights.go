package model

import (
	"slices"

	"boost-tui/experiment"
	"boost-tui/kernels"
)

// arenas are the flat views over whole allocations.
type arenas struct {
	weights, gradients kernels.View // same layout, element by element; of the decoder's type and F32
	added              kernels.View // of the gradients: what every micro-batch adds to, from zero
	regions            []Region
	own                int // where the gradients begin that only this rank holds
}

// Region is a stretch of the flat arenas of weights and gradients whose parameters an optimizer treats alike.
// Regions follow each other without gaps.
type Region struct {
	Lo, Hi     int  // elements
	Rank       int  // of the factors that lie there, over all ranks; 0: other parameters
	Replicated bool // every tensor-parallel rank holds them alike
	Done       int  // when their gradients are complete: what Backward calls done with
}

// piece is a tensor of the arenas.
type piece struct {
	weight, grad *kernels.View
	rows, cols   int
	rank         int  // of a factor, global
	replicated   bool // whole on every rank
	added        bool // micro-batches add to its gradient, where others overwrite it first
	done         int  // as of a Region
}

// order sorts pieces so that what is replicated is one stretch, and so is what is added to.
func (p piece) order() int {
	switch {
	case p.replicated && !p.added:
		return 0
	case p.replicated:
		return 1
	case p.added:
		return 2
	default:
		return 3
	}
}

// pieces lists every trained tensor.
func (d *Decoder) allPieces() []piece {
	s, c := d.dims, d.cfg
	var out []piece
	gain := func(n *norm) {
		out = append(out, piece{weight: &n.gamma, grad: &n.dgam, rows: 1, cols: s.res, replicated: !s.split, added: true, done: DoneAll})
	}
	for l := range d.blocks {
		gain(&d.blocks[l].attnNorm)
		gain(&d.blocks[l].mlpNorm)
	}
	if d.stage.First() {
		lo, hi := s.span(c.Vocab, !s.split)
		out = append(out, piece{weight: &d.table.weight, grad: &d.table.grad, rows: hi - lo, cols: s.res, added: true, done: DoneAll})
	}
	if d.stage.Last() {
		gain(&d.finalNorm)
		out = append(out, piece{weight: &d.head.weight, grad: &d.head.grad, rows: s.vocab, cols: c.D, done: DoneHead})
	}
	for l := range d.blocks {
		b := &d.blocks[l]
		for _, g := range b.groups() {
			rank, done := c.RankAttn, doneAttn(b.layer)
			if g == &b.gateUp || g == &b.down {
				rank, done = c.RankMLP, doneMLP(b.layer)
			}
			for _, p := range g.pieces(rank, b.before != nil, s.tp, c) {
				p.done = done
				if p.added {
					p.done = DoneAll
				}
				out = append(out, p)
			}
		}
	}
	return out
}

// pieces lists a group's trained tensors; rank is global.
func (g *group) pieces(rank int, crossed bool, tp int, c Config) (out []piece) {
	n := g.n()
	switch {
	case g.sparse != nil:
		in, whole := g.in, g.out
		if g.place.in {
			in *= tp
		}
		if g.place.out {
			whole *= tp
		}
		for i := range g.sparse {
			x := &g.sparse[i]
			out = append(out, piece{weight: &x.value, grad: &x.dvalue, rows: 1, cols: room(c.nonzeros(whole, in), tp)})
		}
	case g.dense && c.Variant != experiment.ReLoRA:
		out = append(out, piece{weight: &g.w, grad: &g.dw, rows: n * g.out, cols: g.in})
	}
	if g.rank > 0 {
		a, b := g.replicated()
		out = append(out, piece{weight: &g.a, grad: &g.da, rows: n * g.rank, cols: g.in, rank: rank, replicated: a},
			piece{weight: &g.b, grad: &g.db, rows: n * g.out, cols: g.rank, rank: rank, replicated: b})
	}
	if crossed && g.gate.kind == experiment.GateVector {
		out = append(out, piece{weight: &g.gate.v, grad: &g.gate.dv, rows: 1, cols: n * g.rank, replicated: !g.place.rank, added: true})
	}
	if crossed && g.gate.kind == experiment.GateDense {
		out = append(out, piece{weight: &g.gate.v, grad: &g.gate.dv, rows: n * g.rank, cols: rank, replicated: !g.place.rank})
	}
	return out
}

// allocateWeights makes the arenas of weights and gradients, alike, and beside them what is not trained.
func (d *Decoder) allocateWeights() error {
	list := d.allPieces()
	slices.SortStableFunc(list, func(a, b piece) int {
		if o := a.order() - b.order(); o != 0 {
			return o
		}
		return a.rank - b.rank // factors of one rank together, behind the others
	})
	weights, gradients := arena{dt: d.cfg.DType}, arena{}
	first, last := -1, 0 // of what is added to
	for i, p := range list {
		if i > 0 && !p.joins(list[i-1]) {
			d.cut(&weights, &gradients)
		}
		at := weights.elements()
		if i == 0 || !p.joins(list[i-1]) {
			d.arenas.regions = append(d.arenas.regions, Region{Lo: at, Rank: p.rank, Replicated: p.replicated, Done: p.done})
		}
		weights.matrix(p.weight, p.rows, p.cols)
		gradients.matrix(p.grad, p.rows, p.cols)
		end := weights.elements()
		gradients.align(d.line())
		if p.added && first < 0 {
			first = at
		}
		if p.added {
			last = end
		}
	}
	d.cut(&weights, &gradients)
	replicas := d.cfg.Replicas > 1
	var err error
	if d.arenas.weights, err = weights.commit(d.dev, kernels.MemWeights, replicas && d.movesWeights()); err != nil {
		return err
	}
	if d.arenas.gradients, err = gradients.commit(d.dev, kernels.MemGradients, replicas || d.partialFactors() || d.sp()); err != nil {
		return err
	}
	d.arenas.added = d.arenas.gradients.ColRange(first, last)
	return d.allocateFixed()
}

// joins reports whether a piece is of the region of the one before it.
func (p piece) joins(q piece) bool {
	return p.rank == q.rank && p.replicated == q.replicated && p.done == q.done
}

// movesWeights reports whether replicas hand weights to each other: slices that each has stepped, or results of exact steps.
func (d *Decoder) movesWeights() bool { return d.cfg.Slices > 1 || d.cfg.Variant == experiment.LORO }

// cut ends a region where it can be cut into slices of whole cache lines.
func (d *Decoder) cut(of ...*arena) {
	for _, a := range of {
		if d.cfg.Slices > 1 {
			a.align(d.cfg.Slices * d.line())
		}
	}
	r := &d.arenas.regions[len(d.arenas.regions)-1]
	if r.Hi = of[0].elements(); r.Replicated {
		d.arenas.own = r.Hi
	}
}

// line is how many weights fill a cache line.
func (d *Decoder) line() int { return int(kernels.LayoutAlign / d.cfg.DType.Bytes()) }

// allocateFixed makes what is not trained: the frozen matrices of relora, the supports of sltrain.
func (d *Decoder) allocateFixed() error {
	frozen, support := arena{dt: d.cfg.DType}, arena{}
	for l := range d.blocks {
		for _, g := range d.blocks[l].groups() {
			if d.cfg.Variant == experiment.ReLoRA {
				frozen.matrix(&g.w, g.n()*g.out, g.in)
			}
			for i := range g.sparse {
				support.typed(&g.sparse[i].index, 1, g.sparse[i].value.Cols, kernels.I32)
			}
		}
	}
	if _, err := frozen.commit(d.dev, kernels.MemWeights, false); err != nil {
		return err
	}
	_, err := support.commit(d.dev, kernels.MemIndices, false)
	return err
}

// Weights and Gradients are the flat arenas of the rank's trained parameters, one row each, of the same layout: an element of
// one has the place of its gradient in the other. Weights are of the decoder's type, gradients F32.
func (d *Decoder) Weights() kernels.View { return d.arenas.weights }

// Gradients of the rank's trained parameters.
func (d *Decoder) Gradients() kernels.View { return d.arenas.gradients }

// Regions are the stretches of Weights and Gradients. The caller does not change them.
func (d *Decoder) Regions() []Region { return d.arenas.regions }

// OwnGradients and ReplicatedGradients are the parts of Gradients that only this rank holds, and that every rank
// of the tensor-parallel group holds alike (absent: none), so that a norm counts each element once (METHOD.md §2).
func (d *Decoder) OwnGradients() kernels.View {
	if d.dims.tp == 1 {
		return d.arenas.gradients
	}
	return d.arenas.gradients.ColRange(d.arenas.own, d.arenas.gradients.Cols)
}

// ReplicatedGradients are the gradients that every rank holds alike; absent: none.
func (d *Decoder) ReplicatedGradients() kernels.View {
	if d.dims.tp == 1 || d.arenas.own == 0 {
		return kernels.View{}
	}
	return d.arenas.gradients.ColRange(0, d.arenas.own)
}
