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
	Checks  int             `json:"checks"`
	Held    int             `json:"held"`
	Reports []golden.Report `json:"reports"`
	LeftOut []string        `json:"left_out,omitempty"`
}

// held is an error where a check did not hold.
func (g Golden) held() error {
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

// Against is a training beside the same one on the processor: weights, tokens and learning rates are the same.
type Against struct {
	Steps int         `json:"steps"`
	CPU   []float64   `json:"cpu_loss"`
	Runs  []RunBeside `json:"runs,omitempty"`
}

// RunBeside is one of the device's.
type RunBeside struct {
	DType        string    `json:"dtype"`
	Loss         []float64 `json:"loss"`
	MaxLossError float64   `json:"max_loss_error"` // nats
	MaxNormError float64   `json:"max_grad_norm_rel_error"`
	Limit        float64   `json:"limit"` // of MaxLossError
	OK           bool      `json:"ok"`
}

// Limits of the difference of losses: what meshes of the processor keep (docs/testing.md), and what rounding every weight and
// activation to 8 bits may make of twenty steps of a loss of some nats.
const (
	limitFP32 = 5e-5
	limitBF16 = 3e-2
)

// held is an error where losses are too far apart.
func (a Against) held() error {
	for _, r := range a.Runs {
		if !r.OK {
			return fmt.Errorf("%s: losses are %.3g apart, more than %.3g", r.DType, r.MaxLossError, r.Limit)
		}
	}
	return nil
}

// againstCPU trains the tiny model for some steps.
func (b *bench) againstCPU(ctx context.Context) (out Against, err error) {
	out.Steps = b.pick(20, 3)
	cpu, norms, err := b.losses(ctx, experiment.DeviceCPU, experiment.FP32, out.Steps)
	if err != nil {
		return out, fmt.Errorf("on the processor: %w", err)
	}
	out.CPU = cpu
	for _, t := range []string{experiment.FP32, experiment.BF16} {
		loss, norm, err := b.losses(ctx, b.Device, t, out.Steps)
		if err != nil {
			return out, fmt.Errorf("in %s: %w", t, err)
		}
		r := RunBeside{DType: t, Loss: loss, Limit: limitFP32}
		if t == experiment.BF16 {
			r.Limit = limitBF16
		}
		for i := range loss {
			r.MaxLossError = max(r.MaxLossError, math.Abs(loss[i]-cpu[i]))
			r.MaxNormError = max(r.MaxNormError, math.Abs(norm[i]/norms[i]-1))
		}
		r.OK = r.MaxLossError <= r.Limit
		out.Runs = append(out.Runs, r)
	}
	return out, nil
}

func (b *bench) losses(ctx context.Context, device, dtype string, steps int) (loss, norm []float64, err error) {
	dev, err := b.Open(device)(0, 1)
	if err != nil {
		return nil, nil, err
	}
	defer func() { err = errors.Join(err, dev.Close()) }()
	e, err := b.experiment(stepPart{size: "tiny", variant: experiment.CoLA, dtype: dtype})
	if err != nil {
		return nil, nil, err
	}
	t, err := newTrainer(ctx, dev, e, false)
	if err != nil {
		return nil, nil, err
	}
	for range steps {
		if _, err := t.one(ctx); err != nil {
			return nil, nil, err
		}
		loss, norm = append(loss, t.result.Loss), append(norm, t.result.GradNorm)
	}
	return loss, norm, nil
}

// smallStep is what compute-sanitizer looks at: two steps of a model that has every kind of operation of CoLA.
func (b *bench) smallStep(ctx context.Context) (out Against, err error) {
	small := *b
	small.Tiny = true
	out.Steps = 2
	out.CPU, _, err = small.losses(ctx, b.Device, experiment.BF16, out.Steps)
	return out, err
}
