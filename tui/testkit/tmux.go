package testkit

import (
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strconv"
	"strings"
	"syscall"
	"testing"
	"time"
)

// Tmux is a tmux server of one test, with its own socket and configuration.
type Tmux struct {
	t      testing.TB
	socket string
}

// StartTmux runs a command in a new session of w x h cells with nothing but
// the given environment. The test is skipped, with the reason, where there is
// no tmux.
func StartTmux(t testing.TB, w, h int, env []string, command ...string) *Tmux {
	t.Helper()
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("skipped: there is no tmux on this machine; `make test` installs it where it may")
	}
	dir, err := os.MkdirTemp("", "tmux-") // short: a socket's path has 107 bytes
	if err != nil {
		t.Fatal(err)
	}
	m := &Tmux{t, filepath.Join(dir, "s")}
	args := []string{"-u", "-f", "/dev/null", "new-session", "-d", "-x", fmt.Sprint(w), "-y", fmt.Sprint(h), "env", "-i"}
	args = append(append(args, env...), command...)
	m.run("set-option -g remain-on-exit on ; set-option -g set-clipboard on ; set-option -g status off", args)
	t.Cleanup(func() {
		_ = exec.Command("tmux", "-S", m.socket, "kill-server").Run() // it may be gone
		os.RemoveAll(dir)
	})
	return m
}

// run starts the server with global options set before the session exists.
func (m *Tmux) run(options string, args []string) {
	m.t.Helper()
	full := []string{"-S", m.socket, "-u", "-f", "/dev/null", "start-server", ";"}
	full = append(full, strings.Fields(options)...)
	full = append(full, ";")
	full = append(full, args[3:]...)
	cmd := exec.Command("tmux", full...)
	cmd.Env = []string{"PATH=" + os.Getenv("PATH"), "TERM=xterm-256color", "LC_ALL=C.UTF-8", "HOME=" + os.TempDir()}
	if out, err := cmd.CombinedOutput(); err != nil {
		m.t.Fatalf("tmux %v: %v\n%s", full, err, out)
	}
}

// Do runs a tmux command and returns what it prints.
func (m *Tmux) Do(args ...string) string {
	m.t.Helper()
	out, err := exec.Command("tmux", append([]string{"-S", m.socket}, args...)...).CombinedOutput()
	if err != nil {
		m.t.Fatalf("tmux %v: %v\n%s", args, err, out)
	}
	return string(out)
}

// Keys presses keys by tmux's names.
func (m *Tmux) Keys(names ...string) { m.Do(append([]string{"send-keys"}, names...)...) }

// Type types text as it is.
func (m *Tmux) Type(text string) { m.Do("send-keys", "-l", text) }

// Screen is what the terminal shows, without colours.
func (m *Tmux) Screen() string { return m.Do("capture-pane", "-p") }

// Painted is what the terminal shows, with colours.
func (m *Tmux) Painted() string { return m.Do("capture-pane", "-p", "-e") }

// WaitFor waits until the screen shows a text, and returns the screen.
func (m *Tmux) WaitFor(text string, limit time.Duration) string {
	m.t.Helper()
	screen := ""
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(20 * time.Millisecond) {
		if screen = m.Screen(); strings.Contains(screen, text) {
			return screen
		}
	}
	m.t.Fatalf("no %q within %v on\n%s", text, limit, screen)
	return ""
}

// Exit waits for the program's end and returns its exit code and whether the
// terminal is back on its main screen.
func (m *Tmux) Exit(limit time.Duration) (code string, mainScreen bool) {
	m.t.Helper()
	for end, n := time.Now().Add(limit), 1; time.Now().Before(end); n++ {
		time.Sleep(20 * time.Millisecond)
		if n%25 == 0 {
			m.reap()
		}
		state := strings.Fields(m.Do("display-message", "-p", "#{pane_dead} #{alternate_on} #{pane_dead_status}"))
		if len(state) == 3 && state[0] == "1" {
			return state[2], state[1] == "0"
		}
	}
	m.t.Fatalf("the program has not ended within %v:\n%s", limit, m.Screen())
	return "", false
}

// reap reminds the server of children that have ended: tmux 3.3a sometimes misses the signal of one that
// lived shortly, and then shows a process that is over as a pane that is not dead.
func (m *Tmux) reap() {
	m.t.Helper()
	pid, err := strconv.Atoi(strings.TrimSpace(m.Do("display-message", "-p", "#{pid}")))
	if err != nil {
		m.t.Fatalf("tmux tells no process id of its server: %v", err)
	}
	_ = syscall.Kill(pid, syscall.SIGCHLD) // a server that is gone has nothing to reap
}
