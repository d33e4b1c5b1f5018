package planner

import "boost-tui/kernels"

// memoryOf sorts bytes recorded by buffer name: what a rank allocates, at the types that it allocates it in. In bf16
// (METHOD.md §3.8) weights take 2 bytes, gradients 4, since they accumulate in fp32, the optimizer's masters and moments 12,
// and logits 4 with 2 for their gradient.
func memoryOf(recorded map[string]int64) Memory {
	m := Memory{
		Weights:     recorded[kernels.MemWeights] + recorded[kernels.MemIndices],
		Gradients:   recorded[kernels.MemGradients],
		Optimizer:   recorded[kernels.MemOptimizer],
		Activations: recorded[kernels.MemActivations],
		Logits:      recorded[kernels.MemLogits],
		Buffers:     recorded[kernels.MemBuffers],
	}
	m.Total = m.Weights + m.Gradients + m.Optimizer + m.Activations + m.Logits + m.Buffers
	return m
}
