package planner

import (
	"fmt"

	"boost-tui/experiment"
	"boost-tui/model"
)

// notes says in words what the figures rest on.
func notes(e experiment.Experiment, p *Plan) []string {
	out := []string{"The time of a step is not predicted in this version."}
	say := func(format string, args ...any) { out = append(out, fmt.Sprintf(format, args...)) }
	if preset, err := experiment.PresetOf(e.Model.Size); err == nil && preset.Assumption {
		say("Shape of %s: %s.", preset.Name, preset.Source)
	}
	if world := e.World(); world > 1 {
		say("Memory, bytes and block figures are of one rank of %d.", world)
	}
	if pp := e.Parallel.PP; pp > 1 {
		stage := model.Stage{Index: p.Stage, Count: pp}
		say("Of the %d stages it is number %d, whose ranks need most memory: it keeps up to %d micro-batches in flight.", pp, p.Stage+1, stage.InFlight(e.Step.Accumulate))
	}
	if p.MostBytes != p.StepBytes {
		say("Over a run's steps the rank that communicates most moves %s per step, which is what a run reports.", experiment.FormatBytes(p.MostBytes))
	}
	if e.Parallel.Zero > 0 {
		say("Optimizer state is sliced over dp (ZeRO-1): gradients are reduced to slices, and the weights gathered again.")
	}
	if e.Parallel.SP {
		say("The residual stream is split by tokens: a sum over the ranks is a reduce-scatter and an all-gather, which move as much; norm outputs are gathered again in the backward.")
	}
	if e.Step.DType == experiment.BF16 {
		say("In bf16 a parameter takes 2 bytes, its gradient 4, fp32 master copy and moments 12; logits are fp32, their gradient is bf16; statistics and gradients travel in fp32.")
	}
	if e.Parallel.Scheme == experiment.Vanilla && e.Parallel.TP > 1 {
		say("Vanilla runs attention and the MLP's product on every rank alike, with all heads and all of ff.")
	}
	if x := p.Exact; x != nil && x.Bytes > 0 {
		say("Every %d steps an exact step gathers and broadcasts the factors: %s more.", x.Every, experiment.FormatBytes(x.Bytes))
	}
	if p.Fit.Of == OfGPU {
		say("A rank is taken to need %s of host memory: %s are assumed for the program, CUDA, cuBLASLt and NCCL, which nobody has measured, and the rest is copies for checkpoints and what passes through the host.",
			experiment.FormatBytes(p.Memory.Host), experiment.FormatBytes(GPUHostBytes))
	}
	if c := p.Memory.Checkpoint; c > 0 {
		say("While checkpoints are kept, up to %s of host memory per rank hold a copy of what is being written.", experiment.FormatBytes(c))
	}
	switch e.Model.Variant {
	case experiment.ReLoRA:
		say("The frozen matrices have no gradient and no moments.")
	case experiment.SLTrain:
		say("Sparse matrices are multiplied as dense ones, one group of linears at a time; their indices take 4 bytes.")
	}
	say("%s", recomputation(e))
	return out
}

// recomputation says what the backward has and what it computes.
func recomputation(e experiment.Experiment) string {
	const always = "norm outputs and activated latents are computed again"
	switch {
	case e.Step.Recompute == experiment.RecomputeFull && e.Model.Variant == experiment.LaX:
		return "A block keeps its input, and its latents for the crossings of the next; its backward computes the rest again, collectives included."
	case e.Step.Recompute == experiment.RecomputeFull:
		return "A block keeps its input alone; its backward computes the rest again, collectives included but for the output's."
	case e.Step.Recompute != experiment.RecomputeLowRank:
		return "Activations are kept for the backward; " + always + "."
	case e.Parallel.Scheme == experiment.BTP:
		return "A block keeps its input and its latents; its backward computes the rest again, without communication."
	case e.Parallel.Scheme == experiment.Vanilla:
		return "A block keeps its inputs and its latents; its backward computes the rest again and sums the outputs of q, k, v, gate and up over the ranks once more."
	default:
		return "Matrices of full size have no latents that stand for their outputs: recompute low-rank means none. Activations are kept; " + always + "."
	}
}
