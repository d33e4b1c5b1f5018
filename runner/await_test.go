package runner

import (
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"

	"boost-tui/profiler/record"
	"boost-tui/runner/protocol"
)

// launchAfter starts a run that waits for another one of the store.
func launchAfter(t *testing.T, s *Store, mode, after string, detach bool) *Handle {
	t.Helper()
	h, err := Launch(t.Context(), s, testExperiment(mode, 2), LaunchOptions{Detach: detach, After: after})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { sweep(t, h.Dir) })
	return h
}

// waits checks that a run waits: an agent, no ranks, and a state that says for what.
func waits(t *testing.T, dir, after string) {
	t.Helper()
	in, err := Read(dir)
	if err != nil || in.Err != nil || in.State != Pending || in.Cause != "waits for "+after || in.Run.After != after {
		t.Fatalf("%s: %q after %q, %v, %v", in.State, in.Cause, in.Run.After, in.Err, err)
	}
	if agents, ranks := processes(dir, "agent"), processes(dir, "rank"); len(agents) != 1 || len(ranks) != 0 {
		t.Fatalf("agents %v, ranks %v", agents, ranks)
	}
}

// TestWaitsForAnother is a chain of three: each starts when the one before it is over.
func TestWaitsForAnother(t *testing.T) {
	t.Parallel()
	first := launch(t, "polite", 2, true)
	s := NewStore(filepath.Dir(first.Dir))
	second := launchAfter(t, s, "ok", first.Run.ID[len(first.Run.ID)-4:], true)
	third := launchAfter(t, s, "ok", second.Run.ID, true)
	atStep3(t, first.Dir, 2)
	waits(t, second.Dir, first.Run.ID)
	waits(t, third.Dir, second.Run.ID)
	if infos, errs := s.List(t.Context()); len(infos) != 3 || len(errs) != 0 || infos[0].State != Running && infos[1].State != Running && infos[2].State != Running {
		t.Errorf("%+v, %v", infos, errs)
	}
	if err := s.Remove(second.Run.ID); err == nil || !strings.Contains(err.Error(), "it is pending") {
		t.Errorf("removed while it waits: %v", err)
	}
	if _, err := Cancel(t.Context(), s, first.Run.ID, "enough"); err != nil {
		t.Fatal(err)
	}
	one := wait(t, first)
	for _, h := range []*Handle{second, third} {
		in := wait(t, h)
		if in.State != Finished || in.Cause != "" || len(in.Result.Ranks) != 2 {
			t.Fatalf("%s: %s, %+v", in.State, in.Cause, in.Result)
		}
		if began := in.Began(); began.Before(one.Ended) || began != in.Result.Started || one.Run.After == "" && one.Began() != one.Result.Started {
			t.Errorf("began %v, the run before it ended %v", began, one.Ended)
		}
		if _, err := os.Stat(filepath.Join(h.Dir, protocol.WaitingFile)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is left: %v", protocol.WaitingFile, err)
		}
		if events, err := os.ReadFile(record.EventsPath(h.Dir)); err != nil || !strings.Contains(string(events), "waits for "+in.Run.After) {
			t.Errorf("events %s, %v", events, err)
		}
		one = in
	}
}

// TestEveryEndCounts: a run starts whatever became of the one before it.
func TestEveryEndCounts(t *testing.T) {
	result := func(s State) func(*testing.T, string) {
		return func(t *testing.T, dir string) {
			if err := writeResult(dir, Result{State: s, Ended: time.Now()}); err != nil {
				t.Fatal(err)
			}
		}
	}
	for name, end := range map[string]func(*testing.T, string){
		"finished": result(Finished), "failed": result(Failed), "cancelled": result(Cancelled),
		"lost": func(t *testing.T, dir string) {
			gone := here()
			gone.PID, gone.StartTicks = os.Getpid(), 1 // not this process: that one started later
			data, err := json.Marshal(agentFile{Schema: Schema, Process: gone})
			if err != nil {
				t.Fatal(err)
			}
			put(t, filepath.Join(dir, protocol.AgentFile), string(data))
		},
		"deleted": func(t *testing.T, dir string) {
			if err := os.RemoveAll(dir); err != nil {
				t.Fatal(err)
			}
		},
	} {
		t.Run(name, func(t *testing.T) {
			t.Parallel()
			s := NewStore(t.TempDir())
			before, dir := create(t, s, "before")
			h := launchAfter(t, s, "ok", before.ID, true)
			waits(t, h.Dir, before.ID)
			end(t, dir)
			if in := wait(t, h); in.State != Finished {
				t.Errorf("%s: %s", in.State, in.Cause)
			}
		})
	}
	t.Run("over already", func(t *testing.T) {
		t.Parallel()
		s := NewStore(t.TempDir())
		before, dir := create(t, s, "before")
		finish(t, dir)
		if in := wait(t, launchAfter(t, s, "ok", before.ID, false)); in.State != Finished {
			t.Errorf("%s: %s", in.State, in.Cause)
		}
	})
}

