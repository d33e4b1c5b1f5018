package tui_test

import (
	"fmt"
	"math/rand/v2"
	"strings"
	"testing"
	"time"

	"boost-tui/tui/testkit"
)

// start runs the UI in tmux, with changes to the environment.
func start(t *testing.T, w, h int, env ...string) *testkit.Tmux {
	t.Helper()
	return testkit.StartTmux(t, w, h, append(environment(t), env...), self(t))
}

const patience = 10 * time.Second

// P7: after many resizes the screen is what a fresh start of that size shows.
func TestResizesLeaveNothingBehind(t *testing.T) {
	m := start(t, 120, 36)
	m.WaitFor("every rule holds", patience)
	random := rand.New(rand.NewPCG(1, 2))
	for range 40 {
		m.Do("resize-window", "-x", fmt.Sprint(20+random.IntN(200)), "-y", fmt.Sprint(6+random.IntN(60)))
	}
	m.Do("resize-window", "-x", "100", "-y", "30")
	fresh := start(t, 100, 30)
	fresh.WaitFor("fits", patience)
	want, got := "", ""
	for range 100 {
		if want, got = fresh.Screen(), m.Screen(); want == got {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	if got != want {
		t.Errorf("after 40 resizes:\n%s\na fresh start:\n%s", got, want)
	}
	m.Keys("q")
	if code, main := m.Exit(patience); code != "0" || !main {
		t.Errorf("exit %s, main screen %v", code, main)
	}
}

// P9: every terminal type starts, and without colours the screens say the same.
func TestTerminalTypes(t *testing.T) {
	for _, term := range []string{"dumb", "vt100", "screen", "linux", "xterm-256color", "tmux-256color", "no-such-terminal"} {
		t.Run(term, func(t *testing.T) {
			m := start(t, 80, 24, "TERM="+term)
			screen := m.WaitFor("Configuration", patience)
			if !strings.Contains(screen, "[1 Launch]") || !strings.Contains(screen, "(6 Plan)") {
				t.Errorf("tabs are not told apart:\n%s", screen)
			}
			m.Keys("q")
			m.Exit(patience)
		})
	}
}

func TestNoColor(t *testing.T) {
	m := start(t, 80, 24, "NO_COLOR=1")
	m.WaitFor("Configuration", patience)
	for _, colour := range []string{"[38;", "[31m", "[32m", "[33m", "[34m", "[36m", "[48;"} {
		if strings.Contains(m.Painted(), "\x1b"+colour) {
			t.Errorf("NO_COLOR is set, and the screen has %q", colour)
		}
	}
}

// P10: a C locale gets nothing but ASCII.
func TestASCII(t *testing.T) {
	for name, env := range map[string]string{"locale": "LC_ALL=C", "flag": "BOOST_TUI_TEST_ASCII=1"} {
		t.Run(name, func(t *testing.T) {
			m := start(t, 120, 36, env)
			m.WaitFor("every rule holds", patience)
			for _, screen := range []string{"1", "2", "3", "4", "5", "?"} {
				m.Keys(screen)
				time.Sleep(100 * time.Millisecond)
				for _, r := range m.Screen() {
					if r != '\n' && (r < 0x20 || r > 0x7e) {
						t.Fatalf("screen %s shows %q:\n%s", screen, r, m.Screen())
					}
				}
			}
		})
	}
}

// P11: y copies by OSC 52, through tmux; shift+drag is in the help.
func TestCopyAndMouseHelp(t *testing.T) {
	m := start(t, 120, 36)
	m.WaitFor("every rule holds", patience)
	m.Keys("y")
	m.WaitFor("copied the command line", patience)
	if got := m.Do("show-buffer"); !strings.Contains(got, "boost-tui run --detach") {
		t.Errorf("the buffer holds %q", got)
	}
	m.Keys("?")
	m.WaitFor("shift+drag", patience)
}

// P20: an escape that is followed at once by another key acts as two keys.
func TestEscapeFollowedByAKey(t *testing.T) {
	m := start(t, 120, 36)
	m.WaitFor("every rule holds", patience)
	m.Keys("x")
	m.WaitFor("Dry run", patience)
	m.Do("send-keys", "Escape", "5")
	screen := m.WaitFor("[5 Runs]", patience)
	if strings.Contains(screen, "Dry run") {
		t.Errorf("the dialog is still open:\n%s", screen)
	}
	m.Keys("?")
	m.WaitFor("esc close", patience)
	m.Do("send-keys", "Escape", "Escape")
	time.Sleep(100 * time.Millisecond)
	if strings.Contains(m.Screen(), "esc close") {
		t.Error("escape twice did not close the help")
	}
}

// The session is found again after the terminal was killed.
func TestSessionSurvivesTheTerminal(t *testing.T) {
	env := environment(t)
	m := testkit.StartTmux(t, 120, 36, env, self(t))
	m.WaitFor("every rule holds", patience)
	m.Keys("5")
	m.WaitFor("no runs yet", patience)
	time.Sleep(2500 * time.Millisecond) // the session is written two seconds after a key
	m.Do("kill-server")
	m = testkit.StartTmux(t, 120, 36, env, self(t))
	m.WaitFor("[5 Runs]", patience)
}
