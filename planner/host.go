package planner

import (
	"boost-tui/experiment"
	"boost-tui/step"
)

// GPUHostBytes is an assumption, and said to be one wherever it counts: the host memory of a rank on a GPU beside what is counted.
// The program and its heap, the driver's side of a CUDA context, cuBLASLt's and NCCL's libraries with what they keep on the host,
// and the pinned pieces of a megabyte through which numbers travel are in it. Nobody has measured it on a GPU yet.
const GPUHostBytes = 2 << 30

// exactBytes is what an exact step of loro takes on the host for each element of the factors that it moves: both and their gradients
// in fp32, a copy that is under way, and in float64 two orthogonal bases, two projections, their rests, the results, and what the
// factorisations work in (kernels/lowrank).
const exactBytes = 64

// staging is what a rank copies through host memory, as trainer makes it.
type staging struct {
	ratios int64 // weights before and after a step (update-ratio): what it writes of trained ones, twice
	tensor int64 // the largest parameter of the rank, in fp32
}

// stagingOf is that of the first rank of a step's stage.
func stagingOf(s *step.Step) (out staging) {
	for _, slot := range s.State() {
		if slot.Kind == step.Weight && !slot.Param.Grad.IsZero() && slot.WrittenBy(0, 0) {
			out.ratios += 2 * slot.View.Bytes()
		}
	}
	for _, p := range s.Model().Params() {
		out.tensor = max(out.tensor, 4*p.Weight.Len())
	}
	return out
}

// hostBytes is the host memory of a rank: what its processor's device allocates, or what is assumed of one on a GPU, and what passes
// through host memory in both cases.
func hostBytes(e experiment.Experiment, m Memory, s staging, gpu bool) int64 {
	n := m.Total
	if gpu {
		n = GPUHostBytes
	}
	n += m.Checkpoint
	if e.Train.UpdateRatio > 0 {
		n += s.ratios
	}
	// A checkpoint is read tensor by tensor: into pinned memory, as bytes, and as the numbers of the rank's part. A restarted run
	// reads one, whether or not this one does. A foreign file's tensors are read whole.
	read := int64(0)
	if e.Train.KeepLast > 0 || e.Train.Resume != "" {
		read = 3 * s.tensor
	}
	if e.Train.InitFrom != "" {
		read = max(read, 3*s.tensor*int64(e.Parallel.TP))
	}
	if gpu && e.Model.Variant == experiment.LORO {
		rank := int64(max(e.Model.RankAttn, e.Model.RankMLP))
		read = max(read, exactBytes*rank*int64(e.Model.D+max(e.Model.D, e.Model.FF))) // never at once
	}
	return n + read
}
