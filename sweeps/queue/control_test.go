package queue

import (
	"context"
	"errors"
	"os"
	"strings"
	"syscall"
	"testing"
	"time"

	"boost-tui/experiment"
	"boost-tui/runner"
	"boost-tui/sweeps"
)

// TestPause: the run that goes on comes to its end, and no other starts; with now it is ended and runs again.
func TestPause(t *testing.T) {
	t.Run("in the middle of a run", func(t *testing.T) {
		b := points(t, 3, nil)
		b.fakes("1 long")
		wait := b.begin(t.Context())
		run := seed(b.eventually("a run", running(1)), 1).Run()
		if err := b.sweep.Pause("ada", false); err != nil {
			t.Fatal(err)
		}
		time.Sleep(2 * lookEvery)
		st := b.state()
		if st.Phase != sweeps.PhasePaused || !st.Held || st.Count(sweeps.Running) != 1 {
			t.Fatalf("%s, held %v, %d running", st.Phase, st.Held, st.Count(sweeps.Running))
		}
		if _, err := runner.Cancel(t.Context(), b.runs, run, "by ada"); err != nil {
			t.Fatal(err)
		}
		if err := wait(); err != nil {
			t.Fatal(err)
		}
		if st = b.run(); st.Count(sweeps.Queued) != 2 || st.Held { // paused: it starts nothing
			t.Fatalf("%d queued", st.Count(sweeps.Queued))
		}
		if err := b.sweep.Resume("ada"); err != nil {
			t.Fatal(err)
		}
		if st = b.run(); st.Count(sweeps.Finished) != 2 || st.Phase != sweeps.PhaseFinished {
			t.Errorf("%d finished", st.Count(sweeps.Finished))
		}
	})
	t.Run("now", func(t *testing.T) {
		b := points(t, 3, nil)
		b.fakes("1 long-once")
		wait := b.begin(t.Context())
		b.eventually("a run", running(1))
		if err := b.sweep.Pause("ada", true); err != nil {
			t.Fatal(err)
		}
		if err := wait(); err != nil {
			t.Fatal(err)
		}
		st := b.state()
		if a := seed(st, 1).Attempts[0]; !a.Again || a.Cause != pausedReason || st.Count(sweeps.Queued) != 3 || st.Failures != 0 {
			t.Fatalf("%+v, %d queued, %d failures", a, st.Count(sweeps.Queued), st.Failures)
		}
		if err := b.sweep.Resume("ada"); err != nil {
			t.Fatal(err)
		}
		if st = b.run(); st.Count(sweeps.Finished) != 3 || len(seed(st, 1).Attempts) != 2 {
			t.Errorf("%d finished, %+v", st.Count(sweeps.Finished), seed(st, 1).Attempts)
		}
	})
	t.Run("resumed before the run ends", func(t *testing.T) {
		b := points(t, 3, nil)
		b.fakes("1 long")
		wait := b.begin(t.Context())
		run := seed(b.eventually("a run", running(1)), 1).Run()
		if err := errors.Join(b.sweep.Pause("ada", false), b.sweep.Resume("ada")); err != nil {
			t.Fatal(err)
		}
		if _, err := runner.Cancel(t.Context(), b.runs, run, "by ada"); err != nil {
			t.Fatal(err)
		}
		if err := wait(); err != nil {
			t.Fatal(err)
		}
		if st := b.state(); st.Count(sweeps.Finished) != 2 {
			t.Errorf("%s: %d finished", st.Phase, st.Count(sweeps.Finished))
		}
	})
}

// TestOrders: what runs next is asked anew each time.
func TestReorderSkipGrow(t *testing.T) {
	b := points(t, 5, nil)
	b.fakes("1 long")
	wait := b.begin(t.Context())
	st := b.eventually("a run", running(1))
	b.training("1")
	file, x := b.space(4, 7)
	err := errors.Join(b.sweep.Reorder([]string{seed(st, 5).ID, seed(st, 3).ID}), b.sweep.Skip([]string{seed(st, 2).ID}), b.sweep.Grow(file, x))
	if err != nil {
		t.Fatal(err)
	}
	if _, err := runner.Cancel(t.Context(), b.runs, seed(st, 1).Run(), "by ada"); err != nil {
		t.Fatal(err)
	}
	if err := wait(); err != nil {
		t.Fatal(err)
	}
	st = b.state()
	data, _ := os.ReadFile(b.runs.Root + "/ran.log")
	var order []string
	for line := range strings.Lines(string(data)) {
		if f := strings.Fields(line); f[0] == "begin" {
			order = append(order, f[1])
		}
	}
	if got := strings.Join(order, " "); got != "1 5 3 4 6 7" {
		t.Errorf("ran %s", got)
	}
	if p := seed(st, 2); p.Status != sweeps.Skipped || st.Phase != sweeps.PhaseFinished || len(st.Points) != 7 {
		t.Errorf("%s, %s, %d points", p.Status, st.Phase, len(st.Points))
	}
	// A cancelled point and a skipped one can be had again, by whoever looks after the sweep next.
	if err := b.sweep.Retry([]string{seed(st, 1).ID, seed(st, 2).ID}); err != nil {
		t.Fatal(err)
	}
	b.fakes()
	if st = b.run(); st.Count(sweeps.Finished) != 7 {
		t.Errorf("%d finished", st.Count(sweeps.Finished))
	}
}

