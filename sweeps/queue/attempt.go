package queue

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"sync"
	"time"

	"boost-tui/experiment"
	"boost-tui/runner"
	"boost-tui/sweeps"
)

// attempt is a run that goes on.
type attempt struct {
	point   *sweeps.PointState // as it was when the attempt began
	n       int
	run     string
	e       experiment.Experiment
	began   time.Time // by the clock of this program
	created time.Time // the run, by the clock of its store
	need    int64     // bytes of memory, all ranks; 0: unknown
	card    int64     // bytes that a rank takes of a GPU here; 0: unknown, or none
	asked   bool      // it was told to end
	crowded bool      // others of this sweep ran meanwhile: its step times say nothing
	steps   *steps
}

// ended is what a run's waiter says at its end.
type ended struct {
	point string
	info  runner.Info
	err   error // the end could not be found out
}

// waiter counts goroutines. The zero value is ready.
type waiter struct{ wg sync.WaitGroup }

func (w *waiter) start(f func()) {
	w.wg.Add(1)
	go func() {
		defer w.wg.Done()
		f()
	}()
}

// wait ends all that the sitting waits for.
func (e *engine) wait() {
	over := make(chan struct{})
	go func() {
		e.group.wg.Wait()
		close(over)
	}()
	for {
		select {
		case <-e.ends: // of a run that is left to who comes next
		case <-over:
			return
		}
	}
}

// waitFor waits for the end of a run in a goroutine of its own.
func (e *engine) waitFor(a *attempt, wait func(context.Context) (runner.Info, error)) {
	e.live[a.point.ID] = a
	for _, other := range e.live {
		if len(e.live) > 1 {
			other.crowded = true
		}
	}
	point := a.point.ID
	e.group.start(func() {
		in, err := wait(e.work)
		if e.work.Err() != nil && !in.State.Over() {
			return // the sitting is over, the run goes on
		}
		select {
		case e.ends <- ended{point, in, err}:
		case <-e.work.Done():
		}
	})
}

// ended writes down how an attempt ended.
func (e *engine) ended(x ended) error {
	a := e.live[x.point]
	delete(e.live, x.point)
	return e.finish(a, x.info, x.err)
}

// finish writes down the end of an attempt that was adopted or followed. An end that cannot be written down is tried
// again at the next turn, from what the run's directory says.
func (e *engine) finish(a *attempt, in runner.Info, failed error) error {
	gone := in.Deleted() || errors.Is(failed, fs.ErrNotExist)
	if failed != nil && !gone {
		e.unsettled[a.point.ID] = true
		return e.stop(fmt.Sprintf("how run %s ended cannot be settled: %v", a.run, failed))
	}
	out := outcome(a, in, gone)
	if out.Rule == "" && e.st.Options.StopDiverged && in.Fault == runner.ConfigurationFault && notFinite(in.Dir) {
		out.Rule = ruleDiverged
	}
	full := in.DiskFull()
	out.Again = out.Again || full
	if err := e.end(a.point, out); err != nil {
		return err
	}
	if full {
		return e.stop(fmt.Sprintf("run %s: %s", a.run, in.Cause))
	}
	return nil
}

// end writes down the end of an attempt.
func (e *engine) end(p *sweeps.PointState, out sweeps.Attempt) error {
	err := e.hold.End(p.ID, out)
	switch {
	case err == nil:
		e.tell(Event{Kind: Ended, Point: p.ID, Label: p.Label, Run: out.Run, Text: strings.TrimSuffix(out.State+": "+out.Cause, ": ")})
		return nil
	case errors.Is(err, sweeps.ErrLost), errors.Is(err, sweeps.ErrDeleted):
		return err
	case errors.Is(err, sweeps.ErrChanged):
		return e.look() // it is written down already
	}
	return e.stop(err.Error())
}

// outcome is what the journal keeps of an end.
func outcome(a *attempt, in runner.Info, gone bool) sweeps.Attempt {
	out := sweeps.Attempt{N: a.n, Run: a.run, State: string(in.State), Cause: in.Cause, Ended: in.Ended}
	if gone {
		out.State, out.Cause, out.Ended = string(runner.Cancelled), "its run was deleted", time.Time{}
		return out
	}
	if took, why := in.Took(runner.FileNow(in.Dir, time.Now())); why == "" && in.Result != nil && in.HadRanks() {
		out.Seconds = took.Seconds()
	}
	switch rule, stopped := ruleOf(in.Cause); {
	case in.State == runner.Finished:
	case in.State == runner.Cancelled && stopped:
		out.Rule = rule
	case in.State == runner.Cancelled && strings.HasPrefix(in.Cause, againPrefix):
		out.Again = true
	default:
		out.Machine = in.Fault == runner.MachineFault
	}
	return out
}
