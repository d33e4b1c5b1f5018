package sweep_test

import (
	"fmt"
	"slices"
	"strings"
	"testing"
	"time"

	"boost-tui/sweeps"
	"boost-tui/tui/testkit"
)

var goldenSizes = [][2]int{{40, 10}, {60, 20}, {80, 24}, {120, 36}, {200, 50}}

func TestGoldens(t *testing.T) {
	half, whole := made(t, comparison(t), 7), made(t, comparison(t), 10)
	whole.State.Phase = sweeps.PhaseFinished
	paused := *half
	st := *half.State
	st.Phase, st.Cause = sweeps.PhasePaused, "the UI paused it"
	paused.State = &st
	for name, begin := range map[string]func(w, h int) *testkit.Driver{
		"empty": func(w, h int) *testkit.Driver { return start(t, w, h, &testkit.Sweeps{}) },
		"draft": func(w, h int) *testkit.Driver {
			d := start(t, w, h, &testkit.Sweeps{})
			axis(d, "scheme", "vanilla,btp")
			axis(d, "tp", "1..3")
			axis(d, "rank", "32..64*2")
			return d
		},
		"error": func(w, h int) *testkit.Driver {
			d := start(t, w, h, &testkit.Sweeps{})
			axis(d, "tp", "1,2")
			d.Press("c")
			d.Type("tp > 4")
			d.Press("enter")
			d.Advance(time.Second)
			return d
		},
		"running":  func(w, h int) *testkit.Driver { d, _ := shown(t, w, h, half); return d },
		"paused":   func(w, h int) *testkit.Driver { d, _ := shown(t, w, h, &paused); return d },
		"finished": func(w, h int) *testkit.Driver { d, _ := shown(t, w, h, whole); d.Press("tab"); return d },
		"heat":     func(w, h int) *testkit.Driver { d, _ := shown(t, w, h, whole); d.Press("h"); return d },
		"gone": func(w, h int) *testkit.Driver {
			s := &testkit.Sweeps{}
			s.Put(half)
			d := start(t, w, h, s)
			delete(s.Views, shownID)
			d.Press("s", "down", "enter")
			return d
		},
	} {
		for _, size := range goldenSizes {
			t.Run(fmt.Sprintf("%s_%dx%d", name, size[0], size[1]), func(t *testing.T) {
				testkit.Golden(t, fmt.Sprintf("%s_%dx%d", name, size[0], size[1]), begin(size[0], size[1]).Text(), size[0], size[1])
			})
		}
	}
}

// A new sweep is started after a question, and shown.
func TestRunANewSweep(t *testing.T) {
	s := &testkit.Sweeps{}
	d := start(t, 80, 24, s)
	axis(d, "scheme", "vanilla,btp")
	axis(d, "tp", "1,2")
	d.Press("R", "enter")
	if len(s.Did) > 0 {
		t.Fatalf("enter, whose default is No, did %v", s.Did)
	}
	d.Press("R", "y")
	d.Advance(5 * time.Second) // the toast goes
	if got := strings.Join(s.Did, ", "); got != "create 6, start 20261129-152000-sweep-s001" {
		t.Errorf("did %s", got)
	}
	has(t, d.Text(), "Queue", "vanilla tp 2", "running")
	// An edit of its grid makes it larger.
	d.Press("shift+tab", "enter") // the cursor is on tp as before
	d.Type("1,2,4")
	d.Press("enter")
	d.Advance(time.Second)
	has(t, d.Text(), "3 new")
	d.Press("R")
	has(t, d.Text(), "Grow the sweep", "add 3 runs")
	d.Press("y")
	d.Advance(time.Second)
	if !slices.Contains(s.Did, "grow 20261129-152000-sweep-s001 3") {
		t.Errorf("did %v", s.Did)
	}
	has(t, d.Text(), "0 new")
	d.Press("R")
	has(t, d.Text(), "it runs already")
}

func TestPauseOrderAndEnd(t *testing.T) {
	d, s := shown(t, 120, 36, made(t, comparison(t), 4))
	d.Press("P")
	d.Press("R")
	d.Press("j", "j", "space", "space", "f")
	d.Press("o", "j", "enter")
	d.Press("esc", "g", "j", "x")
	d.Press("G", "r") // a finished one
	d.Press("/")
	d.Press("K")
	has(t, d.Text(), "sweep ranks #k3fm: 1 running, 4 waiting", "[ No ]")
	d.Press("y")
	want := []string{"pause " + shownID + " false", "start " + shownID, "front " + shownID + " 2", "change " + shownID + " cheapest", "skip " + shownID + " 1", "end " + shownID + " 0"}
	if fmt.Sprint(s.Did) != fmt.Sprint(want) {
		t.Errorf("did %q\nwant %q", s.Did, want)
	}
}

func TestRetryAndCancel(t *testing.T) {
	view := made(t, comparison(t), 4)
	d, s := shown(t, 120, 36, view)
	for range 5 {
		d.Press("j")
	}
	d.Press("r")
	if want := []string{"retry " + shownID + " 1", "start " + shownID}; fmt.Sprint(s.Did) != fmt.Sprint(want) {
		t.Errorf("did %v, want %v", s.Did, want)
	}
	d.Press("i")
	has(t, d.Text(), "attempt 1", "killed by SIGKILL")
	hasNot(t, d.Text(), "[2J")
	d.Press("esc", "g", "K")
	has(t, d.Text(), "end this point", "the whole sweep")
	d.Press("n")
	if len(s.Did) != 2 {
		t.Errorf("No did %v", s.Did)
	}
}

func TestReadOnly(t *testing.T) {
	view := made(t, comparison(t), 4)
	s := &testkit.Sweeps{}
	s.Put(view)
	d := readOnly(t, s)
	d.Press("s", "down", "enter")
	d.Advance(time.Second)
	for _, k := range []string{"R", "P", "r", "x", "f", "o", "K"} {
		d.Press(k)
		has(t, d.Text(), k+" is off")
	}
	if len(s.Did) > 0 {
		t.Errorf("read-only did %v", s.Did)
	}
	d.Press("tab", "o")
	has(t, d.Text(), "Sort by")
}