// TestGrownAsItEnds: a sweep that grows in the moment in which its engine leaves is not left alone.
func TestGrownAsItEnds(t *testing.T) {
	b := points(t, 1, nil)
	file, x := b.space(1, 3)
	b.o.Notify = func(v Event) {
		if v.Kind == Ended && v.Point == x.Points[0].ID {
			go func() {
				time.Sleep(2 * time.Millisecond)
				if err := b.sweep.Grow(file, x); err != nil {
					t.Error(err)
				}
			}()
		}
	}
	for range 10 { // it may come too late
		b.run()
		if len(b.state().Points) == 3 {
			break
		}
		time.Sleep(10 * time.Millisecond)
	}
	b.run()
	b.once(3)
}

func TestLimits(t *testing.T) {
	for name, c := range map[string]struct {
		change func(*sweeps.Options)
		fakes  string
		cause  string
		over   int // points, when it stops
	}{
		"failures in a row": {func(o *sweeps.Options) { o.MaxFailures = 2 }, "* data", "2 failures in a row (max-failures 2)", 2},
		"device hours":      {func(o *sweeps.Options) { o.MaxDeviceHours = 1e-9 }, "", "device hours (max-device-hours 1e-09)", 1},
		"time":              {func(o *sweeps.Options) { o.MaxTime = time.Nanosecond }, "", "it was worked on for", 0},
	} {
		t.Run(name, func(t *testing.T) {
			b := points(t, 6, c.change)
			b.fakes(c.fakes)
			st := b.run()
			if over := len(st.Points) - st.Count(sweeps.Queued); st.Phase != sweeps.PhaseStopped || !strings.Contains(st.Cause, c.cause) || over != c.over {
				t.Fatalf("%s: %s, %d over", st.Phase, st.Cause, over)
			}
			if st = b.run(); st.Phase != sweeps.PhaseStopped { // it stays so
				t.Fatalf("%s: %s", st.Phase, st.Cause)
			}
			b.fakes()
			o := st.Options
			o.MaxFailures, o.MaxDeviceHours, o.MaxTime = 0, 0, 0
			if err := errors.Join(b.sweep.SetOptions(o), b.sweep.Resume("ada")); err != nil {
				t.Fatal(err)
			}
			if st = b.run(); st.Phase != sweeps.PhaseFinished {
				t.Errorf("%s: %s", st.Phase, st.Cause)
			}
		})
	}
}

// TestAtOnce: as many as are wanted and as fit the memory.
func TestAtOnce(t *testing.T) {
	b := points(t, 6, func(o *sweeps.Options) { o.AtOnce = 3 })
	b.fakes("* long")
	ctx, cancel := context.WithCancel(t.Context())
	wait := b.begin(ctx)
	b.eventually("three runs", running(3))
	time.Sleep(2 * lookEvery)
	if st := b.state(); !running(3)(st) {
		t.Errorf("%d running", st.Count(sweeps.Running))
	}
	cancel()
	if err := wait(); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
	if st := b.state(); st.Count(sweeps.Queued) != 6 || st.Failures != 0 {
		t.Errorf("%d queued after the interrupt", st.Count(sweeps.Queued))
	}
}

func TestMemory(t *testing.T) {
	b := points(t, 4, func(o *sweeps.Options) { o.AtOnce = 4 })
	b.fakes("1 long", "2 long")
	half := availableBytes(t) * 40 / 100
	b.o.Prepare = func(e experiment.Experiment) (experiment.Experiment, runner.LaunchOptions, error) {
		return e, runner.LaunchOptions{Predicted: &runner.Predicted{MemBytes: half}}, nil
	}
	wait := b.begin(t.Context())
	st := b.eventually("two runs", running(2))
	time.Sleep(2 * lookEvery)
	if st := b.state(); !running(2)(st) {
		t.Fatalf("%d running: a third has no memory", st.Count(sweeps.Running))
	}
	for n := 1; n <= 2; n++ {
		if _, err := runner.Cancel(t.Context(), b.runs, seed(st, n).Run(), "by ada"); err != nil {
			t.Fatal(err)
		}
	}
	if err := wait(); err != nil {
		t.Fatal(err)
	}
	if st = b.state(); st.Count(sweeps.Finished) != 2 {
		t.Errorf("%d finished", st.Count(sweeps.Finished))
	}
}

