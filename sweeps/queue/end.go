package queue

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"sync"
	"time"

	"boost-tui/runner"
	"boost-tui/sweeps"
)

// endEvery is the time between two looks at points that are being ended.
const endEvery = 50 * time.Millisecond

// End ends points of a sweep, or without any the whole sweep, whoever looks after it: what waits is taken out of the queue
// first, so that nothing new starts, then what runs is cancelled, with the reason in its run's record. It returns when
// the journal says that they are over; where nobody looks after the sweep, End writes that down itself. Points that are
// over stay as they are. The error is the context's where a program does not answer, or says what kept a run from ending.
func End(ctx context.Context, runs *runner.Store, s *sweeps.Sweep, points []string, reason string) error {
	var wanted map[string]bool
	if points != nil {
		wanted = make(map[string]bool, len(points))
		for _, id := range points {
			wanted[id] = true
		}
	}
	follow := s.Follow()
	asked := map[string]bool{} // runs
	settled := [2]int{-1}      // what there was when the end of runs was written down here
	for {
		st, _, err := follow.Next()
		if err != nil {
			return err
		}
		queued, running := open(st, wanted)
		if len(queued)+len(running) == 0 {
			return nil
		}
		if ctx.Err() != nil {
			return fmt.Errorf("%d points of sweep %s were told to end and have not yet: %w", len(queued)+len(running), s.ID, context.Cause(ctx))
		}
		if len(queued) > 0 {
			if err := s.Skip(queued); err != nil && !errors.Is(err, sweeps.ErrChanged) {
				return err
			}
			continue // one of them may have begun meanwhile
		}
		if err := cancelAll(ctx, runs, running, asked, reason); err != nil {
			return err
		}
		if !st.Held {
			now := [2]int{len(running), len(asked)}
			if now == settled {
				return fmt.Errorf("what became of %d points of sweep %s cannot be settled: %s", len(running), s.ID, st.Cause)
			}
			settled = now
			var held sweeps.ErrHeld
			if err := settle(ctx, s, runs); err != nil && !errors.As(err, &held) {
				return err
			}
			continue
		}
		select {
		case <-ctx.Done():
		case <-time.After(endEvery):
		}
	}
}

// open are the points that are not over, of those that are wanted or with nil of all.
func open(st *sweeps.State, wanted map[string]bool) (queued []string, running []*sweeps.PointState) {
	for _, p := range st.Points {
		switch {
		case p.Status.Over() || wanted != nil && !wanted[p.ID]:
		case p.Status == sweeps.Queued:
			queued = append(queued, p.ID)
		default:
			running = append(running, p)
		}
	}
	return queued, running
}

// cancelAll cancels the runs that have not been asked to end before. One that is about to be created is none yet; one
// that has ended by itself, or was deleted, needs no end.
func cancelAll(ctx context.Context, runs *runner.Store, points []*sweeps.PointState, asked map[string]bool, reason string) error {
	var group sync.WaitGroup
	var fresh []string
	for _, p := range points {
		if run := p.Attempts[len(p.Attempts)-1].Run; run != "" && !asked[run] {
			asked[run] = true
			fresh = append(fresh, run)
		}
	}
	errs := make([]error, len(fresh))
	for i, run := range fresh {
		group.Go(func() {
			in, err := runner.Cancel(ctx, runs, run, reason)
			if err != nil && !in.State.Over() && !errors.Is(err, fs.ErrNotExist) {
				errs[i] = err
			}
		})
	}
	group.Wait()
	return errors.Join(errs...)
}

// settle writes down what became of the runs of a sweep that nobody looks after, and starts nothing.
func settle(ctx context.Context, s *sweeps.Sweep, runs *runner.Store) error {
	return sit(ctx, s, Options{Runs: runs, Interrupt: Leave}, func(e *engine) error {
		if err := e.look(); err != nil {
			return err
		}
		return errors.Join(e.reconcile(), e.halted)
	})
}
