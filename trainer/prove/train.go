package prove

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"time"

	"boost-tui/experiment"
	"boost-tui/kernels"
	"boost-tui/model"
	"boost-tui/profiler"
	"boost-tui/profiler/stats"
	"boost-tui/step"
)

// stepPart is a training step to be measured.
type stepPart struct {
	name, size, dtype, recompute string
	variant                      experiment.Variant
	scheme                       experiment.Scheme
	tp                           int // more than 1: one rank of so many, without the others
	head                         int // the size of heads, of a model besideWidth wide; 0: those of its size
}

var stepParts = []stepPart{
	{name: "step-1b-full", variant: experiment.Full},
	{name: "step-1b-svd", variant: experiment.SVD},
	{name: "step-1b-cola", variant: experiment.CoLA},
	{name: "step-1b-cola-recompute", variant: experiment.CoLA, recompute: experiment.RecomputeLowRank},
	{name: "rank-7b-full-rank-tp4", size: "7b", variant: experiment.Full, scheme: experiment.FullRank, tp: 4},
	{name: "rank-7b-vanilla-tp4", size: "7b", variant: experiment.CoLA, scheme: experiment.Vanilla, tp: 4, recompute: experiment.RecomputeLowRank},
	{name: "rank-7b-btp-tp4", size: "7b", variant: experiment.CoLA, scheme: experiment.BTP, tp: 4, recompute: experiment.RecomputeLowRank},
}

// Step is how long a training step takes and where the time goes. Times are in seconds, medians and means over Steps.
type Step struct {
	Mark
	Experiment string  `json:"experiment"`
	Card       string  `json:"card"`
	DType      string  `json:"dtype"`
	Tokens     int64   `json:"tokens"`
	Steps      int     `json:"steps"`
	Seconds    float64 `json:"step_s"` // median
	// ModelFLOPs is of the rank, without what is computed again; MFU is that per second of the card's peak, absent where the peak is not known.
	ModelFLOPs int64    `json:"model_flops"`
	TFLOPS     float64  `json:"tflops"`
	MFU        *float64 `json:"mfu,omitempty"`
	PeakTFLOPS float64  `json:"peak_tflops,omitempty"`
	PeakSource string   `json:"peak_source"` // or why there is none
	PeakMemory int64    `json:"peak_memory"` // bytes, allocated by the rank
	Loss       float64  `json:"loss"`
	Breakdown  Phases   `json:"breakdown"`
	// Operations are those of one step whose operations were timed one by one, those that take most first.
	Operations []OpTime `json:"operations"`
	// Watching is what timing costs, as a share of the step: always on, and by the operation.
	Watching float64 `json:"watching"`
	Sampled  float64 `json:"sampled"`
	// Replaced says that messages did nothing: one rank computed alone, and Messages are what it would have sent in one step.
	Replaced bool        `json:"messages_replaced"`
	Messages []*Messages `json:"messages,omitempty"`
}

// Phases is where the mean step went.
type Phases struct {
	Compute   float64 `json:"compute_s"`
	Exposed   float64 `json:"comm_exposed_s"`
	Memory    float64 `json:"memory_s"`
	Idle      float64 `json:"idle_s"`
	Forward   float64 `json:"forward_s"`
	Backward  float64 `json:"backward_s"`
	Optimizer float64 `json:"optimizer_s"`
}

// OpTime is one kind of operation in a step.
type OpTime struct {
	Op      string  `json:"op"`
	Count   int     `json:"count"`
	Seconds float64 `json:"seconds"`
	TFLOPS  float64 `json:"tflops,omitempty"`
}