func TestStoppingRules(t *testing.T) {
	t.Run("diverged", func(t *testing.T) {
		b := points(t, 2, nil)
		b.fakes("1 long-diverge", "2 ok")
		wait := b.begin(t.Context())
		if err := wait(); err != nil {
			t.Fatal(err)
		}
		st := b.state()
		if p := seed(st, 1); p.Status != sweeps.Stopped || p.Attempts[0].Rule != ruleDiverged || !strings.Contains(p.Cause, "the mean of its last 10 losses") {
			t.Errorf("%+v", p)
		}
		if seed(st, 2).Status != sweeps.Finished || st.Failures != 0 {
			t.Errorf("%d failures", st.Failures)
		}
	})
	t.Run("not asked for", func(t *testing.T) {
		b := points(t, 1, func(o *sweeps.Options) { o.StopDiverged = false })
		b.fakes("1 nan")
		if st := b.run(); seed(st, 1).Status != sweeps.Failed {
			t.Errorf("%+v", seed(st, 1))
		}
	})
	t.Run("slower", func(t *testing.T) {
		b := pointsOf(t, t.TempDir(), 60, 4, func(o *sweeps.Options) { o.StopSlower = true })
		b.o.others = func(string) (float64, bool) { return 0.05, true }
		b.fakes("1 paced 4 60", "2 paced 14 forever", "3 paced 4 60", "4 paced 3 60") // none of them takes seconds
		st := b.run()
		for n, want := range map[int]sweeps.Status{1: sweeps.Finished, 2: sweeps.Stopped, 3: sweeps.Finished, 4: sweeps.Finished} {
			if p := seed(st, n); p.Status != want {
				t.Errorf("seed %d is %s: %s", n, p.Status, p.Cause)
			}
		}
		if p := seed(st, 2); p.Attempts[0].Rule != ruleSlower || !strings.Contains(p.Cause, "its time per token is 2.") {
			t.Errorf("%+v", p.Attempts)
		}
	})
}

// TestDeleted: a run, or the sweep, goes away.
func TestDeleted(t *testing.T) {
	t.Run("run", func(t *testing.T) {
		b := points(t, 2, nil)
		b.fakes("1 long")
		wait := b.begin(t.Context())
		run := seed(b.eventually("a run", running(1)), 1).Run()
		remove(t, b.runs.Dir(run))
		if err := wait(); err != nil {
			t.Fatal(err)
		}
		st := b.state()
		if p := seed(st, 1); p.Status != sweeps.Cancelled || !strings.Contains(p.Cause, "deleted") || seed(st, 2).Status != sweeps.Finished {
			t.Errorf("%+v", p)
		}
	})
	t.Run("run of a killed engine", func(t *testing.T) {
		b := points(t, 2, nil)
		b.fakes("1 long")
		cmd := b.engine("engine")
		run := seed(b.eventually("a run", running(1)), 1).Run()
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
		remove(t, b.runs.Dir(run))
		st := b.run()
		if p := seed(st, 1); p.Status != sweeps.Cancelled || !strings.Contains(p.Cause, "deleted") || seed(st, 2).Status != sweeps.Finished {
			t.Errorf("%+v", p)
		}
	})
	t.Run("sweep", func(t *testing.T) {
		b := points(t, 2, nil)
		b.fakes("1 long")
		wait := b.begin(t.Context())
		run := seed(b.eventually("a run", running(1)), 1).Run()
		remove(t, b.sweep.Dir)
		if err := wait(); !errors.Is(err, sweeps.ErrDeleted) {
			t.Error(err)
		}
		if in, err := b.runs.Load(run); err != nil || in.State != runner.Cancelled || in.Cause != deletedReason {
			t.Errorf("%s: %s, %v", in.State, in.Cause, err)
		}
	})
}

func remove(t *testing.T, dir string) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); ; {
		err := os.RemoveAll(dir)
		if err == nil {
			return
		}
		if time.Now().After(end) {
			t.Fatal(err)
		}
	}
}

