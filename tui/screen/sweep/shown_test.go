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
	has(t, d.Text(), "end this point", "whole sweep")
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

// like types the grid of the fixture.
func like(d *testkit.Driver) {
	axis(d, "scheme", "vanilla,btp")
	axis(d, "tp", "1,2")
	axis(d, "rank", "32..64*2")
	base(d, "variant", "cola")
	base(d, "steps", "200")
}

// What was run already is not run again without a word.
func TestTheSameSweepIsFound(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 36}} {
		whole := made(t, comparison(t), 10)
		whole.State.Phase = sweeps.PhaseFinished
		s := &testkit.Sweeps{}
		s.Put(whole)
		d := start(t, size[0], size[1], s)
		like(d)
		d.Press("R")
		has(t, d.Text(), "The same sweep has been run: ranks #k3fm of 14:20, finished, 10 of 10 over", "run 10 points again", "look at the results")
		d.Press("enter") // No
		d.Press("R", "w")
		d.Advance(5 * time.Second)
		has(t, d.Text(), "ranks #k3fm ✓ finished")
		if len(s.Did) > 0 {
			t.Errorf("looking did %v", s.Did)
		}
		d.Press("s", "up", "enter")
		d.Advance(time.Second)
		d.Press("R", "y")
		d.Advance(5 * time.Second)
		if want := "[create 10 start 20261129-152000-sweep-s002]"; fmt.Sprint(s.Did) != want {
			t.Errorf("did %v, want %s", s.Did, want)
		}
		// The one that runs now is not made a second time.
		d.Press("s", "up", "enter")
		d.Press("s", "home", "enter")
		d.Advance(time.Second)
		d.Press("R")
		has(t, d.Text(), "The same sweep is there: #s002", "running", "let it go on")
		d.Press("y")
		d.Advance(time.Second)
		if got := s.Did[len(s.Did)-2:]; fmt.Sprint(got) != "[same 20261129-152000-sweep-s002 start 20261129-152000-sweep-s002]" {
			t.Errorf("did %v", s.Did)
		}
		has(t, d.Text(), "was there already: it goes on")
	}
}

// What a key says that it cannot do is true.
func TestRefusals(t *testing.T) {
	whole := made(t, comparison(t), 10)
	whole.State.Phase = sweeps.PhaseFinished
	d, s := shown(t, 120, 36, whole)
	for key, want := range map[string]string{"P": "the sweep has finished: there is nothing to pause", "R": "every point has finished", "r": "only what failed, was stopped, cancelled or skipped runs again"} {
		d.Press(key)
		has(t, d.Text(), want)
		d.Advance(10 * time.Second)
	}
	for _, p := range whole.State.Points[:2] {
		p.Status = sweeps.Failed
	}
	other := *whole
	s.Put(&other)
	d.Advance(5 * time.Second)
	d.Press("R")
	has(t, d.Text(), "r queues what did not finish again (2 points)")
	if len(s.Did) > 0 {
		t.Errorf("did %v", s.Did)
	}
	d = start(t, 120, 36, &testkit.Sweeps{})
	d.Press("P")
	has(t, d.Text(), "nothing to pause")
}

// Another new sweep does not take the place of one that is being made unasked,
// and letters find the kind.
func TestNewSweepKeepsTheDraft(t *testing.T) {
	s := &testkit.Sweeps{}
	d := start(t, 80, 24, s)
	d.Press("N")
	d.Type("schemes")
	d.Press("enter") // nothing was made of the first one
	d.Advance(time.Second)
	has(t, d.Text(), "[x]vanilla [x]btp", "a new sweep of 10 runs")
	axis(d, "norm", "online,sync")
	d.Press("N")
	d.Type("empty")
	d.Press("enter")
	has(t, d.Text(), "scheme 2 values", "norm 2 values", "[ No ]", "go on with it")
	d.Press("enter")
	has(t, d.Text(), "[x]online")
	d.Press("N", "enter", "y")
	d.Advance(time.Second)
	has(t, d.Text(), "no axis yet")
	d.Press("u")
	d.Advance(time.Second)
	has(t, d.Text(), "[x]online")
	// From a sweep that is shown: the same, and w goes back to the draft.
	s.Put(made(t, comparison(t), 10))
	d.Press("s", "down", "enter")
	d.Advance(time.Second)
	d.Press("N")
	d.Type("like")
	d.Press("enter")
	has(t, d.Text(), "norm 2 values")
	d.Press("w")
	d.Advance(time.Second)
	has(t, d.Text(), "Grid  new sweep", "[x]online")
	// What was started is no longer being made.
	d.Press("R", "y")
	d.Advance(5 * time.Second)
	d.Press("N", "enter")
	d.Advance(time.Second)
	has(t, d.Text(), "Grid  new sweep", "no axis yet")
}
