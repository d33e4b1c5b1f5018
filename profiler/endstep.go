package profiler

import (
	"context"
	"errors"
	"fmt"

	"boost-tui/kernels"
	"boost-tui/profiler/interval"
)

// windowEnds are the events at both ends of the step's window. They take turns: the end of one
// step is the start of the next.
type windowEnds struct {
	events [2]kernels.Event
	end    int   // which of them marks the end of the present step
	start  int64 // Unix nanoseconds; 0: no step ended so far
}

func (w *windowEnds) init(dev kernels.Device) error {
	for i := range w.events {
		e, err := dev.NewEvent()
		if err != nil {
			return fmt.Errorf("events of the profiler: %w", err)
		}
		w.events[i] = e
	}
	return nil
}

// begin marks the start when there is no previous step whose end serves.
func (w *windowEnds) begin(dev kernels.Device) error {
	if w.start != 0 {
		return nil
	}
	e := w.events[1-w.end]
	if err := dev.Record(e, kernels.ComputeStream); err != nil {
		return err
	}
	at, err := dev.EventTime(e)
	w.start = at.AtNanos
	return err
}

// finish marks the end and returns the window.
func (w *windowEnds) finish(dev kernels.Device) (interval.Interval, error) {
	e := w.events[w.end]
	if err := dev.Record(e, kernels.ComputeStream); err != nil {
		return interval.Interval{}, err
	}
	at, err := dev.EventTime(e)
	if err != nil {
		return interval.Interval{}, err
	}
	win := interval.Interval{Lo: w.start, Hi: max(w.start, at.AtNanos)}
	w.start, w.end = win.Hi, 1-w.end
	return win, nil
}

// Sync implements kernels.Device. The host's waiting is no compute, so it ends the chunk.
func (d *Device) Sync(ctx context.Context, s kernels.Stream) error {
	if d.inStep && s == kernels.ComputeStream {
		if err := d.leave(); err != nil {
			return err
		}
		d.closed = -1
	}
	return d.Device.Sync(ctx, s)
}

// EndStep ends the step that BeginStep began: it waits until its operations have run and gives the
// step's times and spans. The spans are overwritten by the next EndStep.
func (d *Device) EndStep() (StepTimes, []Span, error) {
	if !d.inStep {
		return StepTimes{}, nil, errors.New("profiler: EndStep without BeginStep")
	}
	if err := d.leave(); err != nil {
		return StepTimes{}, nil, fmt.Errorf("end of step %d: %w", d.step, err)
	}
	d.inStep = false
	w, err := d.window.finish(d.Device)
	if err != nil {
		return StepTimes{}, nil, fmt.Errorf("end of step %d: %w", d.step, err)
	}
	if err := d.resolve(); err != nil {
		return StepTimes{}, nil, fmt.Errorf("spans of step %d: %w", d.step, err)
	}
	t, err := d.sum.sum(w, d.spans)
	return t, d.spans, err
}

// resolve asks for the time of every event. Each is asked for once: a shared event ends one span and starts the next.
func (d *Device) resolve() error {
	d.spans = d.spans[:0]
	last, lastAt := -1, kernels.EventTime{}
	for i := range d.marks {
		m := &d.marks[i]
		if m.end < 0 {
			continue // the operation failed, and nobody should get here
		}
		start := lastAt
		if m.start != last {
			var err error
			if start, err = d.Device.EventTime(d.pool[m.start]); err != nil {
				return err
			}
		}
		end, err := d.Device.EventTime(d.pool[m.end])
		if err != nil {
			return err
		}
		last, lastAt = m.end, end
		m.span.StartNanos = start.AtNanos
		m.span.DurNanos = max(0, end.AtNanos-start.AtNanos)
		if m.span.Class == kernels.Communication && end.WaitNanos >= 0 {
			m.span.WaitNanos = min(end.WaitNanos, m.span.DurNanos)
		}
		d.spans = append(d.spans, m.span)
	}
	return nil
}
