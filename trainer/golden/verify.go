package golden

import (
	"context"
	"fmt"
	"math"

	"boost-tui/experiment"
	"boost-tui/kernels"
	"boost-tui/model"
	"boost-tui/trainer/mesh"
)

// Tolerances of METHOD.md §5 for fp32: loss absolute in nats, gradients relative L2, final parameters' norms relative.
// ZeroTolerance bounds a gradient that must be zero, relative to the norm of the whole gradient.
const (
	LossTolerance     = 1e-5
	GradientTolerance = 5e-5
	FinalTolerance    = 1e-5
	ZeroTolerance     = 1e-6
)

// Options say how a case is run.
type Options struct {
	Scheme experiment.Scheme // empty: the variant's default
	DType  kernels.DType     // of weights and activations
	// TP, DP and PP are the parallel degrees; 0: 1. Replicas share the case's sequences, stages its blocks.
	TP, DP, PP int
	Zero       int  // 1: replicas share the optimizer's work
	SP         bool // sequence parallelism
	// SyncNorm and Grouped choose one combination; nil runs both values, and the worst counts.
	SyncNorm, Grouped *bool
	// Recompute lists the ways of recomputing; nil runs all that differ.
	Recompute []string
	// Open makes the device of a rank of n in this process. Verify closes it.
	Open func(rank, n int) (kernels.Device, error)

	standard *Case // that the reference device runs in BF16; nil: the same
}

// Report is what Verify found: the largest errors over all steps, tensors and combinations.
type Report struct {
	Case                string            `json:"case"`
	Device              string            `json:"device"`
	EmulatedDevice      bool              `json:"emulated_device,omitempty"` // Device is the emulated one
	DType               string            `json:"dtype"`
	Scheme              experiment.Scheme `json:"scheme"`
	TP                  int               `json:"tp"`
	DP                  int               `json:"dp"`
	PP                  int               `json:"pp"`
	Zero                int               `json:"zero"`
	SP                  bool              `json:"sp"`
	OK                  bool              `json:"ok"`
	LossMaxAbsError     float64           `json:"loss_max_abs_error"`
	GradientMaxRelError float64           `json:"gradient_max_rel_error"`
	FinalMaxRelError    float64           `json:"final_max_rel_error"` // in BF16 of a step's change
	// In BF16, the medians over tensors and steps of the gradients' and of the changes' errors, and the largest error of the moments.
	GradientMedianRelError float64  `json:"gradient_median_rel_error,omitempty"`
	FinalMedianRelError    float64  `json:"final_median_rel_error,omitempty"`
	MomentMaxRelError      float64  `json:"moment_max_rel_error,omitempty"`
	Limits                 Limits   `json:"limits"`
	Misses                 []string `json:"misses,omitempty"` // what did not hold, at most a few
}

// missesMax is how many misses a report names.
const missesMax = 8

// Verify trains the case on goroutine ranks and compares with the reference. An error that wraps ErrFit says
// that the case cannot run so; numbers that differ are no error but a report that is not OK.
func Verify(ctx context.Context, c Case, o Options) (Report, error) {
	if o.Scheme == "" && len(c.Schemes()) > 0 {
		o.Scheme = c.Schemes()[0]
	}
	o.TP, o.DP, o.PP = max(o.TP, 1), max(o.DP, 1), max(o.PP, 1)
	if err := c.Fits(o); err != nil {
		return Report{}, err
	}
	r := &Report{Case: c.Name, DType: o.DType.String(), Scheme: o.Scheme, TP: o.TP, DP: o.DP, PP: o.PP, Zero: o.Zero, SP: o.SP}
	for _, w := range c.ways(o) {
		if err := c.verify(ctx, o, w, r); err != nil {
			return *r, fmt.Errorf("verify %s, %s tp %d dp %d pp %d, %s: %w", c.Name, o.Scheme, o.TP, o.DP, o.PP, w, err)
		}
	}
	r.OK, r.Limits = len(r.Misses) == 0, limitsOf(o.DType, r.Device, o.TP)
	return *r, nil
}

// verify runs one combination and compares: in F32 with the case, in BF16 with the same on the reference device.
func (c Case) verify(ctx context.Context, o Options, w way, r *Report) error {
	m := &comparison{report: r, where: w.String()}
	if o.DType == kernels.F32 {
		ranks, err := c.run(ctx, o, w, r, nil)
		if err == nil {
			c.compare(ranks, m)
		}
		return err
	}
	standard := c
	if o.standard != nil {
		standard = *o.standard
	}
	leaders, err := standard.lead(ctx, o, w)
	if err != nil {
		return fmt.Errorf("on the reference device: %w", err)
	}
	ranks, err := c.run(ctx, o, w, r, leaders)
	if err == nil {
		m.most = halfLimits(r.Device, o.TP)
		c.compareStrides(ranks, leaders, m)
	}
	return err
}

// way is one combination of what does not change the numbers.
type way struct {
	sync, grouped bool
	recompute     string
}

// ways lists the combinations that are asked for. Only btp's norms sum statistics over the ranks.
func (c Case) ways(o Options) (out []way) {
	sync := choices(o.SyncNorm)
	if o.Scheme != experiment.BTP {
		sync = sync[:1]
	}
	recompute := o.Recompute
	if recompute == nil {
		recompute = c.Recomputes(o.Scheme)
	}
	for _, s := range sync {
		for _, g := range choices(o.Grouped) {
			for _, r := range recompute {
				out = append(out, way{s, g, r})
			}
		}
	}
	return out
}

func choices(b *bool) []bool {
	if b != nil {
		return []bool{*b}
	}
	return []bool{false, true}
}

func (w way) String() string {
	s, g := "online norm", "ungrouped"
	if w.sync {
		s = "sync norm"
	}
	if w.grouped {
		g = "grouped"
	}
	return s + ", " + g + ", recompute " + w.recompute
}

// outcome is what one rank measured.
type outcome struct {
	at           mesh.Coordinate
	loss, norm   []float64
	after        float64
	grads, final map[string]shard // grads of the first step
	strides      []stride         // in BF16
}

// shard is a rank's part of a tensor.
type shard struct {
	param model.Param
	data  []float32
	// slices are the elements [from, to) that the rank answers for; nil: all of them.
	slices [][2]int64
}

// comparison collects errors into a report.
type comparison struct {
	most   half // in BF16
	report *Report
	where  string
}

// note folds an error into a figure of the report, and names it when it is too large. A number that is not
// finite counts as the largest there is.
func (m *comparison) note(figure *float64, err, limit float64, format string, args ...any) {
	if math.IsNaN(err) || math.IsInf(err, 0) {
		err = math.MaxFloat64
	}
	*figure = max(*figure, err)
	if err > limit && len(m.report.Misses) < missesMax {
		m.report.Misses = append(m.report.Misses, fmt.Sprintf("%s: error %.3g exceeds %.3g (%s)", fmt.Sprintf(format, args...), err, limit, m.where))
	}
}
