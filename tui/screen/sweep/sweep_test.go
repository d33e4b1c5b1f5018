package sweep_test

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"

	"boost-tui/sweeps/space"
	"boost-tui/tui/app"
	"boost-tui/tui/screen/sweep"
	"boost-tui/tui/testkit"
)

func start(t testing.TB, w, h int, s *testkit.Sweeps) *testkit.Driver {
	t.Helper()
	env := testkit.Env(t, &testkit.Store{})
	if s != nil {
		env.Sweeps = s
	}
	return testkit.NewDriver(t, w, h, app.Options{Env: env, Screens: testkit.One(sweep.New())})
}

// axis adds an axis by keys.
func axis(d *testkit.Driver, key, values string) {
	d.Press("a")
	d.Type(key)
	d.Press("enter", "ctrl+u")
	d.Type(values)
	d.Press("enter")
	d.Advance(time.Second)
}

// base gives every point a value by keys; the key is typed in.
func base(d *testkit.Driver, key, value string) {
	d.Press("b")
	d.Type(key)
	d.Press("enter", "ctrl+u")
	d.Type(value)
	d.Press("enter")
	d.Advance(time.Second)
}

func has(t testing.TB, text string, wants ...string) {
	t.Helper()
	for _, w := range wants {
		if !strings.Contains(text, w) {
			t.Errorf("%q is missing in\n%s", w, text)
		}
	}
}

func hasNot(t testing.TB, text string, wants ...string) {
	t.Helper()
	for _, w := range wants {
		if strings.Contains(text, w) {
			t.Errorf("%q stands in\n%s", w, text)
		}
	}
}

// Everything that a sweep's file can say, by keys alone.
func TestGridByKeys(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 36}, {40, 10}} {
		t.Run(fmt.Sprint(size), func(t *testing.T) {
			s := &testkit.Sweeps{}
			d := start(t, size[0], size[1], s)
			axis(d, "scheme", "full-rank,vanilla,btp")
			d.Press("right", "left", "space") // full-rank off
			axis(d, "tp", "1..3")
			d.Press("right", "right", "space", "space", "space") // 3 off
			axis(d, "rank", "32..64*2")
			d.Press("w")
			d.Type(`tp > 1`)
			d.Press("enter")
			axis(d, "d", "64,128")
			d.Press("+")
			d.Type("ff")
			d.Press("enter", "ctrl+u")
			d.Type("64:192,128:384")
			d.Press("enter")
			base(d, "steps", "40")
			d.Press("c")
			d.Type("rank * tp <= 128")
			d.Press("enter")
			d.Advance(time.Second)
			want := space.Spec{Twins: true, Repeats: 1, Set: []space.Assign{{Key: "size", Value: "tiny"}, {Key: "steps", Value: "40"}}, Constraints: []string{"rank * tp <= 128"},
				Axes: []space.Axis{
					{Keys: []string{"scheme"}, Values: [][]string{{"vanilla"}, {"btp"}}},
					{Keys: []string{"tp"}, Values: [][]string{{"1"}, {"2"}}},
					{Keys: []string{"rank"}, Values: [][]string{{"32"}, {"64"}}, When: "tp > 1", Text: "32..64*2"},
					{Keys: []string{"d", "ff"}, Values: [][]string{{"64", "192"}, {"128", "384"}}},
				}}
			if !reflect.DeepEqual(s.Spec, want) {
				t.Errorf("the grid asks for\n%+v, want\n%+v", s.Spec, want)
			}
			// Options, undo, remove, unzip.
			d.Press("G", "enter")
			d.Type("mine")
			d.Press("enter", "g", "-")
			d.Advance(time.Second)
			if s.Spec.Name != "mine" {
				t.Errorf("no name in %+v", s.Spec)
			}
			d.Press("j", "j", "j", "-", "u", "g", "x", "u")
			d.Advance(time.Second)
			if len(s.Spec.Axes) != 4 || len(s.Spec.Axes[3].Keys) != 2 {
				t.Errorf("u did not take the edits back: %+v", s.Spec.Axes)
			}
			d.Press(">")
			d.Advance(time.Second)
			if s.Spec.Axes[1].Keys[0] != "scheme" {
				t.Errorf("> did not move the axis: %+v", s.Spec.Axes)
			}
			d.Press("y")
			if raw := string(d.Model.TakeRaw()); !strings.Contains(raw, "\x1b]52;") {
				t.Errorf("nothing for the clipboard: %q", raw)
			}
		})
	}
}

// Every option of the queue has a line that changes it.
func TestOptions(t *testing.T) {
	s := &testkit.Sweeps{}
	d := start(t, 120, 40, s)
	axis(d, "tp", "1,2")
	d.Press("G") // name
	for _, text := range []string{"", "", "", "3", "0", "2.5", "90m", "2", "", "4", ""} {
		if text == "" {
			d.Press("right", "k")
			continue
		}
		d.Press("enter", "ctrl+u")
		d.Type(text)
		d.Press("enter", "k")
	}
	d.Advance(time.Second)
	has(t, d.Text(), "cheapest", "at once       2", "time          1h30m", "device hours  2.5", "failures      0", "retries       3")
	if s.Spec.Repeats != 4 || s.Spec.Twins {
		t.Errorf("repeats and twins are %+v", s.Spec)
	}
	d.Press("enter") // a constraint is not an option: the prompt opens
	has(t, d.Text(), "Only points that meet")
}

// What is wrong is said where it can be put right, at once.
func TestFaults(t *testing.T) {
	s := &testkit.Sweeps{}
	d := start(t, 120, 36, s)
	d.Press("R")
	has(t, d.Text(), "the grid has no axis yet")
	d.Press("a")
	d.Type("lr")
	d.Press("enter", "ctrl+u")
	d.Type("1..2/0")
	d.Press("enter")
	has(t, d.Text(), "no count of values of at least 2")
	d.Press("ctrl+u")
	d.Type("1e-4..1e-2/3log")
	d.Press("enter")
	d.Advance(time.Second)
	has(t, d.Text(), "[x]0.0001 [x]0.001 [x]0.01")
	d.Press("c")
	d.Type("lr > 1")
	d.Press("enter")
	d.Advance(time.Second)
	has(t, d.Text(), "✗ no point is left", "lr > 1")
	d.Press("R")
	if len(s.Did) > 0 {
		t.Errorf("a space with a fault was started: %v", s.Did)
	}
	d.Press("i")
	has(t, d.Text(), "cannot run", "is not met by")
	d.Press("esc", "u")
	axis(d, "seed", "1..100000")
	has(t, d.Text(), "Values of seed", "✗", "200 000")
}

// Every point that cannot run stands there with its reason.
func TestPrunedPoints(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 36}} {
		d := start(t, size[0], size[1], &testkit.Sweeps{})
		axis(d, "tp", "1,3")
		has(t, d.Text(), "2 raw −1 pruned", "heads")
		d.Press("i")
		has(t, d.Text(), "Pruned:", "tp 3", "heads")
	}
}
