// Package model is the decoder under every variant and tensor-parallel scheme: its parameters and
// their shards, forward and backward, written once as operations of a kernels.Device (METHOD.md §1-3).
//
// A linear's placement says which of its dimensions are split over the ranks. That is all a scheme is:
// a product whose contracted dimension is split gives partial sums, and an all-reduce completes them.
// Start reading at placement.go and group.go (linears that share an input), then block.go and head.go.
package model

import (
	"fmt"
	"slices"
	"strings"

	"boost-tui/experiment"
	"boost-tui/kernels"
)

// Config is the decoder and the shape of its work. All sizes are global, not a shard's.
type Config struct {
	D, Layers, Heads, FF, Vocab int
	RankAttn, RankMLP           int     // ranks of the factors; not used by variant full
	Eps                         float32 // of RMSNorm, inside the root
	Theta                       float32 // base of the rotary frequencies
	Variant                     experiment.Variant
	Gate                        string             // lax: identity, vector or dense
	Base                        experiment.Variant // lax: svd or cola
	Alpha                       float64            // relora, sltrain: the factors' product counts Alpha/rank
	Delta                       float64            // sltrain: share of a matrix that its sparse part holds
	PlainGLU                    bool               // the MLP's product without silu (METHOD.md §2, only_lr_act)
	Scheme                      experiment.Scheme
	Batch, Seq                  int    // sequences of a micro-batch, and tokens of a sequence
	Micros                      int    // micro-batches of a step; gradients accumulate over them
	SyncNorm                    bool   // btp: reduce the norm's statistic first instead of along (METHOD.md §3.5)
	Grouped                     bool   // one product and one collective for linears that share an input (METHOD.md §3.6)
	SP                          bool   // full-rank: the residual stream is split by tokens outside the linears (METHOD.md §4)
	Replicas                    int    // data-parallel ranks that a step's mean is over; 0: 1
	Slices                      int    // parts of equal length that every region of the arenas can be cut into (ZeRO-1); 0: 1
	Recompute                   string // none, low-rank or full: what the backward makes anew (METHOD.md §3.7); empty: none
	Seed                        uint64
	// DType is the type of activations and of the weights that a step works with: F32 or BF16. Statistics, logits and gradients
	// of weights are F32 whatever it is.
	DType kernels.DType
}

// ConfigOf is the decoder of a resolved experiment.
func ConfigOf(e experiment.Experiment) Config {
	dt := kernels.F32
	if e.Step.DType == experiment.BF16 {
		dt = kernels.BF16
	}
	return Config{
		DType: dt,
		D:     e.Model.D, Layers: e.Model.Layers, Heads: e.Model.Heads, FF: e.Model.FF, Vocab: e.Model.Vocab,
		RankAttn: e.Model.RankAttn, RankMLP: e.Model.RankMLP,
		Eps: float32(e.Model.NormEps), Theta: float32(e.Model.RopeTheta),
		Variant: e.Model.Variant, Gate: e.Model.LaXGate, Base: e.Model.LaXBase,
		Alpha: max(e.Model.ReLoRAAlpha, e.Model.SLTrainAlpha), Delta: e.Model.SLTrainDelta,
		PlainGLU: e.Model.KeepSiLU == "off", Scheme: e.Parallel.Scheme, Recompute: e.Step.Recompute,
		Batch: e.Step.MicroBatch, Seq: e.Step.Seq, Micros: e.Step.Accumulate,
		SyncNorm: e.Step.Norm == experiment.NormSync, Grouped: e.Step.Grouping, SP: e.Parallel.SP, Seed: e.Train.Seed,
	}
}

// Rows is the number of tokens of a micro-batch.
func (c Config) Rows() int { return c.Batch * c.Seq }

// factors reports whether the blocks' linears have factors.
func (c Config) factors() bool { return c.Variant != experiment.Full }

// dense reports whether they have a matrix of full size, alone or beside the factors.
func (c Config) dense() bool { return !c.Variant.LowRank() }

// latentSilu reports whether silu stands between the factors.
func (c Config) latentSilu() bool {
	return c.Variant == experiment.CoLA || c.Variant == experiment.LaX && c.Base == experiment.CoLA
}

// recomputes is what the backward really makes anew: without latents of their own, low-rank means none.
func (c Config) recomputes() string {
	if c.Recompute == "" || c.Recompute == experiment.RecomputeLowRank && c.dense() {
		return experiment.RecomputeNone
	}
	return c.Recompute
}

// Validate says what keeps the decoder from running on tp ranks, everything at once.
func (c Config) Validate(tp int) error {
	var bad []string
	reject := func(wrong bool, format string, args ...any) {
		if wrong {
			bad = append(bad, fmt.Sprintf(format, args...))
		}
	}
	c.rejectVariant(reject)
	reject(!c.DType.Number(), "weights of type %s; a decoder works with %s or %s", c.DType, kernels.F32, kernels.BF16)
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
		reject(c.SP && c.Scheme != experiment.FullRank, "sequence parallelism is for scheme %s: under %s there is no replicated residual stream that tokens could split alone", experiment.FullRank, c.Scheme)
		reject(c.SP && c.Rows()%tp != 0, "%d tokens of a micro-batch are not divisible by tp %d, over which sequence parallelism splits them", c.Rows(), tp)
	}
	if len(bad) > 0 {
		return fmt.Errorf("model: %s", strings.Join(bad, "; "))
	}
	return nil
}

// rejectVariant says what does not fit the variant.
func (c Config) rejectVariant(reject func(wrong bool, format string, args ...any)) {
	switch c.Variant {
	case experiment.Full, experiment.SVD, experiment.CoLA, experiment.LaX, experiment.LORO, experiment.ReLoRA, experiment.SLTrain:
		fit := c.Variant.Schemes()
		reject(!slices.Contains(fit, c.Scheme), "variant %s runs under scheme %v, not %s", c.Variant, fit, c.Scheme)
	default:
		reject(true, "variant %q is unknown", c.Variant)
	}
	reject(c.factors() && (c.RankAttn < 1 || c.RankMLP < 1), "ranks %d and %d must be at least 1", c.RankAttn, c.RankMLP)
	if c.Variant == experiment.LaX {
		gates := []string{experiment.GateIdentity, experiment.GateVector, experiment.GateDense}
		reject(!slices.Contains(gates, c.Gate), "gate %q of lax is not one of %v", c.Gate, gates)
		reject(c.Base != experiment.SVD && c.Base != experiment.CoLA, "base %q of lax is neither svd nor cola", c.Base)
	}
	scaled := c.Variant == experiment.ReLoRA || c.Variant == experiment.SLTrain
	reject(scaled && !(c.Alpha > 0), "alpha %g of %s must be above 0", c.Alpha, c.Variant)
	reject(c.Variant == experiment.SLTrain && !(c.Delta > 0 && c.Delta <= 1), "delta %g of sltrain must be above 0 and at most 1", c.Delta)
	reject(c.Variant == experiment.SLTrain && (c.nonzeros(c.D, c.D) < 1 || c.nonzeros(c.D, c.FF) < 1), "delta %g of sltrain leaves nothing of a matrix", c.Delta)
	modes := []string{"", experiment.RecomputeNone, experiment.RecomputeLowRank, experiment.RecomputeFull}
	reject(!slices.Contains(modes, c.Recompute), "recompute %q is not one of %v", c.Recompute, modes[1:])
}

// nonzeros is how many elements the sparse part of a matrix holds.
func (c Config) nonzeros(out, in int) int { return int(c.Delta * float64(out) * float64(in)) }

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
