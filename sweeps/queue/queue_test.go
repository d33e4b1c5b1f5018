package queue

import (
	"context"
	"errors"
	"runtime"
	"strings"
	"testing"
	"time"

	"boost-tui/experiment"
	"boost-tui/runner"
	"boost-tui/sweeps"
)

func TestRunsAll(t *testing.T) {
	b := points(t, 5, nil)
	var kinds []string
	b.o.Notify = func(v Event) { kinds = append(kinds, string(v.Kind)) }
	b.run()
	st := b.once(5)
	if st.Held || st.DeviceHours <= 0 || st.Worked <= 0 || len(st.Pace) != 5 {
		t.Errorf("held %v, %v device hours, worked %v, %d paces", st.Held, st.DeviceHours, st.Worked, len(st.Pace))
	}
	if got := strings.Join(kinds, " "); got != strings.TrimSpace(strings.Repeat("started ended ", 5)) {
		t.Errorf("told: %s", got)
	}
	b.run() // there is nothing left to do
	b.once(5)
}

// TestEnds is how runs end, and what becomes of their points.
func TestEnds(t *testing.T) {
	b := points(t, 7, func(o *sweeps.Options) { o.Retries = 2; o.MaxFailures = 0 })
	b.fakes("1 ok", "2 data", "3 die-once", "4 die", "5 nan", "6 ok", "7 die-once")
	st := b.run()
	for n, want := range map[int]struct {
		status   sweeps.Status
		attempts int
	}{
		1: {sweeps.Finished, 1}, 2: {sweeps.Failed, 1}, 3: {sweeps.Finished, 2}, 4: {sweeps.Failed, 3}, 5: {sweeps.Stopped, 1}, 6: {sweeps.Finished, 1}, 7: {sweeps.Finished, 2},
	} {
		p := seed(st, n)
		if p.Status != want.status || len(p.Attempts) != want.attempts {
			t.Errorf("seed %d is %s (%s) after %d attempts: %+v", n, p.Status, p.Cause, len(p.Attempts), p.Attempts)
		}
	}
	if a := seed(st, 3).Attempts[0]; !a.Machine || a.State != string(runner.Failed) || !strings.Contains(a.Cause, "SIGKILL") {
		t.Errorf("%+v", a)
	}
	if a := seed(st, 5).Attempts[0]; a.Rule != ruleDiverged {
		t.Errorf("%+v", a)
	}
}

// TestPrepareFails: what cannot run fails, with the reason, and costs no run.
func TestPrepareFails(t *testing.T) {
	b := points(t, 3, nil)
	b.o.Prepare = func(e experiment.Experiment) (experiment.Experiment, runner.LaunchOptions, error) {
		if e.Train.Seed == 2 {
			return e, runner.LaunchOptions{}, errors.New("data: no such file")
		}
		return small(e)
	}
	st := b.run()
	if p := seed(st, 2); p.Status != sweeps.Failed || p.Run() != "" || p.Cause != "data: no such file" || st.Count(sweeps.Finished) != 2 {
		t.Errorf("%+v", p)
	}
}

// TestHeld: of two engines one works, and the other says who does.
func TestHeld(t *testing.T) {
	b := points(t, 2, nil)
	b.fakes("1 long")
	ctx, cancel := context.WithCancel(t.Context())
	wait := b.begin(ctx)
	b.eventually("a run", running(1))
	var held sweeps.ErrHeld
	if err := Run(t.Context(), b.sweep, b.o); !errors.As(err, &held) || held.PID == 0 {
		t.Errorf("%v", err)
	}
	cancel()
	if err := wait(); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// TestLeavesNoGoroutines, whatever way it ends.
func TestLeavesNoGoroutines(t *testing.T) {
	before := runtime.NumGoroutine()
	b := points(t, 4, func(o *sweeps.Options) { o.AtOnce = 2 })
	b.fakes("1 die-once", "2 long")
	ctx, cancel := context.WithCancel(t.Context())
	wait := b.begin(ctx)
	b.eventually("both", func(st *sweeps.State) bool { return st.Count(sweeps.Finished) == 3 && running(1)(st) })
	cancel()
	if err := wait(); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	b.fakes()
	b.run()
	for end := time.Now().Add(2 * time.Second); runtime.NumGoroutine() > before; time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			buf := make([]byte, 1<<16)
			t.Fatalf("%d goroutines, %d before:\n%s", runtime.NumGoroutine(), before, buf[:runtime.Stack(buf, true)])
		}
	}
}
