package step

import (
	"fmt"
	"testing"

	"boost-tui/experiment"
	"boost-tui/kernels"
)

// TestMemory compares allocations with METHOD.md §3.8 in the limit of many blocks: the difference of one block more.
func TestMemory(t *testing.T) {
	check := func(name string, cfg Config) {
		const tp = 2
		cfg.Model.Batch, cfg.Model.Seq, cfg.Cycles = 4, 16, Cycles{} // rows are whole cache lines
		at := func(layers int) map[string]int64 {
			cfg.Model.Layers = layers
			return recorded(t, cfg, tp).Memory()
		}
		few, more, c := at(2), at(3), cfg.Model
		grew := func(class string) int64 { return more[class] - few[class] }
		if got, want := grew(kernels.MemActivations), kept(cfg, tp)*int64(c.Rows())*4; got != want {
			t.Errorf("%s: a block keeps %d bytes, want %d", name, got, want)
		}
		d, f := int64(c.D), int64(c.FF)
		frozen := int64(0)
		if c.Variant == experiment.ReLoRA {
			frozen = (4*d*d + 3*d*f) / tp * 4
		}
		if w := grew(kernels.MemWeights) - frozen; grew(kernels.MemOptimizer) != 2*w || grew(kernels.MemGradients) != w {
			t.Errorf("%s: %v", name, more)
		}
		if few[kernels.MemLogits] != int64(c.Rows()*c.Vocab)*4/tp {
			t.Errorf("%s: logits of %d bytes", name, few[kernels.MemLogits])
		}
		if (more[kernels.MemIndices] > 0) != (c.Variant == experiment.SLTrain) {
			t.Errorf("%s: indices of %d bytes", name, more[kernels.MemIndices])
		}
		if buffers := grew(kernels.MemBuffers); buffers != 0 {
			t.Errorf("%s: buffers grow by %d bytes with every block", name, buffers)
		}
	}
	every(check)
	everyRecompute(check)
	for _, mode := range []string{experiment.RecomputeNone, experiment.RecomputeLowRank, experiment.RecomputeFull} {
		for _, cfg := range []Config{sixty(experiment.Full, experiment.FullRank), sixty(experiment.CoLA, experiment.Vanilla), sixty(experiment.CoLA, experiment.BTP)} {
			check(fmt.Sprint("60m ", cfg.Model.Scheme, " ", mode), recomputing(cfg, mode))
		}
	}
}

// kept is the elements per token that a block keeps.
func kept(cfg Config, tp int64) int64 {
	c := cfg.Model
	d, f, heads, r := int64(c.D), int64(c.FF), int64(c.Heads), latentsOf(c)
	const stats = 2
	dense := c.Scheme == experiment.FullRank
	switch {
	case c.Recompute == experiment.RecomputeFull || c.Recompute == experiment.RecomputeLowRank && !dense:
	case c.Variant == experiment.Full:
		return 2*d + (4*d+3*f+heads)/tp + stats
	case dense: // latents of replicated down-projections are whole, those of o and down a part of the sum
		return 2*d + (4*d+3*f+heads)/tp + stats + r
	case c.Scheme == experiment.Vanilla && c.Gate == experiment.GateDense:
		return 6*d + 3*f + r/tp + stats + heads + r // everyone's latents of the block before
	case c.Scheme == experiment.Vanilla:
		return 6*d + 3*f + r/tp + stats + heads
	default:
		return (6*d+3*f+heads)/tp + r + stats
	}
	input, latents := d, int64(0)
	if c.Scheme == experiment.BTP {
		input = d / tp
	}
	if c.Recompute == experiment.RecomputeLowRank || c.Variant == experiment.LaX {
		latents = r
		if c.Scheme == experiment.Vanilla {
			latents /= tp
		}
	}
	if c.Recompute == experiment.RecomputeFull {
		return input + latents
	}
	if c.Scheme == experiment.Vanilla {
		input = 2 * d
	}
	return input + latents + stats
}
