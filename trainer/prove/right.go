package prove

import (
	"context"
	"errors"
	"fmt"
	"math"

	"boost-tui/experiment"
	"boost-tui/kernels"
	"boost-tui/trainer/golden"
)

// Golden is what the reference cases say at tp 1.
type Golden struct {
	Mark
	Checks  int             `json:"checks"`
	Held    int             `json:"held"`
	Reports []golden.Report `json:"reports"`
	LeftOut []string        `json:"left_out,omitempty"`
}

// held is an error where a check did not hold.
func (g Golden) held() error {
	if g.Checks == 0 {
		return errNoTime
	}
	if g.Held == g.Checks {
		return nil
	}
	return fmt.Errorf("%d of %d checks do not hold", g.Checks-g.Held, g.Checks)
}

// golden verifies every case under every scheme at tp 1: first online, grouped and without recomputation, then in every way.
func (b *bench) golden(ctx context.Context, t kernels.DType) (out Golden, err error) {
	cases, err := golden.Cases()
	if err != nil {
		return out, err
	}
	defer func() {
		if out.Mark = b.mark(); len(out.Reports) == 0 {
			out.Figures = figuresNone
		}
	}()
	online, grouped := false, true
	usual := golden.Options{TP: 1, DType: t, Open: b.Open(b.Device), SyncNorm: &online, Grouped: &grouped, Recompute: []string{experiment.RecomputeNone}}
	every := golden.Options{TP: 1, DType: t, Open: usual.Open}
	ways := map[string]golden.Options{"usual": usual, "every way": every}
	names := []string{"usual", "every way"}
	if b.Tiny {
		cases, names = cases[:1], names[:1]
	}
	for _, way := range names {
		for _, c := range cases {
			if err := b.verify(ctx, c, ways[way], way, &out); err != nil {
				return out, err
			}
		}
	}
	return out, nil
}

// verify is one case under every scheme.
func (b *bench) verify(ctx context.Context, c golden.Case, o golden.Options, way string, out *Golden) error {
	for _, o.Scheme = range c.Schemes() {
		if c.Fits(o) != nil {
			continue
		}
		if b.late() {
			out.LeftOut = append(out.LeftOut, fmt.Sprintf("%s %s, %s", c.Name, o.Scheme, way))
			continue
		}
		r, err := golden.Verify(ctx, c, o)
		if err != nil {
			return err
		}
		out.Checks++
		if r.OK {
			out.Held++
		}
		out.Reports = append(out.Reports, r)
	}
	return nil
}

// Against are trainings beside the same ones on the processor: weights, tokens and learning rates are the same.
type Against struct {
	Mark
	Card  string      `json:"card"`
	Steps int         `json:"steps"`
	Runs  []RunBeside `json:"runs"`
}

// RunBeside is one of the device's.
type RunBeside struct {
	DType        string    `json:"dtype"`
	HeadDim      int       `json:"head_dim"` // 64 and 128 in bf16 take attention on tensor cores
	CPU          []float64 `json:"cpu_loss"`
	Loss         []float64 `json:"loss"`
	MaxLossError float64   `json:"max_loss_error"` // nats
	MaxNormError float64   `json:"max_grad_norm_rel_error"`
	Limit        float64   `json:"limit"`      // of MaxLossError
	NormLimit    float64   `json:"norm_limit"` // of MaxNormError
	OK           bool      `json:"ok"`
}

// Limits of the differences. fp32: what meshes of the processor keep (docs/testing.md); measured on the emulated device: losses equal,
// norms within 3e-7. bf16: ten times the largest difference of losses (2.2e-4 nats in 20 steps, 5.7e-4 in the small ones of tests) and
// four times that of norms (5.5e-3) there. A fragment of attention in the wrong place makes 4e-3 nats, and 0.17 of the norm.
const (
	limitFP32     = 5e-5
	limitBF16     = 2e-3
	limitNormFP32 = 5e-5
	limitNormBF16 = 2e-2
)