// TestSignals: in front the runs end with the engine and run again; a detached one leaves them to go on.
func TestSignals(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGINT, syscall.SIGTERM} {
		t.Run("in front, "+sig.String(), func(t *testing.T) {
			b := points(t, 2, nil)
			b.fakes("1 long-once")
			cmd := b.engine("engine")
			run := seed(b.eventually("a run", running(1)), 1).Run()
			if err := cmd.Process.Signal(sig); err != nil {
				t.Fatal(err)
			}
			_ = cmd.Wait()
			if in, err := b.runs.Load(run); err != nil || in.State != runner.Cancelled {
				t.Errorf("%s: %s, %v", in.State, in.Cause, err)
			}
			if st := b.state(); st.Count(sweeps.Queued) != 2 || st.Held || st.Phase != sweeps.PhaseInterrupted {
				t.Errorf("%s: %d queued", st.Phase, st.Count(sweeps.Queued))
			}
			if st := b.run(); st.Count(sweeps.Finished) != 2 {
				t.Errorf("%d finished", st.Count(sweeps.Finished))
			}
		})
	}
	t.Run("detached", func(t *testing.T) {
		b := points(t, 2, nil)
		b.fakes("1 long")
		self, _ := os.Executable()
		if err := Spawn(t.Context(), b.sweep, self); err != nil {
			t.Fatal(err)
		}
		st := b.eventually("a run", running(1))
		var held sweeps.ErrHeld
		if err := Spawn(t.Context(), b.sweep, self); !errors.As(err, &held) || held.PID != st.Holder.PID {
			t.Errorf("a second one: %v", err)
		}
		watched := make(chan error, 1)
		states := 0
		go func() { watched <- Watch(t.Context(), b.sweep, func(*sweeps.State) { states++ }) }()
		time.Sleep(2 * watchEvery)
		if err := syscall.Kill(st.Holder.PID, syscall.SIGTERM); err != nil {
			t.Fatal(err)
		}
		if err := <-watched; !errors.Is(err, ErrAlone) || states == 0 {
			t.Errorf("%v after %d states", err, states)
		}
		run := seed(st, 1).Run()
		if in, err := b.runs.Load(run); err != nil || in.State != runner.Running {
			t.Errorf("%s: %s, %v", in.State, in.Cause, err)
		}
		wait := b.begin(t.Context())
		b.eventually("the adoption", func(st *sweeps.State) bool { return seed(st, 1).Attempts[0].Adopted })
		if _, err := runner.Cancel(t.Context(), b.runs, run, "by ada"); err != nil {
			t.Fatal(err)
		}
		if err := wait(); err != nil {
			t.Fatal(err)
		}
		if err := Watch(t.Context(), b.sweep, nil); err != nil {
			t.Errorf("a finished sweep: %v", err)
		}
	})
}

// TestSpawnFails: what the program said comes back.
func TestSpawnFails(t *testing.T) {
	b := points(t, 1, nil)
	bad := t.TempDir() + "/sweeper"
	if err := os.WriteFile(bad, []byte("#!/bin/sh\necho >&2 \"boost-tui: no luck: $3\"\nexit 3\n"), 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Spawn(t.Context(), b.sweep, bad); err == nil || err.Error() != "no luck: "+b.sweep.Dir {
		t.Errorf("%v", err)
	}
	if err := Spawn(t.Context(), b.sweep, bad+"-not"); err == nil || !strings.Contains(err.Error(), "no such file") {
		t.Errorf("%v", err)
	}
}

// TestReplacedProgram: when the file of the program is replaced, no further run is started: it would be of another one.
func TestReplacedProgram(t *testing.T) {
	b := points(t, 3, nil)
	b.fakes("1 long")
	self, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	data, err := os.ReadFile(self)
	if err != nil {
		t.Fatal(err)
	}
	own := t.TempDir() + "/program"
	if err := os.WriteFile(own, data, 0o700); err != nil {
		t.Fatal(err)
	}
	if err := Spawn(t.Context(), b.sweep, own); err != nil {
		t.Fatal(err)
	}
	run := seed(b.eventually("a run", running(1)), 1).Run()
	if err := errors.Join(os.WriteFile(own+".new", data, 0o700), os.Rename(own+".new", own)); err != nil {
		t.Fatal(err)
	}
	if _, err := runner.Cancel(t.Context(), b.runs, run, "by ada"); err != nil {
		t.Fatal(err)
	}
	if err := Watch(t.Context(), b.sweep, nil); err != nil {
		t.Fatal(err)
	}
	if st := b.state(); st.Phase != sweeps.PhaseStopped || !strings.Contains(st.Cause, "was replaced") || st.Count(sweeps.Queued) != 2 {
		t.Errorf("%s: %s, %d queued", st.Phase, st.Cause, st.Count(sweeps.Queued))
	}
}
