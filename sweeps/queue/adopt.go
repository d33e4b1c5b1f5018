package queue

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"time"

	"boost-tui/runner"
	"boost-tui/sweeps"
)

// reconcile finds out about every attempt that goes on by the journal and that this sitting does not follow: those that
// an earlier program left, and those whose end could not be written down.
func (e *engine) reconcile() error {
	var refs map[runner.SweepRef]string
	for _, p := range e.st.Points {
		if p.Status != sweeps.Running || e.live[p.ID] != nil || e.unsettled[p.ID] {
			continue
		}
		last := p.Attempts[len(p.Attempts)-1]
		run := last.Run
		if run == "" {
			if refs == nil {
				var err error
				if refs, err = e.refs(); err != nil {
					return err
				}
			}
			run = refs[runner.SweepRef{ID: e.st.ID, Point: p.ID, Attempt: last.N}]
		}
		if err := e.adopt(p, last, run); err != nil {
			return err
		}
	}
	return nil
}

// refs finds the runs that name this sweep.
func (e *engine) refs() (map[runner.SweepRef]string, error) {
	infos, err := e.o.Runs.OfSweep(e.work, e.st.ID)
	if err != nil {
		return nil, err
	}
	refs := make(map[runner.SweepRef]string, len(infos))
	for _, in := range infos {
		if _, copied := refs[*in.Run.Sweep]; !copied { // the oldest: a directory may have been copied
			refs[*in.Run.Sweep] = in.ID
		}
	}
	return refs, nil
}

// adopt follows the run of an attempt, or writes down its end.
func (e *engine) adopt(p *sweeps.PointState, last sweeps.Attempt, run string) error {
	if run == "" {
		return e.end(p, sweeps.Attempt{N: last.N, State: string(runner.Lost), Again: true,
			Cause: "the program that looked after the sweep ended before the run was created"})
	}
	a := &attempt{point: p, n: last.N, run: run, began: last.Begun}
	in, err := runner.Settle(e.work, e.o.Runs, run)
	switch {
	case err != nil || in.Deleted() || in.State.Over():
		if err == nil && in.State == runner.Lost && !in.HadRanks() && in.Result != nil { // its launcher's death is not the point's
			return e.end(p, sweeps.Attempt{N: last.N, Run: run, State: string(in.State), Cause: in.Cause, Again: true})
		}
		return e.finish(a, in, err)
	case in.Run.Sweep == nil || in.Run.Sweep.ID != e.st.ID:
		e.unsettled[p.ID] = true
		return e.stop(fmt.Sprintf("run %s, which the journal names, is of another sweep", run))
	}
	if err := e.hold.Adopt(p.ID, last.N, run); err != nil {
		return e.stopUnlessLost(err)
	}
	now := time.Now()
	a.e, a.created, a.need, a.card = in.Run.Experiment, in.Run.Created, needOf(in.Run.Predicted, in.Run.Experiment), cardOf(in.Run.Predicted, in.Run.Experiment)
	a.began = now.Add(-max(0, in.Clock(now).Sub(a.created)))
	a.steps = followSteps(in.Dir)
	e.waitFor(a, func(ctx context.Context) (runner.Info, error) { return runner.Await(ctx, e.o.Runs, run) })
	e.tell(Event{Kind: Adopted, Point: p.ID, Label: p.Label, Run: run})
	return nil
}

// stopUnlessLost stops the sweep for an error of the journal.
func (e *engine) stopUnlessLost(err error) error {
	if errors.Is(err, sweeps.ErrLost) || errors.Is(err, fs.ErrNotExist) {
		return err
	}
	return e.stop(err.Error())
}