// experiment is that of a part, resolved.
func (b *bench) experiment(s stepPart) (experiment.Experiment, error) {
	e := experiment.Default()
	e.Model.Size, e.Model.Variant, e.Parallel.Scheme = cmp.Or(s.size, "1b"), s.variant, s.scheme
	e.Step.DType, e.Step.Device, e.Parallel.TP = cmp.Or(s.dtype, experiment.BF16), b.Device, max(s.tp, 1)
	if s.recompute != "" {
		e.Step.Recompute = s.recompute
	}
	if b.Tiny {
		e.Model.Size = "tiny"
		e.Model.D, e.Model.Layers, e.Model.Heads, e.Model.FF, e.Model.Vocab = 32, 1, 4, 64, 64
		e.Step.Seq, e.Step.MicroBatch = 16, 1
		if s.variant != experiment.Full {
			e.Model.Rank = 8
		}
	}
	if s.head > 0 {
		e.Model.D, e.Model.Heads = besideWidth, besideWidth/s.head
	}
	return e.Resolve()
}

// How many steps are measured.
const (
	warmSteps = 3
	mostSteps = 12
)

// trainer is one rank with what it needs for steps.
type trainer struct {
	step   *step.Step
	timer  *profiler.Device
	solo   *solo
	tokens []int32
	index  int
	result step.Result
}

// newTrainer makes a rank. drawn: its weights are drawn on the device, where those of a run would take minutes of the host.
func newTrainer(ctx context.Context, dev kernels.Device, e experiment.Experiment, drawn bool) (*trainer, error) {
	t := &trainer{solo: &solo{Device: dev}}
	var err error
	if t.timer, err = profiler.Wrap(t.solo, profiler.Options{}); err != nil {
		return nil, err
	}
	var g step.Groups
	if e.Parallel.TP > 1 {
		if g.TP, err = t.timer.Join(ctx, kernels.UID{}, e.Parallel.TP, 0, "tp"); err != nil {
			return nil, err
		}
	}
	cfg := step.ConfigOf(e)
	if t.step, err = step.New(cfg, t.timer, g); err != nil {
		return nil, err
	}
	if drawn {
		err = t.step.DrawOnDevice(ctx)
	} else {
		err = t.step.Model().Initialize(ctx)
	}
	if err != nil {
		return nil, err
	}
	t.tokens = make([]int32, tokensOf(cfg))
	draw := rand.New(rand.NewPCG(1, 2))
	for i := range t.tokens {
		t.tokens[i] = int32(draw.IntN(e.Model.Vocab))
	}
	return t, nil
}

// one does a step and gives the host's time of it.
func (t *trainer) one(ctx context.Context) (seconds float64, err error) {
	t.index++
	begun := time.Now()
	t.result, err = t.step.Run(ctx, step.Input{Tokens: t.tokens, LR: 1e-4, Index: t.index})
	return time.Since(begun).Seconds(), err
}

// timed is one with a timer.
func (t *trainer) timed(ctx context.Context, deep bool) (seconds float64, times profiler.StepTimes, spans []profiler.Span, err error) {
	if err = t.timer.BeginStep(t.index+1, deep); err != nil {
		return
	}
	begun := time.Now()
	if _, err = t.one(ctx); err != nil {
		return
	}
	times, spans, err = t.timer.EndStep()
	return time.Since(begun).Seconds(), times, spans, err
}