// TestCancelWhileWaiting ends a waiting run on every way there is; the one before it never notices.
func TestCancelWhileWaiting(t *testing.T) {
	for name, c := range map[string]struct {
		end   func(*Store, *Handle) error
		cause string
	}{
		"cancel": {func(s *Store, h *Handle) error {
			in, err := Cancel(t.Context(), s, h.Run.ID, "by the user")
			if err == nil && in.State != Cancelled {
				err = errors.New("it is " + string(in.State))
			}
			return err
		}, "by the user"},
		"from afar": {func(_ *Store, h *Handle) error { return requestCancel(h.Dir, "from afar") }, "from afar"},
		"SIGTERM": {func(_ *Store, h *Handle) error {
			return syscall.Kill(processes(h.Dir, "agent")[0], syscall.SIGTERM)
		}, "its agent was told to end (SIGTERM)"},
	} {
		t.Run(name, func(t *testing.T) {
			s := NewStore(t.TempDir())
			before, dir := create(t, s, "before")
			h := launchAfter(t, s, "ok", before.ID, true)
			waits(t, h.Dir, before.ID)
			if err := c.end(s, h); err != nil {
				t.Fatal(err)
			}
			in := wait(t, h)
			if in.State != Cancelled || in.Cause != c.cause || len(in.Result.Ranks) != 0 {
				t.Errorf("%s: %s, %+v", in.State, in.Cause, in.Result)
			}
			if old, err := Read(dir); err != nil || old.State != Pending || old.Cause != "" {
				t.Errorf("the run before it is %s (%s), %v", old.State, old.Cause, err)
			}
			if err := s.Remove(h.Run.ID); err != nil {
				t.Error(err)
			}
		})
	}
}

// TestForegroundWhileWaiting: the program in front dies, or is interrupted.
func TestForegroundWhileWaiting(t *testing.T) {
	t.Parallel()
	s := NewStore(t.TempDir())
	before, _ := create(t, s, "before")
	dir, cmd := frontendAfter(t, s.Root, "ok", "foreground", before.ID)
	waits(t, dir, before.ID)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	gone(t, dir, 2*time.Second)
	if in, err := Read(dir); err != nil || in.State != Cancelled || in.Cause != launcherGone {
		t.Errorf("%s: %s, %v", in.State, in.Cause, err)
	}
}

// TestDetachedWhileWaiting: without its terminal a run still gets its turn.
func TestDetachedWhileWaiting(t *testing.T) {
	t.Parallel()
	s := NewStore(t.TempDir())
	before, first := create(t, s, "before")
	dir, cmd := frontendAfter(t, s.Root, "ok", "detach", before.ID)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	waits(t, dir, before.ID)
	finish(t, first)
	gone(t, dir, 5*time.Second)
	if in, err := Read(dir); err != nil || in.State != Finished {
		t.Errorf("%s: %s, %v", in.State, in.Cause, err)
	}
}

