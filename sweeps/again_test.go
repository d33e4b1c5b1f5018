package sweeps

import (
	"strings"
	"testing"
	"time"

	"boost-tui/runner"
)

// worked works every point of a sweep that is queued off, each attempt ending as its point's place in ends says.
func worked(t *testing.T, s *Sweep, ends ...runner.State) {
	t.Helper()
	h := hold(t, s)
	for _, p := range load(t, s).Queue {
		n := len(p.Attempts) + 1
		must(t, h.Begin(p.ID, n))
		end := runner.Finished
		if i := int(p.ID[len(p.ID)-1] - '0'); i < len(ends) {
			end = ends[i]
		}
		must(t, h.End(p.ID, Attempt{N: n, Run: "run-" + p.ID + string(rune('0'+n)), State: string(end), Cause: "why", Seconds: 1}))
	}
	must(t, h.Release())
}

// TestNewWork: what waits after all was over is no broken sweep.
func TestNewWork(t *testing.T) {
	s := create(t, 3)
	is := func(phase Phase, cause, goOn string) {
		t.Helper()
		st := load(t, s)
		if st.Phase != phase || !strings.Contains(st.Cause, cause) || (cause == "") != (st.Cause == "") || !strings.Contains(st.GoOn(), goOn) || (goOn == "") != (st.GoOn() == "") {
			t.Errorf("%s: %q, %q", st.Phase, st.Cause, st.GoOn())
		}
		infos, errs := (&Folder{Root: strings.TrimSuffix(s.Dir, "/"+s.ID)}).List(t.Context())
		if len(errs) > 0 || len(infos) != 1 || infos[0].Phase != st.Phase || infos[0].Cause != st.Cause || infos[0].GoOn() != st.GoOn() {
			t.Errorf("listed as %+v, %v", infos, errs)
		}
		if waits := phase == PhaseWaiting || phase == PhaseInterrupted; st.Phase.Alone() != waits {
			t.Errorf("%s, alone: %v", st.Phase, st.Phase.Alone())
		}
	}
	resume := "boost-tui sweep resume " + s.ID
	is(PhaseWaiting, "nobody has started it", resume+" runs what waits")
	worked(t, s, runner.Failed)
	is(PhaseFinished, "", "")
	must(t, s.Retry([]string{"a0000000"}))
	is(PhaseWaiting, "1 point waits since points were queued again", resume)
	must(t, s.Grow(file("x"), expansion(3, "b")))
	is(PhaseWaiting, "4 points wait since it was grown and points were queued again", resume)
	must(t, s.Skip([]string{"a0000000", "b0000000", "b0000001", "b0000002"}))
	is(PhaseFinished, "", "")
	must(t, s.Retry([]string{"b0000000", "b0000001"}))
	is(PhaseWaiting, "2 points wait since points were queued again", resume)
	must(t, s.Pause("ada", false))
	is(PhasePaused, "paused by ada", resume+" goes on")
	must(t, s.Resume("ada"))
	is(PhaseWaiting, "2 points wait", resume)

	// Grown while its holder is about to leave: nobody has begun what is new, which is not the holder's fault.
	h := hold(t, s)
	for _, id := range []string{"b0000000", "b0000001"} {
		must(t, h.Begin(id, 1))
		must(t, h.End(id, Attempt{N: 1, State: string(runner.Finished)}))
	}
	must(t, s.Grow(file("x"), expansion(2, "c")))
	is(PhaseRunning, "looks after it", "")
	must(t, h.Release())
	is(PhaseWaiting, "2 points wait since it was grown", resume)

	// A holder that begins and leaves before the end interrupts it.
	h = hold(t, s)
	must(t, h.Begin("c0000000", 1))
	must(t, h.End("c0000000", Attempt{N: 1, State: string(runner.Cancelled), Again: true}))
	must(t, h.Release())
	is(PhaseInterrupted, "has left", resume+" goes on")
	h = hold(t, s)
	must(t, h.Stop("5 failures in a row (max-failures 5)"))
	must(t, h.Release())
	is(PhaseStopped, "5 failures", "with a higher limit")
}

// TestRetryAgain: a point that finished runs again only where somebody says so, and then its new attempt counts.
func TestRetryAgain(t *testing.T) {
	s := create(t, 3)
	const first, second, third = "a0000000", "a0000001", "a0000002"
	worked(t, s, runner.Finished, runner.Finished, runner.Failed)
	if err := s.Retry([]string{first}); err == nil || !strings.Contains(err.Error(), "--again") {
		t.Error(err)
	}
	must(t, s.RetryAgain([]string{first, second, third}))
	st := load(t, s)
	if st.Phase != PhaseWaiting || len(st.Queue) != 3 || !st.Point(first).Attempts[0].Replaced || st.Point(third).Attempts[0].Replaced {
		t.Fatalf("%s: %d queued, %+v", st.Phase, len(st.Queue), st.Point(first).Attempts)
	}
	// Taken back before anything ran, what it did counts as before.
	must(t, s.Skip([]string{second, third}))
	st = load(t, s)
	if p := st.Point(second); p.Status != Finished || p.Attempts[0].Replaced || p.Cause != "" || p.Run() != "run-a00000011" {
		t.Errorf("%+v", p)
	}
	if p := st.Point(third); p.Status != Skipped {
		t.Errorf("%+v", p)
	}
	hours, paces := st.DeviceHours, len(st.Pace)
	worked(t, s)
	st = load(t, s)
	p := st.Point(first)
	if p.Status != Finished || len(p.Attempts) != 2 || !p.Attempts[0].Replaced || p.Attempts[1].Replaced || p.Run() != "run-a00000002" {
		t.Errorf("%+v", p)
	}
	if st.Phase != PhaseFinished || st.DeviceHours <= hours || len(st.Pace) != paces+1 {
		t.Errorf("%s, %g device hours, %d paces", st.Phase, st.DeviceHours, len(st.Pace))
	}
	// The new attempt counts although it failed; the work that was done is not hidden.
	must(t, s.RetryAgain([]string{first}))
	worked(t, s, runner.Failed)
	if p = load(t, s).Point(first); p.Status != Failed || len(p.Attempts) != 3 || !p.Attempts[1].Replaced {
		t.Errorf("%+v", p)
	}
}

// TestNeverLivedToWrite: holder.json names a program of which the journal knows nothing.
func TestNeverLivedToWrite(t *testing.T) {
	s := create(t, 1)
	worked(t, s)
	must(t, s.RetryAgain([]string{"a0000000"}))
	dead := self(t)
	dead.StartTicks++
	writeHolder(t, s, dead, time.Hour)
	if st := load(t, s); st.Phase != PhaseInterrupted || !strings.Contains(st.Cause, "was to look after it, is gone") {
		t.Errorf("%s: %s", st.Phase, st.Cause)
	}
}
