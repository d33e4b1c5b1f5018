package compare_test

import (
	"strings"
	"testing"

	"boost-tui/kernels"
	"boost-tui/profiler/record"
	"boost-tui/runner"
	"boost-tui/tui/testkit"
)

func TestEveryKeyHasAnEffect(t *testing.T) {
	for _, size := range [][2]int{{120, 36}, {80, 24}} {
		for _, key := range []string{"tab", "shift+tab", "z", "right", "left", "+", "t", "m"} {
			d, _ := start(t, size[0], size[1], three(t)...)
			before := d.Model.View()
			d.Press(key)
			if key == "tab" || key == "shift+tab" { // the focus is a colour, or another pane
				d.Press("z")
			}
			if d.Model.View() == before {
				t.Errorf("%v: %s changes nothing", size, key)
			}
		}
	}
}

func TestPanesAreWalkedThroughAndShownAlone(t *testing.T) {
	d, _ := start(t, 120, 36, three(t)...)
	d.Press("z")
	for _, want := range []string{"Schemes side by side", "Where a step goes", "Speed-up over", "Step time ms over the steps", "Config diff"} {
		has(t, d.Text(), want)
		if n := strings.Count(d.Text(), "╔") + strings.Count(d.Text(), "┌"); n != 1 {
			t.Errorf("%d panes with %s alone", n, want)
		}
		d.Press("tab")
	}
	d.Press("esc")
	has(t, d.Text(), "Where a step goes", "Config diff")
}

func TestCurvesAreZoomed(t *testing.T) {
	d, _ := start(t, 120, 36, three(t)...)
	d.Press("+")
	has(t, d.Text(), "steps 101–200")
	d.Press("+", "-", "0")
	if strings.Contains(d.Text(), "steps 101") {
		t.Errorf("0 does not show all\n%s", d.Text())
	}
}

// Every column can be reached, also where there is no room for all.
func TestEveryColumnCanBeReached(t *testing.T) {
	for _, size := range testkit.Sizes() {
		d, _ := start(t, size[0], size[1], three(t)...)
		d.Press("z") // whatever the height
		seen := ""
		for range 12 {
			seen += d.Text()
			d.Press("right")
		}
		has(t, seen, "95 % interval", "p95", "tok/s", "exp.comm", "bytes", "memory", "loss", "  r")
	}
	d, _ := start(t, 80, 24, three(t)...)
	has(t, d.Text(), "→ more columns (1 of")
	d2, _ := start(t, 120, 36, three(t)...)
	has(t, d2.Text(), "95 % interval", "[")
}

func TestCollectivesStandSideBySide(t *testing.T) {
	d, store := start(t, 120, 36, three(t)...)
	for n, in := range store.Infos {
		for rank := range 4 {
			w, err := record.OpenTimelineWriter(record.TimelinePath(in.Dir, rank), rank, 0)
			if err != nil {
				t.Fatal(err)
			}
			span := record.Span{StartNanos: 1e9, DurNanos: int64(n+1) * 10e6, Label: kernels.Label{Phase: kernels.Backward, Op: "down"}, Op: kernels.AllReduce.String(), Class: kernels.Communication, Group: "tp"}
			if err := w.Write(50, []record.Span{span}); err != nil {
				t.Fatal(err)
			}
			if err := w.Close(); err != nil {
				t.Fatal(err)
			}
		}
	}
	d.Send(compareAll(store))
	has(t, d.Text(), "mean sampled step", "bwd all-reduce down", "#abcd 10.0 #efgh 20.0 #jkmn 30.0")
	d.Press("enter")
	has(t, d.Text(), "collectives of a mean step")
}

// The differences have what is not decisive too.
func TestTheDiffHasEveryKey(t *testing.T) {
	runs := three(t)
	runs[2].Experiment = testkit.Experiment(t, "scheme=btp", "tp=4", "steps=100", "rank=16")
	runs[2].Steps, runs[2].State = 100, runner.Finished
	d, store := start(t, 120, 40, runs...)
	d.Send(compareAll(store))
	d.Press("shift+tab", "z")
	has(t, d.Text(), "Config diff", "steps", "rank")
}

func TestTheLogIsOneKeyAway(t *testing.T) {
	d, _ := start(t, 120, 36, three(t)...)
	has(t, d.Text(), "l log")
}