// TestJudgeWaiting: what readers here and on other machines make of a waiting run and of its agent's death.
func TestJudgeWaiting(t *testing.T) {
	t.Parallel()
	s := NewStore(t.TempDir())
	before, _ := create(t, s, "before")
	if r, dir, err := s.Create(testExperiment("x", 1), CreateOptions{After: before.ID}); err != nil || r.After != before.ID {
		t.Fatal(r.After, err)
	} else if in, err := Read(dir); err != nil || in.State != Pending || in.Cause != "waits for "+before.ID {
		t.Errorf("before its agent came it is %s: %s, %v", in.State, in.Cause, err)
	}
	dir, cmd := frontendAfter(t, s.Root, "ok", "detach", before.ID)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	far := Process{Host: "elsewhere"}
	first := heartbeat(t, dir)
	eventually(t, "the second heartbeat", func() bool { return heartbeat(t, dir).After(first) })
	if in := readInfo(dir, far, time.Now()); in.State != Pending || in.Cause != "waits for "+before.ID {
		t.Errorf("from another machine it is %s: %s", in.State, in.Cause)
	}
	kill(t, dir, "agent")
	gone(t, dir, time.Second)
	eventually(t, "the agent to be dead", func() bool { return readInfo(dir, here(), time.Now()).State == Lost })
	agedHeart(t, dir, time.Minute)
	for name, in := range map[string]Info{"here": readInfo(dir, here(), time.Now()), "elsewhere": readInfo(dir, far, time.Now())} {
		if in.State != Lost || !strings.Contains(in.Cause, "it waited for "+before.ID) {
			t.Errorf("%s it is %s: %s", name, in.State, in.Cause)
		}
	}
}

func heartbeat(t *testing.T, dir string) time.Time {
	t.Helper()
	st, err := os.Stat(filepath.Join(dir, protocol.HeartbeatFile))
	if err != nil {
		t.Fatal(err)
	}
	return st.ModTime()
}

// TestKilledAgentWhileWaiting: whoever launched writes the result, and waits for no rank that never was.
func TestKilledAgentWhileWaiting(t *testing.T) {
	t.Parallel()
	s := NewStore(t.TempDir())
	before, _ := create(t, s, "before")
	h := launchAfter(t, s, "ok", before.ID, true)
	start := time.Now()
	kill(t, h.Dir, "agent")
	if in := wait(t, h); in.State != Failed || !strings.Contains(in.Cause, "killed") || time.Since(start) >= lastWords {
		t.Errorf("%s after %v: %s", in.State, time.Since(start), in.Cause)
	}
}

// TestDeletedWhileWaiting: its directory goes; its agent does, too.
func TestDeletedWhileWaiting(t *testing.T) {
	t.Parallel()
	s := NewStore(t.TempDir())
	before, _ := create(t, s, "before")
	h := launchAfter(t, s, "ok", before.ID, true)
	eventually(t, "the directory to stay away", func() bool { return os.RemoveAll(h.Dir) == nil })
	gone(t, h.Dir, 5*time.Second)
	if _, err := os.Stat(h.Dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory came back: %v", err)
	}
}

// TestWaitsForNothing: what is no run cannot be waited for, and nothing is left of the attempt.
func TestWaitsForNothing(t *testing.T) {
	s := NewStore(t.TempDir())
	if err := os.Mkdir(s.Dir("norun"), 0o700); err != nil {
		t.Fatal(err)
	}
	for _, after := range []string{"nobody", "norun", "../x", "."} {
		_, err := Launch(t.Context(), s, testExperiment("ok", 1), LaunchOptions{After: after})
		if err == nil || !strings.Contains(err.Error(), "the run to wait for") {
			t.Errorf("after %q: %v", after, err)
		}
	}
	if names, err := filepath.Glob(filepath.Join(s.Root, "*")); err != nil || len(names) != 1 {
		t.Errorf("left: %v, %v", names, err)
	}
}

func TestParseAfter(t *testing.T) {
	r, _ := create(t, NewStore(t.TempDir()), "x")
	for after, ok := range map[string]bool{"": true, "another": true, r.ID: false, "..": false, "a/b": false, "a\x1b[31m": false} {
		r.After = after
		data, err := json.Marshal(r)
		if err != nil {
			t.Fatal(err)
		}
		got, err := ParseRun(data)
		if (err == nil) != ok || ok && got.After != after {
			t.Errorf("%q: %q, %v", after, got.After, err)
		}
	}
}
