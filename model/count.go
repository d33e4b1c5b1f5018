package model

import "boost-tui/experiment"

// Count is the number of parameters of the whole decoder, all ranks together, replicas once (METHOD.md §1). What
// relora freezes counts; of sltrain's sparse part what it holds.
func Count(c Config) int64 {
	d, l := int64(c.D), int64(c.Layers)
	dense, factors := c.operators()
	if c.Variant == experiment.SLTrain {
		dense = 4*int64(c.nonzeros(c.D, c.D)) + 2*int64(c.nonzeros(c.FF, c.D)) + int64(c.nonzeros(c.D, c.FF))
	}
	return l*(dense+factors+2*d) + (l-1)*c.gates() + d + 2*int64(c.Vocab)*d
}

// operators is the number of elements of a block's matrices of full size and of its factors.
func (c Config) operators() (dense, factors int64) {
	d, f := int64(c.D), int64(c.FF)
	if c.dense() {
		dense = 4*d*d + 3*d*f
	}
	if c.factors() {
		factors = 8*d*int64(c.RankAttn) + 3*int64(c.RankMLP)*(d+f)
	}
	return dense, factors
}

// gates is the number of elements of a block's gates; the first block has none.
func (c Config) gates() int64 {
	a, m := int64(c.RankAttn), int64(c.RankMLP)
	switch {
	case c.Variant != experiment.LaX || c.Gate == experiment.GateIdentity:
		return 0
	case c.Gate == experiment.GateVector:
		return 4*a + 3*m
	default:
		return 4*a*a + 3*m*m
	}
}

// FLOPs is the model FLOPs of one step over all ranks: three times the forward's block products, head and
// causal attention (METHOD.md §3.9; DESIGN.md, what the numbers mean). The frozen matrices of relora have no gradient
// and count twice; sltrain's sparse matrices are multiplied as dense ones, and count as such.
func FLOPs(c Config) int64 {
	dense, factors := c.operators()
	times := int64(3)
	if c.Variant == experiment.ReLoRA {
		times = 2
	}
	d, l := int64(c.D), int64(c.Layers)
	token := 2*l*(times*dense+3*factors) + 3*(2*d*int64(c.Vocab)+2*l*int64(c.Seq)*d)
	if c.Gate == experiment.GateDense {
		token += 3 * 2 * (l - 1) * c.gates()
	}
	return token * int64(c.Rows()) * int64(c.Micros)
}
