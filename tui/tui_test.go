package tui_test

import (
	"context"
	"fmt"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"boost-tui/runner"
	"boost-tui/tui"
	"boost-tui/tui/testkit"
)

// The test binary is also the program under test: with this variable set it
// shows the UI on the runs folder that it names; with asBroken, a screen that
// panics on demand.
const (
	asProgram = "BOOST_TUI_TEST_RUNS"
	asBroken  = "BOOST_TUI_TEST_BROKEN"
)

func TestMain(m *testing.M) {
	root := os.Getenv(asProgram)
	if root == "" {
		os.Exit(m.Run())
	}
	var err error
	if os.Getenv(asBroken) != "" {
		err = runBroken()
	} else {
		err = tui.Run(context.Background(), tui.Options{Store: runner.NewStore(root), ASCII: os.Getenv("BOOST_TUI_TEST_ASCII") != ""})
	}
	if err != nil {
		fmt.Fprintln(os.Stderr, "boost-tui:", err)
		os.Exit(1)
	}
}

// program is the UI as a command with a home folder of its own.
func program(t *testing.T, env ...string) *exec.Cmd {
	t.Helper()
	cmd := exec.Command(self(t))
	cmd.Env = append(environment(t), env...)
	return cmd
}

func self(t *testing.T) string {
	t.Helper()
	exe, err := os.Executable()
	if err != nil {
		t.Fatal(err)
	}
	return exe
}

func environment(t *testing.T) []string {
	home := t.TempDir()
	// A program under the race detector otherwise sleeps for a second before it ends.
	return []string{"GORACE=atexit_sleep_ms=0", "HOME=" + home, "PATH=" + os.Getenv("PATH"), "TERM=xterm-256color", "LC_ALL=C.UTF-8", "TMPDIR=" + home, asProgram + "=" + filepath.Join(home, "runs")}
}

// P1: on a terminal that answers nothing the first frame comes at once, and no
// question is asked.
func TestFirstFrameOnAMuteTerminal(t *testing.T) {
	best := time.Hour
	for range 3 {
		p := testkit.StartPty(t, 120, 36, program(t))
		took := p.WaitFor("Configuration", 0, 4*time.Second).Sub(p.Started)
		best = min(best, took)
		if out := p.Output(); strings.Contains(out, "\x1b]11") || strings.Contains(out, "\x1b[6n") || strings.Contains(out, "\x1b[c") {
			t.Fatalf("the terminal was asked a question: %q", out[:min(200, len(out))])
		}
		p.Send("q")
		if code := p.Wait(2 * time.Second); code != 0 {
			t.Fatalf("exit %d", code)
		}
	}
	t.Logf("first frame after %v", best)
	if best > 200*time.Millisecond {
		t.Errorf("first frame after %v, want 200ms at most", best)
	}
}

// P21, P17: an idle screen writes nothing and takes no time.
func TestIdleWritesNothing(t *testing.T) {
	p := testkit.StartPty(t, 120, 36, program(t))
	p.WaitFor("every rule holds", 0, 5*time.Second)
	time.Sleep(500 * time.Millisecond)
	before, cpu := len(p.Output()), p.CPU()
	time.Sleep(4 * time.Second)
	if n := len(p.Output()) - before; n != 0 {
		t.Errorf("an idle screen wrote %d bytes: %q", n, p.Output()[before:])
	}
	if used := p.CPU() - cpu; used > 40*time.Millisecond {
		t.Errorf("an idle screen took %v of 4s", used)
	}
}

// P3, P24: leaving restores the terminal, at once.
func TestQuitRestoresTheTerminal(t *testing.T) {
	for name, keys := range map[string]string{"q": "q", "ctrl+c": "\x03", "ctrl+c twice in a dialog": "x\x03\x03"} {
		t.Run(name, func(t *testing.T) {
			leaves(t, func() time.Duration {
				p := testkit.StartPty(t, 80, 24, program(t))
				p.WaitFor("Configuration", 0, 4*time.Second)
				start := time.Now()
				for _, k := range keys {
					p.Send(string(k))
					time.Sleep(30 * time.Millisecond)
				}
				if code := p.Wait(2 * time.Second); code != 0 {
					t.Errorf("exit %d", code)
				}
				took := time.Since(start) - time.Duration(len(keys))*30*time.Millisecond
				if p.Raw() || !strings.HasSuffix(strings.TrimSpace(p.Output()), "\x1b[?1049l") {
					t.Errorf("the terminal is not as before: raw %v, end %q", p.Raw(), tail(p.Output(), 40))
				}
				return took
			})
		})
	}
}

// P4: a terminal that takes no bytes stops neither keys nor the end.
func TestStalledTerminal(t *testing.T) {
	p := testkit.StartPty(t, 200, 50, program(t))
	p.WaitFor("Configuration", 0, 4*time.Second)
	p.Pause(true)
	for range 200 {
		p.Send("j5") // other frames all the time: the pipe fills up
		p.Send("1o")
	}
	time.Sleep(300 * time.Millisecond)
	p.Send("\x03")
	time.Sleep(50 * time.Millisecond)
	p.Send("\x03")
	if code := p.Wait(2 * time.Second); code != 0 {
		t.Errorf("exit %d", code)
	}
	if p.Raw() {
		t.Error("the line discipline is still raw")
	}
}

func tail(s string, n int) string { return s[max(0, len(s)-n):] }