// held is an error where losses are too far apart, or none.
func (a Against) held() error {
	for _, r := range a.Runs {
		if !r.OK {
			return fmt.Errorf("%s, heads of %d: losses are %.3g apart and gradient norms %.3g, where %.3g and %.3g may be", r.DType, r.HeadDim, r.MaxLossError, r.MaxNormError, r.Limit, r.NormLimit)
		}
	}
	return nil
}

// besideWidth is the width of the model that is trained beside the processor: that of tiny, cut into heads in several ways.
const besideWidth = 128

// againstCPU trains the tiny model for some steps: with its own heads of 32 in both types, and with heads of 64 and 128 in bf16.
func (b *bench) againstCPU(ctx context.Context) (out Against, err error) {
	out.Mark, out.Steps = b.mark(), b.pick(20, 3)
	for _, head := range []int{32, 64, 128} {
		_, cpu, norms, err := b.losses(ctx, experiment.DeviceCPU, experiment.FP32, head, out.Steps)
		if err != nil {
			return out, fmt.Errorf("heads of %d on the processor: %w", head, err)
		}
		types := []string{experiment.FP32, experiment.BF16}
		if head != 32 {
			types = types[1:]
		}
		for _, t := range types {
			card, loss, norm, err := b.losses(ctx, b.Device, t, head, out.Steps)
			if err != nil {
				return out, fmt.Errorf("heads of %d in %s: %w", head, t, err)
			}
			out.Card = card
			out.Runs = append(out.Runs, beside(RunBeside{DType: t, HeadDim: head, CPU: cpu, Loss: loss}, norm, norms))
		}
	}
	return out, nil
}

// beside compares the losses of a run, and its gradient norms with those of the processor.
func beside(r RunBeside, norm, norms []float64) RunBeside {
	r.Limit, r.NormLimit = limitFP32, limitNormFP32
	if r.DType == experiment.BF16 {
		r.Limit, r.NormLimit = limitBF16, limitNormBF16
	}
	for i := range r.Loss {
		r.MaxLossError = max(r.MaxLossError, math.Abs(r.Loss[i]-r.CPU[i]))
		r.MaxNormError = max(r.MaxNormError, math.Abs(norm[i]/norms[i]-1))
	}
	r.OK = r.MaxLossError <= r.Limit && r.MaxNormError <= r.NormLimit
	return r
}

// losses trains the tiny model with heads of a size, and names the card; head 0: with those that it has.
func (b *bench) losses(ctx context.Context, device, dtype string, head, steps int) (card string, loss, norm []float64, err error) {
	dev, err := b.Open(device)(0, 1)
	if err != nil {
		return "", nil, nil, err
	}
	defer func() { err = errors.Join(err, dev.Close()) }()
	e, err := b.experiment(stepPart{size: "tiny", variant: experiment.CoLA, dtype: dtype, head: head})
	if err != nil {
		return "", nil, nil, err
	}
	t, err := newTrainer(ctx, dev, e, false)
	if err != nil {
		return "", nil, nil, err
	}
	for range steps {
		if _, err := t.one(ctx); err != nil {
			return "", nil, nil, err
		}
		loss, norm = append(loss, t.result.Loss), append(norm, t.result.GradNorm)
	}
	return dev.Info().Name, loss, norm, nil
}

// SmallStep is what compute-sanitizer looks at.
type SmallStep struct {
	Mark
	Loss []float64 `json:"loss"`
}

// smallStep makes two steps of a model that has every kind of operation of CoLA, and attention on tensor cores.
func (b *bench) smallStep(ctx context.Context) (out SmallStep, err error) {
	out.Mark = b.mark()
	small := *b
	small.Tiny = true
	_, out.Loss, _, err = small.losses(ctx, b.Device, experiment.BF16, 64, 2)
	return out, err
}
