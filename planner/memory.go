package planner

import (
	"boost-tui/experiment"
	"boost-tui/kernels"
	"boost-tui/kernels/record"
)

// price turns what was recorded, in fp32, into bytes at the experiment's type.
type price struct {
	element int64 // bytes of an activation or weight
	// bytes per 4 recorded ones, by use
	weights, gradients, optimizer, activations float64
}

// fp32Bytes is the size of a statistic, a logit, and of every element that the recorder saw.
const fp32Bytes = 4

// priceOf is METHOD.md §3.8. In bf16: weights 2 bytes, gradients 2, or 4 where micro-batches are added up; a master
// copy beside the two moments, all fp32: 12; logits stay fp32.
func priceOf(e experiment.Experiment) price {
	if e.Step.DType != experiment.BF16 {
		return price{element: fp32Bytes, weights: 4, gradients: 4, optimizer: 4, activations: 4}
	}
	p := price{element: 2, weights: 2, gradients: 2, optimizer: 6, activations: 2}
	if e.Step.Accumulate > 1 {
		p.gradients = 4
	}
	return p
}

// wireBytes is the size of an element of a collective's part.
func (p price) wireBytes(part record.Part, rows int64) int64 {
	if statistic(part, rows) {
		return fp32Bytes
	}
	return p.element
}

// memory prices bytes recorded by buffer name.
func (p price) memory(recorded map[string]int64) Memory {
	at := func(name string, bytes float64) int64 { return int64(float64(recorded[name]) / fp32Bytes * bytes) }
	m := Memory{
		Weights:     at(kernels.MemWeights, p.weights) + recorded[kernels.MemIndices],
		Gradients:   at(kernels.MemGradients, p.gradients),
		Optimizer:   at(kernels.MemOptimizer, p.optimizer),
		Activations: at(kernels.MemActivations, p.activations),
		Logits:      recorded[kernels.MemLogits],
		Buffers:     at(kernels.MemBuffers, p.activations),
	}
	m.Total = m.Weights + m.Gradients + m.Optimizer + m.Activations + m.Logits + m.Buffers
	return m
}
