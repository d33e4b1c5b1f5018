package experiment

import (
	"fmt"
	"strconv"
)

// parallel checks how the parallel dimensions compose (METHOD.md §4). Data parallelism composes with everything; a stage
// of a pipeline is a whole number of blocks, and what crosses between blocks (lax) crosses between stages too.
func (c *checker) parallel() {
	p := c.e.Parallel
	if layers := c.e.Model.Layers; !c.has("pp", "layers") && layers%p.PP != 0 {
		c.add("pp", "pp divides layers", fmt.Sprintf("must divide layers (%d): every stage has as many blocks", layers), divisors(p.PP, layers)...)
	}
	if p.Zero > 0 && p.DP == 1 && !c.has("zero", "dp") {
		c.add("zero", "zero has ranks to slice over", "slices the optimizer's state over the data-parallel ranks, and dp is 1", "0")
	}
	if p.SP && !c.has("sp") {
		c.sequence()
	}
	if world := p.TP * p.PP * p.DP; !c.has("tp", "pp", "dp") && world > maxRanks {
		c.add("dp", "ranks can be counted", fmt.Sprintf("tp %d, pp %d and dp %d make %d ranks, more than %d", p.TP, p.PP, p.DP, world, maxRanks),
			strconv.Itoa(max(1, maxRanks/(p.TP*p.PP))))
	}
	if p.PP > 1 && c.e.Step.Accumulate < p.PP && !c.has("pp", "accumulate") {
		c.add("accumulate", "micro-batches fill the pipeline", fmt.Sprintf("is less than pp (%d): with fewer micro-batches than stages some stages always wait", p.PP), strconv.Itoa(p.PP))
		c.out[len(c.out)-1].Warning = true
	}
}

// sequence checks what sequence parallelism needs.
func (c *checker) sequence() {
	p, s := c.e.Parallel, c.e.Step
	const rule = "sequence parallelism fits the scheme"
	switch {
	case c.has("scheme", "variant", "tp", "micro-batch", "seq"):
	case p.Scheme == BTP:
		c.add("sp", rule, "is for full-rank: under btp the residual stream is split on d already, and splitting latents by tokens would put collectives into low-rank recomputation", off)
	case p.Scheme != FullRank:
		c.add("sp", rule, "is for full-rank: vanilla sums whole outputs on every rank, whose tokens all of them go on with", off)
	case p.TP == 1:
		c.add("sp", rule, "splits tokens over the tensor-parallel ranks, and tp is 1", off)
	case s.MicroBatch*s.Seq%p.TP != 0:
		c.add("sp", rule, fmt.Sprintf("splits the %d tokens of a micro-batch over tp (%d), which does not divide them", s.MicroBatch*s.Seq, p.TP), off)
	}
}
