package runner

import (
	"context"
	"encoding/json"
	"errors"
	"io/fs"
	"os"
	"os/exec"
	"os/signal"
	"path/filepath"
	"strings"
	"sync"
	"syscall"
	"testing"
	"time"

	"boost-tui/profiler/record"
	"boost-tui/runner/protocol"
)

func TestFinished(t *testing.T) {
	h := launch(t, "ok", 2, false)
	in := wait(t, h)
	if in.State != Finished || in.Cause != "" || in.Err != nil || len(in.Result.Ranks) != 2 {
		t.Fatalf("%s: %s %v %+v", in.State, in.Cause, in.Err, in.Result)
	}
	for _, name := range []string{protocol.ReserveFile, protocol.CancelFile} {
		if _, err := os.Stat(filepath.Join(h.Dir, name)); !errors.Is(err, fs.ErrNotExist) {
			t.Errorf("%s is left: %v", name, err)
		}
	}
	if steps, err := record.ReadRollup(h.Dir, 0, 100); err != nil || len(steps) != 10 || steps[9].Ranks != 2 {
		t.Errorf("rollup holds %d steps, %v", len(steps), err)
	}
	health, err := os.ReadFile(record.HealthPath(h.Dir, here().Host))
	if err != nil || !strings.Contains(string(health), `"t":"host"`) || !strings.Contains(string(health), `"rank":1`) {
		t.Errorf("health %s, %v", health, err)
	}
	var sum struct {
		State    string  `json:"state"`
		Steps    int     `json:"steps"`
		LossLast float64 `json:"loss_last"`
	}
	if err := json.Unmarshal(in.Result.Summary, &sum); err != nil || sum.State != "finished" || sum.Steps != 10 || sum.LossLast != 0.5 {
		t.Errorf("summary %s, %v", in.Result.Summary, err)
	}
	private(t, h.Dir)
}

// private checks that nobody else may look into the run.
func private(t *testing.T, dir string) {
	t.Helper()
	st, err := os.Stat(dir)
	if err != nil || st.Mode().Perm() != protocol.DirMode {
		t.Errorf("%s: %v, %v", dir, st.Mode(), err)
	}
}

// TestFailures is the matrix of ranks that go wrong: the record says which, how and where.
func TestFailures(t *testing.T) {
	for _, c := range []struct {
		mode  string
		cause []string
		rank  int
		code  int
		sig   string
	}{
		{"crash:1", []string{"rank 1", "exit code 1", "boom", "step 3", "forward.l2.attn.core/qkv.B"}, 1, 1, ""},
		{"panic:0", []string{"rank 0", "exit code 2", "panic: lost its mind", "step 3"}, 0, 2, ""},
		{"record:1", []string{"rank 1: loss is not a number (step 3, head)"}, 1, 1, ""},
		{"early:0", []string{"rank 0", "before the run's last step, 10", "step 3"}, 0, 0, ""},
		{"spam", []string{"rank ", "exit code 1", "no newline"}, 0, 1, ""},
	} {
		t.Run(c.mode, func(t *testing.T) {
			t.Parallel()
			h := launch(t, c.mode, 2, false)
			start := time.Now()
			in := wait(t, h)
			t.Logf("%v: %s", time.Since(start).Round(time.Millisecond), in.Cause)
			if in.State != Failed {
				t.Fatalf("%s: %s", in.State, in.Cause)
			}
			for _, s := range c.cause {
				if !strings.Contains(in.Cause, s) {
					t.Errorf("cause %q lacks %q", in.Cause, s)
				}
			}
			e, err := protocol.ReadExit(h.Dir, c.rank)
			if err != nil || e.Code != c.code || e.Signal != c.sig || e.Secondary {
				t.Errorf("record %+v, %v", e, err)
			}
			for _, line := range e.LogTail {
				if strings.ContainsAny(line, "\x1b\x07\r") || len(line) > 3*maxLineRunes {
					t.Errorf("log tail holds %q", line)
				}
			}
		})
	}
}

