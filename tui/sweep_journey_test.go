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
	"boost-tui/sweeps"
	"boost-tui/tui/testkit"
)

// sweeper drives the Sweep screen of the real program by keys.
type sweeper struct {
	*testkit.Tmux
	t    *testing.T
	home string
}

const enough = 3 * time.Minute

// pick opens a dialog that finds by typing, and chooses what is typed.
func (s sweeper) pick(key, dialog, what string) {
	s.Keys(key)
	s.WaitFor(dialog, patience)
	s.Type(what)
	s.Keys("Enter")
}

// fill types over what a prompt holds.
func (s sweeper) fill(prompt, text string) {
	s.WaitFor(prompt, patience)
	s.Keys("C-u")
	s.Type(text)
	s.Keys("Enter")
}

func (s sweeper) axis(key, values string) {
	s.pick("a", "which key has several", key)
	s.fill("Values of "+key, values)
}

// build makes the space: the ten points of the three schemes, out of a larger
// one that has points which cannot run and some that a constraint leaves out.
func (s sweeper) build() {
	s.axis("scheme", "full-rank,vanilla,btp")
	s.Keys("Space") // full-rank off
	s.axis("tp", "1..3")
	s.axis("rank", "32..128*2")
	s.Keys("w")
	s.fill("only if", `shceme != "full-rank"`)
	s.WaitFor("nearest: scheme", patience) // the dialog stays open, and ^U empties its line
	s.fill("only if", `scheme != "full-rank"`)
	s.pick("b", "which key", "steps")
	s.fill("steps of every point", "60") // long enough for the screen, which looks once a second, to see the first one run
	s.WaitFor("18 raw", patience)
	s.Keys("c")
	s.fill("Only points that meet", "rank < 128")
	s.WaitFor("−4 pruned", patience)
	s.Keys("i")
	s.WaitFor("Pruned:", patience)
	s.WaitFor("must divide heads", patience)
	s.Keys("Escape")
	s.Keys("g", "j", "Right", "Right", "Space") // tp 3 off
	s.WaitFor("10 runs", patience)
}

// queue starts the sweep and changes its queue: pause, front, order, skip, retry.
func (s sweeper) queue() {
	s.Keys("R")
	s.WaitFor("start 10 runs", patience)
	s.Keys("y")
	s.WaitFor("▶ running", enough)
	s.Keys("P")
	s.WaitFor("… paused", enough)
	s.Keys("g", "j", "f") // the second row waits, whether the first one runs or has ended
	s.WaitFor("at the front of the queue", patience)
	s.Keys("o")
	s.WaitFor("Order of the queue", patience)
	s.Keys("Down", "Enter")
	s.WaitFor("order: cheapest", patience)
	s.Keys("g", "j", "x")
	s.WaitFor("skipped", patience)
	s.Keys("r")
	s.WaitFor("queued again", patience)
	s.Keys("P")
	s.WaitFor("the sweep goes on", enough)
}

// results looks at the results in every way, and goes from them to the other
// screens.
func (s sweeper) results() {
	s.Keys("Tab")
	s.pick("o", "Sort by", "step_time_median")
	s.WaitFor("sort: step_time_median ▲", patience)
	s.Keys("/")
	s.Type("scheme:btp tp:2")
	s.WaitFor("2 of 10", patience)
	s.Keys("Escape", "p")
	s.WaitFor("Results: Pareto front", patience)
	s.Keys("p", "b")
	s.WaitFor("Results: best per size", patience)
	s.Keys("b", "i")
	s.WaitFor("Run of a sweep", patience)
	s.Keys("Escape", "h")
	s.WaitFor("tp by rank", patience)
	s.Keys("x", "x")
	s.WaitFor("tp by scheme", patience)
	s.pick("m", "What the cells show", "peak_memory")
	s.WaitFor("Heat  device MiB", patience)
	s.Keys("h", "Enter")
	s.WaitFor("[2 Live]", patience)
	s.Keys("4", "L")
	s.WaitFor("[1 Launch]", patience)
	s.Keys("4", "Space", "Space", "c")
	s.WaitFor("[3 Compare]", patience)
	s.WaitFor("2 runs", patience)
	s.Keys("4", "E")
	s.fill("Export sweep", filepath.Join(s.home, "out"))
	s.WaitFor("wrote 2 files", patience)
	for _, name := range []string{"sweep.csv", "sweep.md"} {
		data, err := os.ReadFile(filepath.Join(s.home, "out", name))
		if n := strings.Count(string(data), "\n"); err != nil || n < 11 {
			s.t.Errorf("%s has %d lines: %v", name, n, err)
		}
	}
}

