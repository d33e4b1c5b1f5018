package export

import (
	"context"
	"io"
	"math"
	"slices"

	"boost-tui/profiler/compare"
	"boost-tui/profiler/record"
)

const stepsHead = "run,step,rank,wall_s,compute_s,comm_s,comm_exposed_s,overlap_s,comm_wait_s,mem_s,idle_s,bubble_s,fwd_s,bwd_s,opt_s," +
	"tokens,tok_s_gpu,mfu_pct,comm_mb,ncoll,loss,grad_norm,mem_alloc_gib,mem_reserved_gib,warmup,kept,emulated_link,emulated_device"

// writeSteps is steps.csv: every step of every rank. mfu_pct is empty where no peak is known, as on CPUs.
// warmup marks steps in which the learning rate rises; kept marks those that a run's figures rest on.
func writeSteps(ctx context.Context, w io.Writer, runs []*run) error {
	t := newTable(w, stepsHead)
	for _, r := range runs {
		kept, err := compare.KeptSteps(ctx, r.Dir)
		if err != nil {
			return err
		}
		for _, rank := range r.ranks {
			_, err := record.EachStepLine(ctx, record.StepsPath(r.Dir, rank), func(l *record.StepLine) error {
				warmup, counts := int64(l.Flags&record.Warmup), int64(0)
				if _, ok := slices.BinarySearch(kept, l.Step); ok {
					counts = 1
				}
				t.text(r.ID).int(l.Step, int64(rank))
				t.seconds(l.WallNanos, l.ComputeNanos, l.CommNanos, l.ExposedNanos, l.OverlapNanos, l.WaitNanos, l.MemNanos, l.IdleNanos,
					l.BubbleNanos, l.ForwardNanos, l.BackwardNanos, l.OptimizerNanos)
				t.known(l.Tokens).float(tokenRate(l, r.perDevice()), mfuPercent(l, r), scale(l.CommBytes, 1e6)).known(l.Collectives)
				t.float(l.Loss, l.GradNorm, scale(l.MemAllocBytes, 1<<30), scale(l.MemReservedBytes, 1<<30)).int(warmup, counts).text(r.Plan.Link, r.emulatedDevice())
				return t.end()
			})
			if err != nil {
				return err
			}
		}
	}
	return t.close()
}

// tokenRate is tokens per second and device.
func tokenRate(l *record.StepLine, devices int64) float64 {
	if l.Tokens < 0 || l.WallNanos <= 0 {
		return math.NaN()
	}
	return float64(l.Tokens) / (float64(l.WallNanos) / 1e9) / float64(devices)
}

// mfuPercent is the model's FLOPs per second of the step in hundredths of the cards' peak.
func mfuPercent(l *record.StepLine, r *run) float64 {
	peak := r.PeakFLOPS()
	if peak <= 0 || r.Predicted.FLOPs <= 0 || l.WallNanos <= 0 {
		return math.NaN()
	}
	return 100 * r.Predicted.FLOPs / (float64(l.WallNanos) / 1e9) / peak
}

func scale(v int64, unit float64) float64 {
	if v == record.Unknown {
		return math.NaN()
	}
	return float64(v) / unit
}