// TestKilledRank kills a rank from outside while the others are deaf to everything but SIGKILL.
func TestKilledRank(t *testing.T) {
	for _, mode := range []string{"hang", "stubborn"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			h := launch(t, mode, 3, false)
			inCollective(t, h.Dir, 3)
			pids := processes(h.Dir, "rank")
			if len(pids) != 3 {
				t.Fatalf("ranks %v", pids)
			}
			start := time.Now()
			if err := syscall.Kill(pids[0], syscall.SIGKILL); err != nil {
				t.Fatal(err)
			}
			in := wait(t, h)
			t.Logf("killed to clean: %v: %s", time.Since(start).Round(time.Millisecond), in.Cause)
			if in.State != Failed || !strings.Contains(in.Cause, "was killed by SIGKILL") || !strings.Contains(in.Cause, "forward.l2.attn.in/qkv, waiting for the other ranks") {
				t.Fatalf("%s: %s", in.State, in.Cause)
			}
			if time.Since(start) > 5*time.Second {
				t.Errorf("took %v", time.Since(start))
			}
			exits, err := readExits(h.Dir)
			if err != nil || len(exits) != 3 {
				t.Errorf("%d records, %v", len(exits), err)
			}
		})
	}
}

// TestStoppedRank: a rank that is stopped (SIGSTOP) hears no SIGTERM.
func TestStoppedRank(t *testing.T) {
	t.Parallel()
	h := launch(t, "hang", 2, false)
	atStep3(t, h.Dir, 2)
	pids := processes(h.Dir, "rank")
	if err := errors.Join(syscall.Kill(pids[0], syscall.SIGSTOP), syscall.Kill(pids[1], syscall.SIGKILL)); err != nil {
		t.Fatal(err)
	}
	if in := wait(t, h); in.State != Failed {
		t.Fatalf("%s: %s", in.State, in.Cause)
	}
}

// TestKilledAgent: ranks notice and leave; whoever launched writes the result, else the records speak.
func TestKilledAgent(t *testing.T) {
	for _, detach := range []bool{false, true} {
		t.Run(map[bool]string{false: "foreground", true: "detached"}[detach], func(t *testing.T) {
			t.Parallel()
			h := launch(t, "hang", 2, detach)
			atStep3(t, h.Dir, 2)
			start := time.Now()
			kill(t, h.Dir, "agent")
			in := wait(t, h)
			t.Logf("killed to clean: %v: %s", time.Since(start).Round(time.Millisecond), in.Cause)
			if in.State != Failed || !strings.Contains(in.Cause, "killed") || !strings.Contains(in.Cause, "its agent died") {
				t.Fatalf("%s: %s", in.State, in.Cause)
			}
		})
	}
}

// TestKilledAgentAlone: nobody is left to write a result.
func TestKilledAgentAlone(t *testing.T) {
	t.Parallel()
	dir, cmd := frontend(t, "hang", "detach")
	atStep3(t, dir, 2)
	_ = cmd.Process.Kill()
	_ = cmd.Wait()
	if in, err := Read(dir); err != nil || in.State != Running {
		t.Fatalf("without its terminal the run is %s, %v", in.State, err)
	}
	kill(t, dir, "agent")
	t.Logf("clean after %v", gone(t, dir, 5*time.Second))
	reserve := filepath.Join(dir, protocol.ReserveFile)
	if _, err := os.Stat(reserve); err != nil {
		t.Error(err)
	}
	if _, errs := NewStore(filepath.Dir(dir)).List(t.Context()); len(errs) != 0 {
		t.Error(errs)
	}
	if _, err := os.Stat(reserve); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("room is kept for a run that is over: %v", err)
	}
	in, err := Read(dir)
	if err != nil || in.State != Failed || !strings.Contains(in.Cause, "is gone; rank") || !strings.Contains(in.Cause, "its agent died") {
		t.Fatalf("%s: %s, %v", in.State, in.Cause, err)
	}
}

