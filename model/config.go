// Package model is the decoder under every variant and tensor-parallel scheme: its parameters and
// their shards, forward and backward, written once as operations of a kernels.Device (METHOD.md §1-3).
//
// A linear's placement says which of its dimensions are split over the ranks. That is all a scheme is:
// a product whose contracted dimension is split gives partial sums, and an all-reduce completes them.
// Start reading at placement.go and group.go (linears that share an input), then block.go and head.go.
package model

import (
	"fmt"
	"strings"

	"boost-tui/experiment"
)

// Config is the decoder and the shape of its work. All sizes are global, not a shard's.
type Config struct {
	D, Layers, Heads, FF, Vocab int
	RankAttn, RankMLP           int     // ranks of the factors; not used by variant full
	Eps                         float32 // of RMSNorm, inside the root
	Theta                       float32 // base of the rotary frequencies
	Variant                     experiment.Variant
	PlainGLU                    bool // the MLP's product without silu (METHOD.md §2, only_lr_act)
	Scheme                      experiment.Scheme
	Batch, Seq                  int  // sequences of a micro-batch, and tokens of a sequence
	Micros                      int  // micro-batches of a step; gradients accumulate over them
	SyncNorm                    bool // btp: reduce the norm's statistic first instead of along (METHOD.md §3.5)
	Grouped                     bool // one product and one collective for linears that share an input (METHOD.md §3.6)
	Seed                        uint64
}

// ConfigOf is the decoder of a resolved experiment.
func ConfigOf(e experiment.Experiment) Config {
	return Config{
		D: e.Model.D, Layers: e.Model.Layers, Heads: e.Model.Heads, FF: e.Model.FF, Vocab: e.Model.Vocab,
		RankAttn: e.Model.RankAttn, RankMLP: e.Model.RankMLP,
		Eps: float32(e.Model.NormEps), Theta: float32(e.Model.RopeTheta),
		Variant: e.Model.Variant, PlainGLU: e.Model.KeepSiLU == "off", Scheme: e.Parallel.Scheme,
		Batch: e.Step.MicroBatch, Seq: e.Step.Seq, Micros: e.Step.Accumulate,
		SyncNorm: e.Step.Norm == experiment.NormSync, Grouped: e.Step.Grouping, Seed: e.Train.Seed,
	}
}

// Rows is the number of tokens of a micro-batch.
func (c Config) Rows() int { return c.Batch * c.Seq }

// lowRank reports whether the blocks' linears are pairs of factors.
func (c Config) lowRank() bool { return c.Variant != experiment.Full }

// Validate says what keeps the decoder from running on tp ranks, everything at once.
func (c Config) Validate(tp int) error {
	var bad []string
	reject := func(wrong bool, format string, args ...any) {
		if wrong {
			bad = append(bad, fmt.Sprintf(format, args...))
		}
	}
	switch c.Variant {
	case experiment.Full:
		reject(c.Scheme != experiment.FullRank, "variant %s runs under scheme %s, not %s", c.Variant, experiment.FullRank, c.Scheme)
	case experiment.SVD, experiment.CoLA:
		reject(c.Scheme != experiment.Vanilla && c.Scheme != experiment.BTP,
			"variant %s runs under scheme %s or %s, not %s", c.Variant, experiment.BTP, experiment.Vanilla, c.Scheme)
		reject(c.RankAttn < 1 || c.RankMLP < 1, "ranks %d and %d must be at least 1", c.RankAttn, c.RankMLP)
	default:
		reject(true, "variant %q is not in this version", c.Variant)
	}
	sizes := []size{{"d", c.D}, {"layers", c.Layers}, {"heads", c.Heads}, {"ff", c.FF}, {"vocab", c.Vocab}, {"micro-batch", c.Batch},
		{"seq", c.Seq}, {"accumulate", c.Micros}, {"tp", tp}}
	for _, s := range sizes {
		reject(s.value < 1, "%s is %d, must be at least 1", s.name, s.value)
	}
	if len(bad) == 0 {
		reject(c.D%(2*c.Heads) != 0, "d %d must be an even multiple of heads %d", c.D, c.Heads)
		for _, s := range c.divided() {
			reject(s.value%tp != 0, "%s %d is not divisible by tp %d under scheme %s", s.name, s.value, tp, c.Scheme)
		}
	}
	if len(bad) > 0 {
		return fmt.Errorf("model: %s", strings.Join(bad, "; "))
	}
	return nil
}

type size struct {
	name  string
	value int
}

// divided lists the sizes that the scheme splits over the ranks (METHOD.md §4, divisibility).
func (c Config) divided() []size {
	list := []size{{"vocab", c.Vocab}}
	if c.Scheme == experiment.Vanilla {
		return append(list, size{"rank-attn", c.RankAttn}, size{"rank-mlp", c.RankMLP})
	}
	return append(list, size{"heads", c.Heads}, size{"ff", c.FF}, size{"d", c.D})
}

// Count is the number of parameters of the whole decoder, all ranks together, replicas once (METHOD.md §1).
func Count(c Config) int64 {
	d, l := int64(c.D), int64(c.Layers)
	return l*(blockWeights(c)+2*d) + d + 2*int64(c.Vocab)*d
}

// blockWeights is the number of elements of a block's linears.
func blockWeights(c Config) int64 {
	d, f := int64(c.D), int64(c.FF)
	if !c.lowRank() {
		return 4*d*d + 3*d*f
	}
	return 8*d*int64(c.RankAttn) + 3*int64(c.RankMLP)*(d+f)
}

// FLOPs is the model FLOPs of one step over all ranks: three times the forward's block products, head and
// causal attention (METHOD.md §3.9; DESIGN.md, what the numbers mean).
func FLOPs(c Config) int64 {
	d, l := int64(c.D), int64(c.Layers)
	token := 2*l*blockWeights(c) + 2*d*int64(c.Vocab) + 2*l*int64(c.Seq)*d
	return 3 * token * int64(c.Rows()) * int64(c.Micros)
}
