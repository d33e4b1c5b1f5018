package profiler

import (
	"fmt"

	"boost-tui/kernels"
	"boost-tui/profiler/interval"
	"boost-tui/profiler/record"
)

// Span is a stretch of time on a stream.
type Span = record.Span

// StepTimes is where the time of one step of one rank went, in nanoseconds. The window is from the
// end of the previous step's optimiser to the end of this one's. Wall = Compute + Exposed + Mem +
// Idle exactly; Comm = Exposed + Overlap; Wait is a part of Comm.
type StepTimes struct {
	EndNanos     int64 // Unix time of the window's end
	WallNanos    int64
	ComputeNanos int64 // union of compute over the streams
	CommNanos    int64 // union of communication
	ExposedNanos int64 // communication with no compute beside it
	OverlapNanos int64 // communication with compute beside it
	WaitNanos    int64 // union of the waits for peers; record.Unknown when a collective's is
	// BubbleNanos is the part of Exposed and Wait in which transfers between stages wait for the other stage and nothing else runs; record.Unknown: there
	// are none, or a wait is unknown.
	BubbleNanos    int64
	MemNanos       int64 // memory operations with neither of the others beside them
	IdleNanos      int64
	ForwardNanos   int64 // by phase on the compute stream, waits included; record.Unknown: no such phase
	BackwardNanos  int64
	OptimizerNanos int64
	DataNanos      int64
	Collectives    int   // communication group calls, transfers included
	CommBytes      int64 // their payload; a transfer's at its sender
}

// Fill copies the times into a step line.
func (t *StepTimes) Fill(l *record.StepLine) {
	l.TSNanos, l.WallNanos = t.EndNanos, t.WallNanos
	l.ComputeNanos, l.CommNanos, l.ExposedNanos, l.OverlapNanos = t.ComputeNanos, t.CommNanos, t.ExposedNanos, t.OverlapNanos
	l.WaitNanos, l.MemNanos, l.IdleNanos = t.WaitNanos, t.MemNanos, t.IdleNanos
	l.ForwardNanos, l.BackwardNanos, l.OptimizerNanos, l.DataNanos = t.ForwardNanos, t.BackwardNanos, t.OptimizerNanos, t.DataNanos
	l.BubbleNanos = t.BubbleNanos
	l.Collectives, l.CommBytes = int64(t.Collectives), t.CommBytes
}

// Breakdown sums spans up to the times of the window [from, to), Unix nanoseconds. What lies
// outside of it does not count.
func Breakdown(from, to int64, spans []Span) (StepTimes, error) {
	var s summer
	return s.sum(interval.Interval{Lo: from, Hi: max(from, to)}, spans)
}

// summer keeps its buffers from step to step. past holds what the previous window's spans had
// beyond that window's end.
type summer struct {
	class [3][]interval.Interval
	wait  []interval.Interval
	stage []interval.Interval // waits of transfers between stages
	moves []interval.Interval // communication but for those
	// transfers: there are some between stages.
	transfers bool
	all       []interval.Interval
	past      []pastSpan
}

type pastSpan struct {
	at   interval.Interval
	kind int
}

// Kinds of stretches beside the classes of spans.
const (
	waits = int(kernels.Memory) + 1 + iota
	waitsForStage
	moves
)

func (s *summer) sum(w interval.Interval, spans []Span) (StepTimes, error) {
	t := StepTimes{EndNanos: w.Hi, WallNanos: w.Hi - w.Lo,
		ForwardNanos: record.Unknown, BackwardNanos: record.Unknown, OptimizerNanos: record.Unknown, DataNanos: record.Unknown, BubbleNanos: record.Unknown}
	waitKnown := s.collect(w, spans, &t)
	s.phases(w, spans, &t)

	comp := interval.Union(s.class[kernels.Compute])
	comm := interval.Union(s.class[kernels.Communication])
	s.all = append(append(s.all[:0], comp...), comm...)
	useful := interval.Union(s.all)
	usefulNanos := interval.Length(useful)
	s.all = append(useful, s.class[kernels.Memory]...)
	busyNanos := interval.Length(interval.Union(s.all))

	t.ComputeNanos, t.CommNanos = interval.Length(comp), interval.Length(comm)
	t.OverlapNanos = interval.Overlap(comp, comm)
	t.ExposedNanos = t.CommNanos - t.OverlapNanos
	t.MemNanos = busyNanos - usefulNanos
	t.IdleNanos = t.WallNanos - busyNanos
	t.WaitNanos = interval.Length(interval.Union(s.wait))
	if !waitKnown {
		t.WaitNanos = record.Unknown
	} else if s.transfers {
		t.BubbleNanos = s.bubble(comp)
	}
	if parts := t.ComputeNanos + t.ExposedNanos + t.MemNanos + t.IdleNanos; parts != t.WallNanos || t.IdleNanos < 0 || t.MemNanos < 0 {
		return t, fmt.Errorf("breakdown of a step: parts sum to %d ns, the step took %d ns", parts, t.WallNanos)
	}
	return t, nil
}

