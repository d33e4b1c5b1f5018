package main

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// tmux is a terminal that tests drive: a server of its own, which dies with the test.
type tmux struct {
	program
	socket string
}

func (p program) tmux(command string) tmux {
	p.t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		p.t.Skip("tmux plays the terminal and is not installed")
	}
	m := tmux{p, fmt.Sprintf("boost-tui-%d-%d", os.Getpid(), time.Now().UnixNano())}
	cmd := exec.Command("tmux", "-L", m.socket, "-f", "/dev/null", "new-session", "-d", "-x", "120", "-y", "36", command)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "HOME=" + filepath.Dir(p.runs), "TERM=xterm-256color", "LC_ALL=C.UTF-8", "BOOST_RUNS=" + p.runs}
	if out, err := cmd.CombinedOutput(); err != nil {
		p.t.Fatalf("tmux: %v\n%s", err, out)
	}
	p.t.Cleanup(func() { _ = exec.Command("tmux", "-L", m.socket, "kill-server").Run() }) // gone already where the test ended it
	return m
}

func (m tmux) do(args ...string) string {
	m.t.Helper()
	out, err := exec.Command("tmux", append([]string{"-L", m.socket}, args...)...).CombinedOutput()
	if err != nil {
		m.t.Fatalf("tmux %v: %v\n%s", args, err, out)
	}
	return string(out)
}

func (m tmux) keys(keys ...string) {
	m.t.Helper()
	m.do(append([]string{"send-keys"}, keys...)...)
}

// shows waits until the screen holds all of the texts.
func (m tmux) shows(texts ...string) {
	m.t.Helper()
	var screen string
	for end := time.Now().Add(10 * time.Second); time.Now().Before(end); time.Sleep(50 * time.Millisecond) {
		screen = m.do("capture-pane", "-p")
		missing := false
		for _, s := range texts {
			missing = missing || !strings.Contains(screen, s)
		}
		if !missing {
			return
		}
	}
	m.t.Fatalf("the screen does not show %q:\n%s", texts, screen)
}

// A run that was started from the UI outlives the terminal, whatever ends that, and a new UI finds it.
func TestKilledTerminalLeavesTheRunGoing(t *testing.T) {
	p := newProgram(t)
	// The form as a user left it, with a run that does not end by itself.
	session := filepath.Join(filepath.Dir(p.runs), ".local", "state", "boost-tui", "session.json")
	if err := os.MkdirAll(filepath.Dir(session), 0o700); err != nil {
		t.Fatal(err)
	}
	const form = `{"schema":1,"screen":"launch","screens":{"launch":{"toml":"[train]\nsteps = ` + endless + `\n","focus":"size"}}}`
	if err := os.WriteFile(session, []byte(form), 0o600); err != nil {
		t.Fatal(err)
	}
	m := p.tmux(p.bin)
	m.shows("Command preview", "--steps "+endless)
	m.keys("L")
	m.shows("Yes, launch")
	m.keys("y")
	dir := p.onlyRun()
	p.reaches(dir, 2)
	pid := strings.TrimSpace(m.do("display-message", "-p", "#{pid}"))
	var server int
	if _, err := fmt.Sscan(pid, &server); err != nil {
		t.Fatal(err)
	}
	if err := syscall.Kill(server, syscall.SIGKILL); err != nil { // the terminal, as a crash ends it
		t.Fatal(err)
	}
	p.reaches(dir, p.stepOf(dir)+3)
	m = p.tmux(p.bin)
	m.keys("5")
	m.shows(filepath.Base(dir)[:15], "running")
	m.keys("q")
	p.want(exitOK, "cancel", filepath.Base(dir))
	p.gone(dir)
}

// The demo ends with everything it started when it is interrupted.
func TestInterruptedDemoLeavesNobody(t *testing.T) {
	p := newProgram(t)
	cmd := p.command("demo", "--steps", endless)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	dir := p.onlyRun()
	p.reaches(dir, 2)
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // the exit code says it
	if code := cmd.ProcessState.ExitCode(); code != exitInterrupted {
		t.Errorf("exit %d", code)
	}
	p.gone(dir)
}

func TestCompletionKnowsRunsAndValues(t *testing.T) {
	p := newProgram(t)
	id := strings.TrimSpace(p.want(exitOK, shortRun("--steps", "2", "--detach")...).stdout)
	for args, want := range map[string]string{"show ": id, "compare ": id, "run --scheme ": "vanilla", "plan --grouping ": "off", "completion ": "zsh"} {
		words := strings.Split(args, " ")
		if r := p.want(exitOK, append([]string{"__complete"}, words...)...); !strings.Contains(r.stdout, want) {
			t.Errorf("completion of %q does not offer %s:\n%s", args, want, r.stdout)
		}
	}
	p.gone(filepath.Join(p.runs, id))
}
