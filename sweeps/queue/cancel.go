package queue

import (
	"context"
	"fmt"
	"strings"
	"time"

	"boost-tui/runner"
)

// Why the program that looks after a sweep ends a run stands in the run's own record, and is read from there: who
// asked for the end may be dead when it comes.
const (
	againPrefix       = "its sweep was "
	interruptedReason = againPrefix + "interrupted: it runs again when the sweep goes on"
	pausedReason      = againPrefix + "paused: it runs again when the sweep goes on"
	deletedReason     = againPrefix + "deleted"
	lostReason        = againPrefix + "taken over by another program"
	rulePrefix        = "stopped by its sweep, "
)

// endPatience is how long runs may take to end. Their agents need a few seconds at most, and are killed then.
const endPatience = time.Minute

// ruleReason is the reason of a stopping rule.
func ruleReason(rule, why string) string { return rulePrefix + rule + ": " + why }

// ruleOf reads the stopping rule from the cause of a run's end.
func ruleOf(cause string) (rule string, ok bool) {
	rest, ok := strings.CutPrefix(cause, rulePrefix)
	if !ok {
		return "", false
	}
	rule, _, ok = strings.Cut(rest, ":")
	return rule, ok && (rule == ruleDiverged || rule == ruleSlower)
}

// cancel asks a run to end; its waiter hears of the end.
func (e *engine) cancel(a *attempt, reason string) {
	if a.asked {
		return
	}
	a.asked = true
	run := a.run
	e.group.start(func() {
		ctx, cancel := context.WithTimeout(e.work, endPatience)
		defer cancel()
		// One that has ended by itself needs no end, and one that cannot be ended goes on: the waiter knows.
		_, _ = runner.Cancel(ctx, e.o.Runs, run, reason)
	})
}

func (e *engine) endAll(reason string) {
	for _, a := range e.live {
		e.cancel(a, reason)
	}
}

// leave is what becomes of the runs that go on when the context ends.
func (e *engine) leave() error {
	if e.o.Interrupt == Leave {
		return nil
	}
	e.endAll(interruptedReason)
	return e.drain()
}

// disown ends the runs of a sweep that is gone, or another's: nobody would ever look after them here.
func (e *engine) disown() error {
	reason := deletedReason
	if st, err := e.sweep.Load(e.work); err == nil && st.Held {
		reason = lostReason
	}
	e.endAll(reason)
	limit := time.NewTimer(endPatience)
	defer limit.Stop()
	for len(e.live) > 0 {
		select {
		case x := <-e.ends:
			delete(e.live, x.point)
		case <-limit.C:
			return e.unended()
		}
	}
	return nil
}

// drain waits until the runs that were told to end have done so.
func (e *engine) drain() error {
	limit := time.NewTimer(endPatience)
	defer limit.Stop()
	for len(e.live) > 0 {
		select {
		case x := <-e.ends:
			if err := e.ended(x); err != nil {
				return err
			}
		case <-limit.C:
			return e.unended()
		}
	}
	return nil
}

func (e *engine) unended() error {
	var runs []string
	for _, a := range e.live {
		runs = append(runs, a.run)
	}
	return fmt.Errorf("%d runs did not end within %s: %s", len(runs), endPatience, strings.Join(runs[:min(len(runs), 3)], ", "))
}
