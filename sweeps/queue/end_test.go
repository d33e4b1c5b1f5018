package queue

import (
	"context"
	"errors"
	"strings"
	"syscall"
	"testing"
	"time"

	"boost-tui/runner"
	"boost-tui/sweeps"
)

const byAda = "cancelled by ada"

// end ends points, or the whole sweep.
func (b *bed) end(points ...string) *sweeps.State {
	b.t.Helper()
	ctx, cancel := context.WithTimeout(b.t.Context(), time.Minute)
	defer cancel()
	if err := End(ctx, b.runs, b.sweep, points, byAda); err != nil {
		b.t.Fatal(err)
	}
	return b.state()
}

// cancelled checks that a point's run was ended by somebody.
func (b *bed) cancelled(p *sweeps.PointState) {
	b.t.Helper()
	in, err := b.runs.Load(p.Run())
	if err != nil || in.State != runner.Cancelled || in.Cause != byAda || in.Fault != runner.UserFault || p.Status != sweeps.Cancelled || p.Cause != byAda {
		b.t.Errorf("point %s is %s (%s), its run %s (%s): %v", p.Label, p.Status, p.Cause, in.State, in.Cause, err)
	}
}

// TestEnd: what runs is cancelled, what waits is skipped, and its program leaves.
func TestEnd(t *testing.T) {
	b := points(t, 5, func(o *sweeps.Options) { o.AtOnce = 2 })
	b.fakes("* long")
	wait := b.begin(t.Context())
	b.eventually("two runs", running(2))
	b.training("1")
	st := b.end()
	if st.Phase != sweeps.PhaseFinished || st.Count(sweeps.Cancelled) != 2 || st.Count(sweeps.Skipped) != 3 {
		t.Errorf("%s: %d cancelled, %d skipped", st.Phase, st.Count(sweeps.Cancelled), st.Count(sweeps.Skipped))
	}
	b.cancelled(seed(st, 1))
	b.cancelled(seed(st, 2))
	if err := wait(); err != nil {
		t.Error(err)
	}
	b.end() // there is nothing left to do
}

// TestEndPoints: the others go on.
func TestEndPoints(t *testing.T) {
	b := points(t, 4, nil)
	b.fakes("1 long", "3 long")
	wait := b.begin(t.Context())
	st := b.eventually("a run", running(1))
	st = b.end(seed(st, 1).ID, seed(st, 2).ID, "no point")
	b.cancelled(seed(st, 1))
	if s := seed(st, 2).Status; s != sweeps.Skipped {
		t.Errorf("the one that waited is %s", s)
	}
	st = b.eventually("the third", func(st *sweeps.State) bool { return seed(st, 3).Run() != "" })
	st = b.end(seed(st, 3).ID, seed(st, 1).ID)
	b.cancelled(seed(st, 3))
	if err := wait(); err != nil {
		t.Error(err)
	}
	if st := b.state(); seed(st, 4).Status != sweeps.Finished {
		t.Errorf("the last is %s", seed(st, 4).Status)
	}
}

// TestEndAlone: where nobody looks after the sweep, the end is written down all the same, and the rest stays as it is.
func TestEndAlone(t *testing.T) {
	b := points(t, 4, func(o *sweeps.Options) { o.AtOnce = 2 })
	b.fakes("* long")
	cmd := b.engine("engine")
	b.eventually("two runs", running(2))
	b.training("1")
	b.training("2")
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	st := b.eventually("its death", func(st *sweeps.State) bool { return !st.Held })
	st = b.end(seed(st, 1).ID)
	b.cancelled(seed(st, 1))
	if st.Phase != sweeps.PhaseInterrupted || st.Held || seed(st, 2).Status != sweeps.Running || st.Count(sweeps.Queued) != 2 {
		t.Errorf("%s, held %v, the second is %s, %d queued", st.Phase, st.Held, seed(st, 2).Status, st.Count(sweeps.Queued))
	}
	st = b.end()
	b.cancelled(seed(st, 2))
	if st.Phase != sweeps.PhaseFinished || st.Count(sweeps.Skipped) != 2 {
		t.Errorf("%s, %d skipped", st.Phase, st.Count(sweeps.Skipped))
	}
}

// TestEndOfNoRun: an attempt that began and came to no run goes back to the queue, and is skipped there.
func TestEndOfNoRun(t *testing.T) {
	b := points(t, 2, nil)
	hold, err := b.sweep.Hold(t.Context())
	if err == nil {
		err = errors.Join(hold.Begin(b.state().Queue[0].ID, 1), hold.Release())
	}
	if err != nil {
		t.Fatal(err)
	}
	if st := b.end(); st.Phase != sweeps.PhaseFinished || st.Count(sweeps.Skipped) != 2 || st.Held {
		t.Errorf("%s: %d skipped", st.Phase, st.Count(sweeps.Skipped))
	}
}

// TestEndWhileItMoves: however quickly points begin, none does once End is back.
func TestEndWhileItMoves(t *testing.T) {
	b := points(t, 60, func(o *sweeps.Options) { o.AtOnce = 3 })
	wait := b.begin(t.Context())
	b.eventually("an end", func(st *sweeps.State) bool { return st.Count(sweeps.Finished) > 0 })
	st := b.end()
	if st.Phase != sweeps.PhaseFinished || st.Count(sweeps.Skipped) == 0 || st.Count(sweeps.Failed) > 0 {
		t.Errorf("%s: %d skipped, %d failed", st.Phase, st.Count(sweeps.Skipped), st.Count(sweeps.Failed))
	}
	begins, _ := b.ran()
	if err := wait(); err != nil {
		t.Error(err)
	}
	if later, _ := b.ran(); len(later) != len(begins) {
		t.Errorf("%d runs became %d", len(begins), len(later))
	}
}

// TestEndOfNoAnswer: a program that does not answer is waited for as long as the context says.
func TestEndOfNoAnswer(t *testing.T) {
	b := points(t, 2, nil)
	b.fakes("* long")
	cmd := b.engine("engine")
	st := b.eventually("a run", running(1))
	b.training("1")
	if err := cmd.Process.Signal(syscall.SIGSTOP); err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 3*time.Second)
	defer cancel()
	err := End(ctx, b.runs, b.sweep, []string{seed(st, 1).ID}, byAda)
	if !errors.Is(err, context.DeadlineExceeded) || !strings.Contains(err.Error(), b.sweep.ID) {
		t.Error(err)
	}
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	b.eventually("its death", func(st *sweeps.State) bool { return !st.Held })
	b.cancelled(seed(b.end(), 1))
}