// TestKilledForeground: the run dies with the program in front of it, even when that cannot say a word.
func TestKilledForeground(t *testing.T) {
	for _, sig := range []syscall.Signal{syscall.SIGKILL, syscall.SIGHUP} {
		t.Run(sig.String(), func(t *testing.T) {
			t.Parallel()
			dir, cmd := frontend(t, "polite", "foreground")
			atStep3(t, dir, 2)
			start := time.Now()
			_ = cmd.Process.Signal(sig)
			_ = cmd.Wait()
			gone(t, dir, 5*time.Second)
			t.Logf("killed to clean: %v", time.Since(start).Round(time.Millisecond))
			in, err := Read(dir)
			if err != nil || in.State != Cancelled || in.Cause != launcherGone {
				t.Fatalf("%s: %s, %v", in.State, in.Cause, err)
			}
		})
	}
}

// frontend starts a process that launches, as `boost-tui run` does.
func frontend(t *testing.T, mode, how string) (string, *exec.Cmd) {
	t.Helper()
	return frontendAfter(t, t.TempDir(), mode, how, "")
}

// frontendAfter is frontend of a run that waits for another one of the store.
func frontendAfter(t *testing.T, root, mode, how, after string) (string, *exec.Cmd) {
	t.Helper()
	cmd := exec.Command(os.Args[0], "launch", root, mode, how, after)
	cmd.Stderr = os.Stderr
	out, err := cmd.StdoutPipe()
	if err != nil {
		t.Fatal(err)
	}
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	buf := make([]byte, 4096)
	n, err := out.Read(buf)
	if err != nil {
		t.Fatal(err)
	}
	dir := strings.TrimSpace(string(buf[:n]))
	t.Cleanup(func() { sweep(t, dir) })
	return dir, cmd
}

func kill(t *testing.T, dir, role string) {
	t.Helper()
	pids := processes(dir, role)
	if len(pids) != 1 {
		t.Fatalf("%s: processes %v", role, pids)
	}
	if err := syscall.Kill(pids[0], syscall.SIGKILL); err != nil {
		t.Fatal(err)
	}
}

func TestCancel(t *testing.T) {
	for _, mode := range []string{"polite", "stubborn"} {
		t.Run(mode, func(t *testing.T) {
			t.Parallel()
			h := launch(t, mode, 2, true)
			atStep3(t, h.Dir, 2)
			s := NewStore(filepath.Dir(h.Dir))
			start := time.Now()
			in, err := Cancel(t.Context(), s, h.Run.ID, "by the user")
			if err != nil || in.State != Cancelled || in.Cause != "by the user" {
				t.Fatalf("%s: %s, %v", in.State, in.Cause, err)
			}
			t.Logf("%v", time.Since(start).Round(time.Millisecond))
			wait(t, h)
			if _, err := Cancel(t.Context(), s, h.Run.ID, "again"); err == nil {
				t.Error("cancelled twice")
			}
		})
	}
}

// TestCancelFromAfar uses the request alone, as another host must.
func TestCancelFromAfar(t *testing.T) {
	t.Parallel()
	h := launch(t, "polite", 1, true)
	atStep3(t, h.Dir, 1)
	if err := requestCancel(h.Dir, "from\x1b[31m afar\nand more"); err != nil {
		t.Fatal(err)
	}
	if in := wait(t, h); in.State != Cancelled || in.Cause != "from afar and more" {
		t.Fatalf("%s: %q", in.State, in.Cause)
	}
}

// TestInterrupted: the context of a foreground run ends, with a reason.
func TestInterrupted(t *testing.T) {
	t.Parallel()
	h := launch(t, "polite", 2, false)
	atStep3(t, h.Dir, 2)
	ctx, cancel := context.WithCancelCause(t.Context())
	cancel(errors.New("its terminal closed"))
	in, err := h.Wait(ctx)
	if err != nil || in.State != Cancelled || in.Cause != "its terminal closed" {
		t.Fatalf("%s: %s, %v", in.State, in.Cause, err)
	}
	gone(t, h.Dir, time.Second)
}

