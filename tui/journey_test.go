package tui_test

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"boost-tui/tui/testkit"
)

// The way of a new user through the real program: launch the three schemes from
// the form, watch, lose the terminal in mid-run, find all three done later,
// compare, export.
func TestJourney(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: trains three small models, and -short is set")
	}
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("skipped: there is no tmux on this machine; `make test` installs it where it may")
	}
	home := t.TempDir()
	binary := filepath.Join(home, "boost-tui")
	if out, err := exec.Command("go", "build", "-o", binary, "boost-tui/cmd/boost-tui").CombinedOutput(); err != nil {
		t.Fatalf("build the program: %v\n%s", err, out)
	}
	env := []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TERM=xterm-256color", "LC_ALL=C.UTF-8"}
	const long = 3 * time.Minute

	m := testkit.StartTmux(t, 120, 36, env, binary)
	m.WaitFor("every rule holds", patience)
	for _, field := range []struct{ name, value string }{{"steps", "40"}, {"tp", "2"}} {
		m.Keys("/")
		m.Type(field.name)
		m.Keys("Enter", "Enter", "C-u")
		m.Type(field.value)
		m.Keys("Enter")
	}
	m.WaitFor("boost-tui run --tp 2 --steps 40 --detach", patience)
	m.Keys("A")
	m.WaitFor("Launch three schemes", patience)
	m.Keys("y")
	m.WaitFor("[2 Live]", patience)
	m.WaitFor("step 1", long)
	time.Sleep(2500 * time.Millisecond) // the session is written two seconds after a key

	m.Do("kill-server") // the terminal is gone; the runs that wait need none
	waitForFiles(t, filepath.Join(home, ".local", "share", "boost-tui", "runs", "*", "result.json"), 3, long)
	m = testkit.StartTmux(t, 120, 36, env, binary)
	m.WaitFor("[2 Live]", patience)
	m.Keys("5")
	screen := waitForCount(t, m, "✓ #", 3, patience)
	if !strings.Contains(screen, "full-rank") || !strings.Contains(screen, "vanilla") || !strings.Contains(screen, "btp") {
		t.Fatalf("not the three schemes:\n%s", screen)
	}

	m.Keys("3")
	m.WaitFor("Schemes side by side", patience)
	m.WaitFor("1.00", patience)
	m.Keys("5", "E")
	m.WaitFor("Export", patience)
	m.Keys("C-u")
	m.Type(filepath.Join(home, "out"))
	m.Keys("Enter")
	m.WaitFor("wrote", long)
	for _, name := range []string{"steps.csv", "collectives.csv", "ranks.csv", "compare.csv"} {
		if info, err := os.Stat(filepath.Join(home, "out", name)); err != nil || info.Size() == 0 {
			t.Errorf("export: %s: %v", name, err)
		}
	}
	m.Keys("q")
	if code, main := m.Exit(patience); code != "0" || !main {
		t.Errorf("exit %s, main screen %v", code, main)
	}
}

// waitForFiles waits until n files fit a pattern.
func waitForFiles(t *testing.T, pattern string, n int, limit time.Duration) {
	t.Helper()
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if found, err := filepath.Glob(pattern); err != nil || len(found) >= n {
			return
		}
	}
	t.Fatalf("there are not %d files %s within %v", n, pattern, limit)
}

// waitForCount waits until the screen shows a text n times.
func waitForCount(t *testing.T, m *testkit.Tmux, text string, n int, limit time.Duration) string {
	t.Helper()
	screen := ""
	for end := time.Now().Add(limit); time.Now().Before(end); time.Sleep(100 * time.Millisecond) {
		if screen = m.Screen(); strings.Count(screen, text) >= n {
			return screen
		}
	}
	t.Fatalf("%q is not %d times within %v on\n%s", text, n, limit, screen)
	return ""
}
