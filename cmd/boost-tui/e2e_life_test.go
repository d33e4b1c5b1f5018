package main

import (
	"bytes"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
)

// foreground is a run in front that goes on until something ends it.
type foreground struct {
	program
	cmd       *exec.Cmd
	out, errs bytes.Buffer
	dir       string
}

func (p program) foreground(args ...string) *foreground {
	p.t.Helper()
	f := &foreground{program: p}
	f.cmd = p.command(append(shortRun("--steps", endless, "--json"), args...)...)
	f.cmd.Stdout, f.cmd.Stderr = &f.out, &f.errs
	if err := f.cmd.Start(); err != nil {
		p.t.Fatal(err)
	}
	p.t.Cleanup(func() {
		_ = f.cmd.Process.Kill() // what the test itself has not ended
		_ = f.cmd.Wait()
	})
	f.dir = p.onlyRun()
	f.reaches(f.dir, 3)
	return f
}

// kill ends a process of the run by SIGKILL: the first with the role whose command line ends in last.
func (f *foreground) kill(role, last string) {
	f.t.Helper()
	for _, q := range processesOf(f.t, f.dir) {
		if q.role() == role && strings.HasSuffix(strings.TrimRight(strings.Join(q.argv, " "), " "), last) {
			if err := syscall.Kill(q.pid, syscall.SIGKILL); err != nil {
				f.t.Fatal(err)
			}
			return
		}
	}
	f.t.Fatalf("no %s among %v", role, processesOf(f.t, f.dir))
}

// ended waits for the command and decodes what it said.
func (f *foreground) ended() (code int, v runView) {
	f.t.Helper()
	_ = f.cmd.Wait() // the exit code says it
	oneJSON(f.t, f.out.String(), &v)
	return f.cmd.ProcessState.ExitCode(), v
}

func TestKilledRankEndsTheRunAndIsNamed(t *testing.T) {
	f := newProgram(t).foreground()
	f.kill("rank", "--rank 1")
	code, said := f.ended()
	f.gone(f.dir)
	if code != exitFailed || said.State != "failed" {
		t.Errorf("exit %d, state %q; stderr %s", code, said.State, f.errs.String())
	}
	for _, want := range []string{"rank 1", "SIGKILL", "step"} {
		if !strings.Contains(said.Cause, want) {
			t.Errorf("cause %q does not say %q", said.Cause, want)
		}
	}
	v := f.view(f.dir)
	for _, r := range v.Ranks {
		if r.Rank == 1 && (r.Signal != "SIGKILL" || r.Step < 3 || r.Operation == "") {
			t.Errorf("the record of rank 1: %+v", r)
		}
	}
	if len(v.Ranks) != 2 || v.Cause != said.Cause {
		t.Errorf("%d exit records, cause %q", len(v.Ranks), v.Cause)
	}
}

func TestKilledAgentLeavesNobody(t *testing.T) {
	f := newProgram(t).foreground()
	f.kill("agent", "")
	code, said := f.ended()
	f.gone(f.dir)
	if code != exitFailed || said.State != "failed" || !strings.Contains(said.Cause, "agent") {
		t.Errorf("exit %d, state %q, cause %q", code, said.State, said.Cause)
	}
	if v := f.view(f.dir); v.State != "failed" || v.Cause != said.Cause {
		t.Errorf("the record says %s: %s", v.State, v.Cause)
	}
}

func TestKilledForegroundLeavesNobody(t *testing.T) {
	f := newProgram(t).foreground()
	if err := f.cmd.Process.Kill(); err != nil {
		t.Fatal(err)
	}
	_ = f.cmd.Wait()
	f.gone(f.dir)
	if v := f.view(f.dir); v.State != "failed" && v.State != "cancelled" || v.Cause == "" {
		t.Errorf("the record says %s: %q", v.State, v.Cause)
	}
}

func TestInterruptEndsTheRunAndSaysSo(t *testing.T) {
	f := newProgram(t).foreground()
	if err := f.cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	code, said := f.ended()
	f.gone(f.dir)
	if code != exitInterrupted || said.State != "cancelled" {
		t.Errorf("exit %d, state %q, cause %q", code, said.State, said.Cause)
	}
}

func TestDetachedRunIsFollowedAndCancelled(t *testing.T) {
	p := newProgram(t)
	id := strings.TrimSpace(p.want(exitOK, shortRun("--steps", endless, "--detach")...).stdout)
	dir := filepath.Join(p.runs, id)
	p.reaches(dir, 2)
	if v := p.view(dir); v.State != "running" {
		t.Errorf("state %q", v.State)
	}
	if r := p.run("rm", id, "--yes"); r.code != exitFailed || !strings.Contains(r.err, "cancel") {
		t.Errorf("rm of a running run: exit %d, %s", r.code, r.err)
	}
	p.want(exitOK, "cancel", id)
	p.gone(dir)
	if v := p.view(dir); v.State != "cancelled" {
		t.Errorf("state %q, cause %q", v.State, v.Cause)
	}
	if log := p.want(exitOK, "logs", id).stdout; !strings.Contains(log, "cancelled after step") || strings.Contains(log, "context canceled") {
		t.Errorf("the log of a cancelled run: %s", log)
	}
	p.want(exitOK, "tag", id, "kept")
	p.want(exitOK, "rm", id, "--yes")
	if r := p.want(exitOK, "runs", "--json"); strings.TrimSpace(r.stdout) != "[]" {
		t.Errorf("after rm there is %s", r.stdout)
	}
}

// A run that waits for another one is pending, needs no terminal, and starts when that one ends.
func TestRunAfterAnother(t *testing.T) {
	p := newProgram(t)
	first := strings.TrimSpace(p.want(exitOK, shortRun("--steps", endless, "--detach")...).stdout)
	var second launched
	oneJSON(t, p.want(exitOK, shortRun("--steps", "5", "--detach", "--json", "--after", first[len(first)-4:])...).stdout, &second)
	if v := p.view(second.Dir); second.State != "pending" || v.State != "pending" || v.After != first || v.Cause != "waits for "+first {
		t.Errorf("launched %+v, shown %s after %q: %s", second, v.State, v.After, v.Cause)
	}
	if r := p.want(exitOK, "show", second.ID); !strings.Contains(r.stdout, "waits for "+first) {
		t.Errorf("show: %s", r.stdout)
	}
	if r := p.want(exitUsage, shortRun("--after", "nobody")...); !strings.Contains(r.err, "no run \"nobody\"") {
		t.Errorf("stderr %s", r.err)
	}
	p.want(exitOK, "cancel", first)
	p.want(exitOK, "attach", second.ID)
	if v := p.view(second.Dir); v.State != "finished" || v.Summary == nil {
		t.Errorf("%s: %s, summary %s", v.State, v.Cause, v.Summary)
	}
	p.gone(second.Dir)
}
