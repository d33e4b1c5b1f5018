package tui

import (
	"fmt"
	"math/rand/v2"
	"testing"
	"time"

	"boost-tui/runner"
	"boost-tui/tui/app"
	"boost-tui/tui/testkit"
)

// On a terminal of any size, down to 20x5 and below, whatever is pressed, every screen answers and stays within it.
func TestAnyKeyOnAnySize(t *testing.T) {
	store := &testkit.Store{}
	root := t.TempDir()
	for i, hosts := range [][]string{nil, {"node1", "node2"}, {"node1", "node2", "\x1b[31mnode3"}} {
		r := testkit.RunDir{ID: fmt.Sprintf("1129-150%d-btp", i), Experiment: testkit.Experiment(t, "tp=4", "steps=200"), State: runner.Running, Ranks: 4, Steps: 40, Hosts: hosts, Evals: []float64{3}, Log: []string{"x"}}
		store.Infos = append(store.Infos, r.Write(t, root))
	}
	store.Infos[1].State, store.Infos[1].Cause = runner.Pending, "Slurm job 1 waits for \x1b]0;evil\x07 nodes"
	d := testkit.NewDriver(t, 20, 5, app.Options{Env: testkit.Env(t, store), Screens: screens()})
	names := []string{"1", "2", "3", "4", "5", "tab", "shift+tab", "enter", "esc", "up", "down", "left", "right", "home", "end", "pgdown", "space", "backspace", "ctrl+r", "ctrl+u"}
	for c := '!'; c <= '~'; c++ {
		if c != 'q' {
			names = append(names, string(c))
		}
	}
	rng := rand.New(rand.NewPCG(5, 7))
	sizes := [][2]int{{20, 5}, {1, 1}, {39, 9}, {40, 10}, {20, 50}, {200, 5}, {80, 24}, {3, 100}}
	steps := 600
	if testing.Short() {
		steps = 150
	}
	for i := range steps {
		if i%7 == 0 {
			size := sizes[rng.IntN(len(sizes))]
			d.Resize(size[0], size[1])
		}
		d.Press(names[rng.IntN(len(names))])
		if i%11 == 0 {
			d.Advance(300 * time.Millisecond)
		}
		w, h := d.Model.Size()
		testkit.CheckSize(t, fmt.Sprintf("%dx%d after key %d", w, h, i), d.View(), w, h)
		if d.Model.Crash() != nil {
			t.Fatalf("key %d: %v", i, d.Model.Crash())
		}
		if d.Quit() {
			t.Fatal("it has ended")
		}
	}
}
