package sweeps

import (
	"fmt"

	"boost-tui/runner"
)

// Begin writes down that an attempt of a queued point is about to be started; attempt is one more than the point has.
// Only when it returns nil may a run be created. ErrChanged: the sweep was paused or stopped, or the point was taken
// out, meanwhile. After any other error the line may be there all the same: the next State tells, and an attempt that
// was begun without a run is ended with Again.
func (h *Hold) Begin(point string, attempt int) error {
	return h.say("begin "+text(point), false, func(r *replay) (*line, error) {
		if r.paused || r.stopped {
			return nil, fmt.Errorf("%w: it is paused or stopped", ErrChanged)
		}
		l := &line{K: kindBegin, Point: point, Attempt: attempt}
		i, ok := r.index[point]
		if !ok {
			return nil, fmt.Errorf("%w: there is no point %s", ErrChanged, text(point))
		}
		if p := r.points[i]; p.Status != Queued || attempt != len(p.Attempts)+1 {
			return nil, fmt.Errorf("%w: point %s is %s after %d attempts", ErrChanged, point, p.Status, len(p.Attempts))
		}
		return l, nil
	})
}

// Began writes down which run an attempt became. After an error the run's own reference to the sweep is all that says
// so; after ErrLost the run must be cancelled.
func (h *Hold) Began(point string, attempt int, run string) error {
	return h.say("began "+text(point), true, func(r *replay) (*line, error) {
		return r.about(&line{K: kindRun, Point: point, Attempt: attempt, Run: run})
	})
}

// Adopt writes down that a run which an earlier program began is looked after by this one.
func (h *Hold) Adopt(point string, attempt int, run string) error {
	return h.say("adopt "+text(point), true, func(r *replay) (*line, error) {
		return r.about(&line{K: kindAdopt, Point: point, Attempt: attempt, Run: run})
	})
}

// End writes down how an attempt ended: a.N says which, Run (where it was not known yet), State, Cause, Machine, Again,
// Rule, Seconds and Ended (zero: now) say how. What becomes of the point follows from that: finished; queued again
// (Again, or Machine as long as Options.Retries last); stopped (Rule); cancelled; failed.
func (h *Hold) End(point string, a Attempt) error {
	return h.say("end "+text(point), true, func(r *replay) (*line, error) {
		l := &line{K: kindEnd, Point: point, Attempt: a.N, Run: a.Run, State: a.State, Cause: text(a.Cause), Machine: a.Machine, Again: a.Again, Rule: a.Rule, Seconds: a.Seconds}
		if !a.Ended.IsZero() {
			l.Ended = a.Ended.UnixNano()
		}
		if !runner.State(a.State).Over() {
			return nil, fmt.Errorf("%q is not how a run ends", text(a.State))
		}
		return r.about(l)
	})
}

// about checks a line on the attempt that goes on.
func (r *replay) about(l *line) (*line, error) {
	i, ok := r.index[l.Point]
	if !ok {
		return nil, fmt.Errorf("%w: there is no such point", ErrChanged)
	}
	p := r.points[i]
	if p.Status != Running || l.Attempt != len(p.Attempts) {
		return nil, fmt.Errorf("%w: attempt %d does not go on (the point is %s after %d)", ErrChanged, l.Attempt, p.Status, len(p.Attempts))
	}
	if !r.fitsRun(p, l) {
		return nil, fmt.Errorf("run %q cannot be that of attempt %d, which has %q", text(l.Run), l.Attempt, p.Attempts[l.Attempt-1].Run)
	}
	return l, nil
}

// Note writes down a line for people.
func (h *Hold) Note(what string) error {
	return h.say("note", false, func(*replay) (*line, error) { return &line{K: kindNote, Cause: text(what)}, nil })
}

// Stop says that a limit was reached, or that the sweep cannot go on. It stays so until somebody resumes it.
func (h *Hold) Stop(cause string) error {
	return h.say("stop", true, func(*replay) (*line, error) { return &line{K: kindStop, Cause: text(cause)}, nil })
}