func TestReasons(t *testing.T) {
	for sig, want := range map[syscall.Signal]string{
		syscall.SIGINT: "interrupted", syscall.SIGHUP: "its terminal closed", syscall.SIGTERM: "boost-tui run was told to end (SIGTERM)",
	} {
		ctx, stop := signal.NotifyContext(t.Context(), sig)
		if err := syscall.Kill(os.Getpid(), sig); err != nil {
			t.Fatal(err)
		}
		<-ctx.Done()
		if got := reasonOf(context.Cause(ctx)); got != want {
			t.Errorf("%v: %q", sig, got)
		}
		stop()
	}
	if got := reasonOf(context.Canceled); got != "interrupted" {
		t.Error(got)
	}
}

func TestAttachAndLogs(t *testing.T) {
	t.Parallel()
	h := launch(t, "ok", 2, true)
	var steps []int64
	in, err := Attach(t.Context(), h.Dir, func(l record.StepLine) { steps = append(steps, l.Step) })
	if err != nil || in.State != Finished || len(steps) != 10 || steps[9] != 10 {
		t.Fatalf("%s, steps %v, %v", in.State, steps, err)
	}
	h = launch(t, "spam", 1, true)
	var lines []string
	if err := Logs(t.Context(), h.Dir, LogOptions{Tail: -1, Follow: true}, func(rank int, s string) { lines = append(lines, s) }); err != nil {
		t.Fatal(err)
	}
	if all := strings.Join(lines, "\n"); !strings.Contains(all, "hello red") || !strings.HasSuffix(all, "no newline") || strings.Contains(all, "\x1b") {
		t.Fatalf("log reads %q", all)
	}
	long := strings.Repeat("x", 3000) + "\x1b[31mend"
	if err := os.WriteFile(record.LogPath(h.Dir, 0), []byte("short\n"+long+"\n"+long), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, o := range []LogOptions{{Tail: -1}, {Tail: 1}, {Tail: -1, Whole: true}, {Tail: 1, Whole: true}} {
		lines = nil
		if err := Logs(t.Context(), h.Dir, o, func(_ int, s string) { lines = append(lines, s) }); err != nil {
			t.Fatal(err)
		}
		for _, got := range lines[len(lines)-2:] {
			if whole := strings.Repeat("x", 3000) + "end"; o.Whole && got != whole || !o.Whole && !strings.HasSuffix(got, "x… (2603 characters more)") {
				t.Errorf("%+v: %d characters, …%s", o, len(got), got[max(0, len(got)-40):])
			}
		}
	}
	if err := Logs(t.Context(), h.Dir, LogOptions{Ranks: []int{7}}, nil); err == nil {
		t.Error("logs of a rank that is not there")
	}
}

// TestDeletedUnderway: somebody deletes the directory of a run that goes on; its processes end, not hang.
func TestDeletedUnderway(t *testing.T) {
	t.Parallel()
	h := launch(t, "polite", 2, true)
	atStep3(t, h.Dir, 2)
	eventually(t, "the directory to stay away", func() bool { return os.RemoveAll(h.Dir) == nil })
	for _, pid := range processes(h.Dir, "rank") {
		if err := syscall.Kill(pid, syscall.SIGKILL); err != nil {
			t.Fatal(err)
		}
	}
	gone(t, h.Dir, 5*time.Second)
	if in, err := h.Wait(t.Context()); err != nil || in.Err == nil {
		t.Errorf("%+v, %v", in, err)
	}
	if _, err := os.Stat(h.Dir); !errors.Is(err, fs.ErrNotExist) {
		t.Errorf("the directory came back: %v", err)
	}
}

// TestManyAtOnce launches several runs in the same second.
func TestManyAtOnce(t *testing.T) {
	s := NewStore(t.TempDir())
	var wg sync.WaitGroup
	for range 6 {
		wg.Add(1)
		go func() {
			defer wg.Done()
			h, err := Launch(t.Context(), s, testExperiment("ok", 1), LaunchOptions{Detach: true})
			if err != nil {
				t.Error(err)
				return
			}
			if in, err := h.Wait(t.Context()); err != nil || in.State != Finished {
				t.Errorf("%s: %s, %v", in.State, in.Cause, err)
			}
		}()
	}
	wg.Wait()
	infos, errs := s.List(t.Context())
	if len(infos) != 6 || len(errs) != 0 {
		t.Fatalf("%d runs, %v", len(infos), errs)
	}
}
