package runner

import (
	"context"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"boost-tui/profiler/record"
)

// launchRestarting starts a run that the machine may fail so many times.
func launchRestarting(t *testing.T, mode string, restarts int, detach bool) *Handle {
	t.Helper()
	e := testExperiment(mode, 2)
	e.Where.MaxRestarts = restarts
	h, err := Launch(t.Context(), NewStore(t.TempDir()), e, LaunchOptions{Detach: detach})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sweep(t, filepath.Dir(h.Dir)) })
	return h
}

// chain are the runs of a store, each the successor of the one before.
func chain(t *testing.T, root string, n int) []Info {
	t.Helper()
	infos, errs := NewStore(root).List(t.Context())
	if len(errs) > 0 || len(infos) != n {
		t.Fatalf("%d runs, not %d: %v", len(infos), n, errs)
	}
	at := infos[0]
	for _, in := range infos {
		if in.Run.Restart == nil {
			at = in
		}
	}
	out := []Info{at}
	for len(out) < n {
		next, ok := successor(out[len(out)-1])
		if !ok {
			t.Fatalf("run %d of the chain has no successor: %+v", len(out), out[len(out)-1].Result)
		}
		out = append(out, next)
	}
	return out
}

func TestRestarts(t *testing.T) {
	for _, detach := range []bool{false, true} {
		h := launchRestarting(t, "mortal:1", 2, detach)
		root, first := filepath.Dir(h.Dir), h.Run.ID
		var told []string
		h.Restarted = func(was, next Info) { told = append(told, was.ID+">"+next.ID) }
		ctx, cancel := context.WithTimeout(t.Context(), 30*time.Second)
		defer cancel()
		last := int64(0)
		if err := h.Follow(ctx, func(l record.StepLine) { last = l.Step }); err != nil {
			t.Error(err)
		}
		in, err := h.Wait(ctx)
		gone(t, root, 5*time.Second)
		if err != nil || in.State != Finished || in.Run.restartNumber() != 2 || in.ID == first || last != 10 {
			t.Fatalf("%s: %s: %s after step %d, %v", in.ID, in.State, in.Cause, last, err)
		}
		runs := chain(t, root, 3)
		for i, r := range runs[:2] {
			if r.State != Failed || r.Fault != MachineFault || r.Result.RestartedAs != runs[i+1].ID {
				t.Errorf("%s: %s: %s", r.ID, r.State, r.Cause)
			}
		}
		if len(told) != 2 || told[1] != runs[1].ID+">"+runs[2].ID {
			t.Errorf("told %v", told)
		}
	}
}

func TestRestartsEnd(t *testing.T) {
	for mode, want := range map[string]struct {
		state State
		runs  int
	}{
		"mortal:0": {Failed, 2}, // one restart is one too few
		"crash:1":  {Failed, 1}, // its own fault
		"ok":       {Finished, 1},
	} {
		h := launchRestarting(t, mode, 1, false)
		root := filepath.Dir(h.Dir)
		in, err := h.Wait(t.Context())
		if err != nil || in.State != want.state || in.Result.RestartedAs != "" {
			t.Errorf("%s: %s: %s, %v", mode, in.State, in.Cause, err)
		}
		chain(t, root, want.runs)
		gone(t, root, 5*time.Second)
	}
}

// Whoever ends a run does not want another one.
func TestCancelledIsNotRestarted(t *testing.T) {
	h := launchRestarting(t, "polite", 3, false)
	atStep3(t, h.Dir, 2)
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	in, err := h.Wait(ctx)
	if err != nil || in.State != Cancelled || in.Cause != "interrupted" {
		t.Errorf("%s: %s, %v", in.State, in.Cause, err)
	}
	chain(t, filepath.Dir(h.Dir), 1)
	gone(t, h.Dir, 5*time.Second)

	h = launchRestarting(t, "polite", 3, true)
	atStep3(t, h.Dir, 2)
	if in, err = Cancel(t.Context(), NewStore(filepath.Dir(h.Dir)), h.Run.ID, "enough"); err != nil || in.State != Cancelled {
		t.Errorf("%s: %s, %v", in.State, in.Cause, err)
	}
	gone(t, h.Dir, 5*time.Second)
	chain(t, filepath.Dir(h.Dir), 1)
}

// The death of the process that stands over the agents ends a run in front, and a detached one goes on without.
func TestDeadConduct(t *testing.T) {
	for _, detach := range []bool{false, true} {
		h := launchRestarting(t, "long", 3, detach)
		atStep3(t, h.Dir, 2)
		for _, pid := range processes(h.Dir, "conduct") {
			if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
		}
		if detach {
			if in, err := NewStore(filepath.Dir(h.Dir)).Load(h.Run.ID); err != nil || in.State != Running {
				t.Errorf("%s: %s, %v", in.State, in.Cause, err)
			}
			if _, err := Cancel(t.Context(), NewStore(filepath.Dir(h.Dir)), h.Run.ID, "enough"); err != nil {
				t.Error(err)
			}
		}
		state, cause, fault := Failed, conductGone, MachineFault
		if detach {
			state, cause, fault = Cancelled, "enough", UserFault
		}
		in, err := h.Wait(t.Context())
		if err != nil || in.State != state || in.Cause != cause || in.Fault != fault {
			t.Errorf("%s: %s (%s), %v", in.State, in.Cause, in.Fault, err)
		}
		gone(t, h.Dir, 5*time.Second)
	}
}

// A sweep tries again by itself: a run of its own that restarted would be one that it does not know.
func TestSweepsDoNotRestart(t *testing.T) {
	e := testExperiment("ok", 2)
	e.Where.MaxRestarts = 1
	s := NewStore(t.TempDir())
	if _, err := Launch(t.Context(), s, e, LaunchOptions{Sweep: &SweepRef{ID: "s", Point: "p", Attempt: 1}}); err == nil || !strings.Contains(err.Error(), "max-restarts") {
		t.Error(err)
	}
}
