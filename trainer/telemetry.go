package trainer

import (
	"fmt"
	"time"

	"boost-tui/experiment"
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

func (r *rank) openTelemetry() (*telemetry, error) {
	s := r.spec.Experiment.Step
	t := &telemetry{tokens: int64(s.MicroBatch) * int64(s.Accumulate) * int64(s.Seq)}
	var err error
	if t.steps, err = record.OpenWriter(record.StepsPath(r.spec.RunDir, r.spec.Rank)); err != nil {
		return nil, err
	}
	// Ranks of one host share its clock: the offset is 0.
	if t.timeline, err = record.OpenTimelineWriter(record.TimelinePath(r.spec.RunDir, r.spec.Rank), r.spec.Rank, 0); err != nil {
		_ = t.steps.Close()
		return nil, err
	}
	return t, nil
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

// print is the step's line in the log of rank 0.
func (r *rank) print(l *record.StepLine) {
	seconds := float64(l.WallNanos) / float64(time.Second)
	rate := ""
	if seconds > 0 {
		rate = fmt.Sprintf("  %.0f tok/s", float64(l.Tokens)/seconds)
	}
	if r.spec.Experiment.Parallel.Link != "" {
		rate += "  (" + experiment.EmulatedLink + ")"
	}
	r.outMu.Lock()
	defer r.outMu.Unlock()
	// See logf: a log that cannot be written does not end a run.
	_, _ = fmt.Fprintf(r.out, "step %d/%d  loss %.4f  grad norm %.3f  lr %.3g  %.1f ms%s\n",
		l.Step, lastStep(r.spec.Experiment.Train), l.Loss, l.GradNorm, l.LR, seconds*1e3, rate)
}
