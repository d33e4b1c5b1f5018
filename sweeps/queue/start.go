package queue

import (
	"context"
	"errors"
	"fmt"
	"time"

	"boost-tui/experiment"
	"boost-tui/runner"
	"boost-tui/sweeps"
)

// preparation is a point made ready to launch while another one runs.
type preparation struct {
	point string
	at    time.Time
	done  chan struct{} // closed when the rest is there
	seen  bool
	e     experiment.Experiment
	o     runner.LaunchOptions
	err   error
}

// fresh is how long a preparation holds: what it checked (data, limits) may change.
const fresh = 10 * time.Minute

// fill starts as many runs as may run.
func (e *engine) fill(ctx context.Context) error {
	for e.wants() && len(e.live) < e.st.Options.AtOnce && ctx.Err() == nil {
		if cause := e.limit(time.Now()); cause != "" {
			return e.stop(cause)
		}
		p := e.st.Queue[0]
		pr := e.prepared(ctx, p)
		if pr == nil || pr.err == nil && !e.admit(pr) {
			break
		}
		began, err := e.begin(p, pr)
		if began && err == nil && pr.err == nil {
			err = e.launch(ctx, p, pr)
		}
		if err != nil || !began {
			return err
		}
		if err := e.look(); err != nil {
			return err
		}
	}
	if e.wants() && len(e.live) > 0 {
		e.prepare(e.st.Queue[0])
	}
	return nil
}

// prepare makes a point ready in a goroutine of its own.
func (e *engine) prepare(p *sweeps.PointState) {
	if e.next != nil {
		select {
		case <-e.next.done:
		default:
			return // one at a time
		}
		if e.next.point == p.ID && time.Since(e.next.at) < fresh {
			return
		}
	}
	pr := &preparation{point: p.ID, at: time.Now(), done: make(chan struct{})}
	e.next = pr
	base := e.st.Base
	e.group.start(func() {
		defer func() {
			close(pr.done)
			_ = e.o.Runs.Furnish() // what keeps it from that, the launch will meet and say
		}()
		pr.e, pr.err = p.Experiment(base)
		if pr.err == nil && e.o.Prepare != nil {
			pr.e, pr.o, pr.err = e.o.Prepare(pr.e)
		}
	})
}

// prepared is the point made ready, as a rule while the run before it went on; nil: the context ended first.
func (e *engine) prepared(ctx context.Context, p *sweeps.PointState) *preparation {
	for {
		e.prepare(p)
		select {
		case <-e.next.done:
		case <-ctx.Done():
			return nil
		}
		if e.next.point == p.ID { // else another one was on the way
			e.next.seen = true
			return e.next
		}
	}
}

// begin writes down that an attempt begins, and how one ended whose experiment cannot run. began is false when nothing may
// be launched: others changed the sweep, or the journal cannot be written.
func (e *engine) begin(p *sweeps.PointState, pr *preparation) (began bool, err error) {
	n := len(p.Attempts) + 1
	e.next = nil
	if err := e.hold.Begin(p.ID, n); err != nil {
		if errors.Is(err, sweeps.ErrChanged) {
			return false, nil // the next look tells what others did
		}
		return false, e.stopUnlessLost(err)
	}
	if pr.err != nil {
		return true, e.end(p, sweeps.Attempt{N: n, State: string(runner.Failed), Cause: pr.err.Error()})
	}
	return true, nil
}

// launch starts the run of an attempt that has begun.
func (e *engine) launch(ctx context.Context, p *sweeps.PointState, pr *preparation) error {
	n := len(p.Attempts) + 1
	o := pr.o
	o.Detach, o.Binary, o.After = true, e.o.Binary, ""
	o.Sweep = &runner.SweepRef{ID: e.st.ID, Point: p.ID, Attempt: n}
	h, err := runner.Launch(ctx, e.o.Runs, pr.e, o)
	if err != nil {
		return e.unlaunched(ctx, p, n, err)
	}
	a := &attempt{point: p, n: n, run: h.Run.ID, e: pr.e, began: time.Now(), created: h.Run.Created, need: needOf(h.Run.Predicted, h.Run.Experiment), card: cardOf(h.Run.Predicted, h.Run.Experiment), steps: followSteps(h.Dir)}
	e.waitFor(a, h.Wait)
	e.tell(Event{Kind: Started, Point: p.ID, Label: p.Label, Run: a.run})
	if err := e.hold.Began(p.ID, n, a.run); err != nil {
		return e.stopUnlessLost(err) // the run itself says what it is
	}
	return nil
}

// unlaunched writes down an attempt that came to no run, or to one that did not start.
func (e *engine) unlaunched(ctx context.Context, p *sweeps.PointState, n int, failed error) error {
	out := sweeps.Attempt{N: n, State: string(runner.Lost), Cause: failed.Error(), Again: true}
	var start *runner.StartError
	switch started := errors.As(failed, &start); {
	case !started && errors.Is(failed, runner.ErrRefused): // another point may ask for less
		out.State, out.Again = string(runner.Failed), false
		return e.end(p, out)
	case started:
		in, err := runner.Settle(e.work, e.o.Runs, start.ID)
		if err == nil && !in.State.Over() { // it started after all
			return e.adopt(p, sweeps.Attempt{N: n, Begun: time.Now()}, start.ID)
		}
		if ctx.Err() == nil {
			return e.finish(&attempt{point: p, n: n, run: start.ID}, in, err)
		}
		if out.Run = start.ID; in.State.Over() {
			out.State = string(in.State)
		}
	}
	if err := e.end(p, out); err != nil || ctx.Err() != nil {
		return err
	}
	return e.stop(fmt.Sprintf("no run can be started: %v", failed)) // whatever it is, the next one would meet it too
}