// bubble is how long transfers waited for another stage while nothing else ran, given the union of compute. A transfer that is asked for early waits beside
// other work: that is no bubble.
func (s *summer) bubble(comp []interval.Interval) int64 {
	stage := interval.Union(s.stage)
	s.all = append(append(append(s.all[:0], comp...), s.class[kernels.Memory]...), s.moves...)
	return interval.Length(stage) - interval.Overlap(stage, interval.Union(s.all))
}

// collect sorts the spans, clipped to the window, by class. It reports whether every wait is known.
func (s *summer) collect(w interval.Interval, spans []Span, t *StepTimes) bool {
	for i := range s.class {
		s.class[i] = s.class[i][:0]
	}
	s.transfers = false
	s.wait, s.stage, s.moves = s.wait[:0], s.stage[:0], s.moves[:0]
	old := s.past
	s.past = s.past[:0]
	for _, p := range old {
		s.add(w, p)
	}
	known := true
	for i := range spans {
		sp := &spans[i]
		class := min(sp.Class, kernels.Memory)
		s.add(w, pastSpan{interval.Interval{Lo: sp.StartNanos, Hi: sp.EndNanos()}, int(class)})
		if class != kernels.Communication {
			continue
		}
		t.Collectives++
		if sp.Op != kernels.RecvName { // its sender counts it
			t.CommBytes += sp.Bytes
		}
		if sp.WaitNanos < 0 {
			known = false
			continue
		}
		from := sp.StartNanos
		wait := min(sp.WaitNanos, sp.DurNanos)
		waiting := interval.Interval{Lo: sp.StartNanos, Hi: sp.StartNanos + wait}
		s.add(w, pastSpan{waiting, waits})
		if record.FlowOf(sp.Group).Transfer() {
			s.transfers = true
			s.add(w, pastSpan{waiting, waitsForStage})
			from = waiting.Hi
		}
		s.add(w, pastSpan{interval.Interval{Lo: from, Hi: sp.EndNanos()}, moves})
	}
	return known
}

func (s *summer) add(w interval.Interval, p pastSpan) {
	if part, ok := p.at.Clip(w); ok {
		switch p.kind {
		case waits:
			s.wait = append(s.wait, part)
		case waitsForStage:
			s.stage = append(s.stage, part)
		case moves:
			s.moves = append(s.moves, part)
		default:
			s.class[p.kind] = append(s.class[p.kind], part)
		}
	}
	if p.at.Hi > w.Hi {
		p.at.Lo = max(p.at.Lo, w.Hi)
		s.past = append(s.past, p)
	}
}

// phases gives each stretch of the compute stream's time to the phase of the span that ends it:
// what a span waited for belongs to it.
func (s *summer) phases(w interval.Interval, spans []Span, t *StepTimes) {
	at := w.Lo
	for i := range spans {
		sp := &spans[i]
		if sp.Stream != kernels.ComputeStream {
			continue
		}
		var p *int64
		switch sp.Label.Phase {
		case kernels.Forward:
			p = &t.ForwardNanos
		case kernels.Backward:
			p = &t.BackwardNanos
		case kernels.Optimizer:
			p = &t.OptimizerNanos
		case kernels.Data:
			p = &t.DataNanos
		}
		end := min(sp.EndNanos(), w.Hi)
		if end <= at {
			continue
		}
		if p != nil {
			*p = max(*p, 0) + end - at
		}
		at = end
	}
}
