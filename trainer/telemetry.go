package trainer

import (
	"context"
	"fmt"
	"time"

	"boost-tui/internal/wallclock"
	"boost-tui/profiler"
	"boost-tui/profiler/record"
	"boost-tui/step"
)

// telemetry is the files that a rank writes as it goes.
type telemetry struct {
	steps    *record.Writer
	timeline *record.TimelineWriter
	line     record.StepLine
	tokens   int64 // of this rank's micro-batches, per step
}

func (r *rank) openTelemetry(ctx context.Context) (*telemetry, error) {
	s := r.spec.Experiment.Step
	t := &telemetry{tokens: int64(s.MicroBatch) * int64(s.Accumulate) * int64(s.Seq)}
	var err error
	if t.steps, err = record.OpenWriter(record.StepsPath(r.spec.RunDir, r.spec.Rank)); err != nil {
		return nil, err
	}
	if t.timeline, err = record.OpenTimelineWriter(record.TimelinePath(r.spec.RunDir, r.spec.Rank), r.spec.Rank, r.clockOffset(ctx).Nanoseconds()); err != nil {
		_ = t.steps.Close()
		return nil, err
	}
	return t, nil
}

// offsetTrips is how many round trips the comparison of two hosts' clocks takes.
const offsetTrips = 16

// clockOffset is what to add to this rank's times to get those of rank 0. Ranks of one host share its clock. Where it cannot be
// found out, timelines of different hosts do not line up, and that is all.
func (r *rank) clockOffset(ctx context.Context) time.Duration {
	if r.spec.Address == "" || r.spec.Rank == 0 || r.link == nil || r.link.client == nil {
		return 0
	}
	ctx, cancel := context.WithTimeout(ctx, tellLimit)
	defer cancel()
	ahead, err := r.link.client.Offset(ctx, offsetTrips)
	if err != nil {
		r.logf("the times of this rank's timeline are its host's alone: %v", err)
		return 0
	}
	return ahead.Ahead
}

// measured is what is known of a step at its end.
type measured struct {
	index     int
	deep      bool
	lr        float64
	dataNanos int64 // reading tokens on the host
	result    step.Result
	times     profiler.StepTimes
	spans     []profiler.Span
}

// report writes the step's line, its timeline when it was sampled, and on rank 0 a line for people.
func (r *rank) report(t *telemetry, m measured) error {
	l := &t.line
	*l = record.NewStepLine(m.index)
	m.times.Fill(l)
	m.shift(l, wallclock.Offset())
	l.DataNanos = max(0, l.DataNanos) + m.dataNanos
	l.Tokens, l.LR = t.tokens, m.lr
	l.Loss, l.GradNorm = m.result.Loss, m.result.GradNorm
	l.MemAllocBytes = r.dev.meter.peakBytes
	if m.index <= r.spec.Experiment.Train.Warmup {
		l.Flags |= record.Warmup
	}
	if m.deep {
		l.Flags |= record.Deep
	}
	if notFinite(l.Loss) || notFinite(l.GradNorm) {
		l.Flags |= record.NonFinite
	}
	if err := t.steps.Step(l); err != nil {
		return err
	}
	if m.deep {
		if err := t.timeline.Write(m.index, m.spans); err != nil {
			return err
		}
	}
	if r.spec.Rank == 0 {
		r.print(l)
	}
	return nil
}

// shift moves the times that the device took to the time of day that records bear: a test may have moved it.
func (m *measured) shift(l *record.StepLine, by time.Duration) {
	if by == 0 {
		return
	}
	l.TSNanos += by.Nanoseconds()
	for i := range m.spans {
		m.spans[i].StartNanos += by.Nanoseconds()
	}
}

// print is the step's line in the log of rank 0.
func (r *rank) print(l *record.StepLine) {
	seconds := float64(l.WallNanos) / float64(time.Second)
	rate := ""
	if seconds > 0 {
		rate = fmt.Sprintf("  %.0f tok/s", float64(l.Tokens)/seconds)
	}
	if mark := r.spec.Experiment.Emulated(); mark != "" {
		rate += "  (" + mark + ")"
	}
	r.outMu.Lock()
	defer r.outMu.Unlock()
	// See logf: a log that cannot be written does not end a run.
	_, _ = fmt.Fprintf(r.out, "step %d/%d  loss %.4f  grad norm %.3f  lr %.3g  %.1f ms%s\n",
		l.Step, lastStep(r.spec.Experiment.Train), l.Loss, l.GradNorm, l.LR, seconds*1e3, rate)
}