// train measures a step.
func (b *bench) train(ctx context.Context, s stepPart) (out Step, err error) {
	e, err := b.experiment(s)
	if err != nil {
		return out, err
	}
	dev, err := b.Open(b.Device)(0, 1)
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, dev.Close()) }()
	t, err := newTrainer(ctx, dev, e, true)
	if err != nil {
		return out, err
	}
	cfg := step.ConfigOf(e)
	out = Step{Mark: b.mark(), Experiment: fmt.Sprintf("%s %s %s, tp %d, seq %d, micro-batch %d, recompute %s", e.Model.Size, e.Model.Variant, e.Parallel.Scheme,
		e.Parallel.TP, e.Step.Seq, e.Step.MicroBatch, e.Step.Recompute), Card: dev.Info().Name, DType: e.Step.DType,
		Tokens: e.TokensPerStep(), ModelFLOPs: model.FLOPs(cfg.Model) / int64(max(s.tp, 1)), Replaced: s.tp > 1}
	for i := range b.pick(warmSteps, 1) {
		if i == 0 && out.Replaced {
			t.solo.sent = map[string]*Messages{}
		}
		if _, err := t.one(ctx); err != nil {
			return out, err
		}
		for _, m := range t.solo.sent {
			out.Messages = append(out.Messages, m)
		}
		t.solo.sent = nil
	}
	slices.SortFunc(out.Messages, func(a, b *Messages) int { return cmp.Compare(a.Op, b.Op) })
	if err := b.steps(ctx, t, &out); err != nil {
		return out, err
	}
	out.Loss, out.PeakMemory = t.result.Loss, t.solo.peak
	out.TFLOPS = tera(out.ModelFLOPs, out.Seconds)
	out.PeakSource = "the peak of this card is not known: no MFU"
	if e.Step.DType != experiment.BF16 {
		out.PeakSource = "peaks are known for bf16 alone: no MFU"
	} else if p, ok := profiler.PeakOf(out.Card); ok {
		share := out.TFLOPS * 1e12 / p.FLOPS
		out.MFU, out.PeakTFLOPS, out.PeakSource = &share, p.FLOPS/1e12, p.Source
	}
	return out, nil
}

// steps measures, in turns with steps that nobody times.
func (b *bench) steps(ctx context.Context, t *trainer, out *Step) error {
	var plain, timed, device []float64
	var sum profiler.StepTimes
	for len(device) < b.pick(mostSteps, 1) && (len(device) < 2 || !b.late()) {
		seconds, err := t.one(ctx)
		if err != nil {
			return err
		}
		plain = append(plain, seconds)
		// The window of a step begins at the last one's end: one that is timed and does not count comes between.
		if _, _, _, err = t.timed(ctx, false); err != nil {
			return err
		}
		seconds, times, _, err := t.timed(ctx, false)
		if err != nil {
			return err
		}
		timed, device = append(timed, seconds), append(device, float64(times.WallNanos)/1e9)
		sum.ComputeNanos += times.ComputeNanos
		sum.ExposedNanos += times.ExposedNanos
		sum.MemNanos += times.MemNanos
		sum.IdleNanos += times.IdleNanos
		sum.ForwardNanos += max(times.ForwardNanos, 0)
		sum.BackwardNanos += max(times.BackwardNanos, 0)
		sum.OptimizerNanos += max(times.OptimizerNanos, 0)
	}
	seconds, _, spans, err := t.timed(ctx, true)
	if err != nil {
		return err
	}
	n := len(device)
	mean := func(nanos int64) float64 { return float64(nanos) / 1e9 / float64(n) }
	out.Steps, out.Seconds = n, stats.Percentile(device, 0.5)
	out.Breakdown = Phases{mean(sum.ComputeNanos), mean(sum.ExposedNanos), mean(sum.MemNanos), mean(sum.IdleNanos),
		mean(sum.ForwardNanos), mean(sum.BackwardNanos), mean(sum.OptimizerNanos)}
	base := stats.Percentile(plain, 0.5)
	out.Watching, out.Sampled = stats.Percentile(timed, 0.5)/base-1, seconds/base-1
	out.Operations = byOperation(spans)
	return nil
}

// byOperation adds up a step whose operations were timed one by one.
func byOperation(spans []profiler.Span) []OpTime {
	at, work := map[string]int{}, map[string]int64{}
	var out []OpTime
	for _, s := range spans {
		i, ok := at[s.Op]
		if !ok {
			i = len(out)
			at[s.Op] = i
			out = append(out, OpTime{Op: s.Op})
		}
		out[i].Count++
		out[i].Seconds += float64(s.DurNanos) / 1e9
		work[s.Op] += s.FLOPs
	}
	for i := range out {
		out[i].TFLOPS = tera(work[out[i].Op], out[i].Seconds)
	}
	slices.SortStableFunc(out, func(a, b OpTime) int { return cmp.Compare(b.Seconds, a.Seconds) })
	return out
}