// grow adds a value to an axis, and ends the sweep before its points are done.
func (s sweeper) grow() {
	s.Keys("BTab", "BTab") // from the results over the queue to the grid
	s.Keys("g", "j", "j", "Enter")
	s.fill("Values of rank", "32..128*2,16")
	s.WaitFor("14 runs, 4 new", patience)
	s.Keys("R")
	s.WaitFor("add 4 runs", patience)
	s.Keys("y")
	s.WaitFor("… btp tp 2 rank 16", patience)
	s.Keys("K")
	s.WaitFor("whole sweep", patience)
	s.Keys("y")
	s.WaitFor("14 of 14", enough)
}

// Everything that the Sweep screen is for, in a real terminal with real runs, by
// keys alone; the terminal dies in the middle.
func TestSweepByKeys(t *testing.T) {
	if testing.Short() {
		t.Skip("skipped: trains twenty small models, and -short is set")
	}
	if _, err := exec.LookPath("tmux"); err != nil {
		t.Skip("skipped: there is no tmux on this machine; `make test` installs it where it may")
	}
	binary := filepath.Join(t.TempDir(), "boost-tui")
	if out, err := exec.Command("go", "build", "-o", binary, "boost-tui/cmd/boost-tui").CombinedOutput(); err != nil {
		t.Fatalf("build the program: %v\n%s", err, out)
	}
	for _, size := range [][2]int{{80, 24}, {120, 36}} {
		t.Run(fmt.Sprintf("%dx%d", size[0], size[1]), func(t *testing.T) {
			home := t.TempDir()
			env := []string{"HOME=" + home, "PATH=" + os.Getenv("PATH"), "TERM=xterm-256color", "LC_ALL=C.UTF-8"}
			runs := filepath.Join(home, ".local", "share", "boost-tui", "runs")
			s := sweeper{testkit.StartTmux(t, size[0], size[1], env, binary), t, home}
			s.Keys("4")
			s.WaitFor("new sweep", patience)
			s.build()
			s.queue()
			time.Sleep(2500 * time.Millisecond) // the session is written two seconds after a key
			s.Do("kill-server")                 // the terminal is gone; the sweep needs none
			waitForFiles(t, filepath.Join(runs, "*", "result.json"), 10, enough)

			s.Tmux = testkit.StartTmux(t, size[0], size[1], env, binary)
			s.WaitFor("[4 Sweep]", patience)
			s.WaitFor("✓ finished", enough)
			s.WaitFor("10 of 10 done", patience)
			s.results()
			s.grow()
			s.Keys("q")
			if code, main := s.Exit(patience); code != "0" || !main {
				t.Errorf("exit %s, main screen %v", code, main)
			}
			once(t, runs)
		})
	}
}

// once checks that each of the first ten points finished, in one run each.
func once(t *testing.T, runs string) {
	t.Helper()
	store := runner.NewStore(runs)
	infos, errs := sweeps.OpenFolder(store).List(context.Background())
	if len(infos) != 1 || len(errs) > 0 {
		t.Fatalf("%d sweeps, %v", len(infos), errs)
	}
	if n := infos[0].Counts[sweeps.Finished]; n < 10 || infos[0].Points != 14 {
		t.Errorf("%d of %d points finished", n, infos[0].Points)
	}
	finished := map[string]int{}
	all, _ := store.List(context.Background())
	for _, in := range all {
		if in.State == runner.Finished && in.Run.Sweep != nil {
			finished[in.Run.Sweep.Point]++
		}
	}
	for point, n := range finished {
		if n > 1 {
			t.Errorf("point %s finished %d times", point, n)
		}
	}
	if n := infos[0].Counts[sweeps.Finished]; len(finished) != n {
		t.Errorf("%d points finished, in runs of %d points", n, len(finished))
	}
}
