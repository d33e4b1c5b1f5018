package planner

import (
	"fmt"

	"boost-tui/experiment"
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
	if e.Step.DType == experiment.BF16 {
		grads := "2 bytes"
		if e.Step.Accumulate > 1 {
			grads = "4 bytes because micro-batches are added up"
		}
		say("Priced in bf16: weights 2 bytes, gradients %s, fp32 master copy and moments 12 bytes; logits and statistics on the wire in fp32.", grads)
	}
	if e.Parallel.Scheme == experiment.Vanilla && e.Parallel.TP > 1 {
		say("Vanilla runs attention and the MLP's product on every rank alike, with all heads and all of ff.")
	}
	say("Activations are kept for the backward; norm outputs and activated latents are computed again.")
	return out
}
