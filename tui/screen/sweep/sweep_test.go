package sweep_test

import (
	"fmt"
	"reflect"
	"regexp"
	"strings"
	"testing"
	"time"

	"boost-tui/sweeps"
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

// current is the line under the cursor of the grid.
func current(d *testkit.Driver) string {
	for _, line := range strings.Split(d.Text(), "\n") {
		if _, rest, ok := strings.Cut(line, "║ ▸"); ok {
			rest, _, _ = strings.Cut(rest, "║")
			return strings.Join(strings.Fields(rest), " ")
		}
	}
	return ""
}

// Whatever is edited is checked where it is typed: the dialog stays open and says
// what is wrong, and esc leaves everything as it was. The cursor is on what was
// edited.
func TestEditorsCheckInPlace(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 36}, {60, 20}} {
		for _, c := range []struct {
			name         string
			open         []string
			wrong, fault string
			right        string
			line         string // under the cursor, before and after
		}{
			{"condition", []string{"w"}, "rnak > 3", "nearest: rank", "tp > 1", "rank"},
			{"condition of text", []string{"w"}, "scheme == btp", `quotes: "btp"`, `scheme == "btp"`, "rank"},
			{"condition that is none", []string{"w"}, "tp + 1", "true or false", "tp == 2", "rank"},
			{"constraint", []string{"c"}, "tp >", "column", "tp <= 2", "only if"},
			{"values", []string{"enter"}, "32,x", `"x"`, "16,32", "rank"},
			{"no values", []string{"enter"}, "1..2/0", "at least 2", "16,32", "rank"},
			{"zip", []string{"+", "d", "enter"}, "32:64,64", "values", "32:64,64:64", "rank,d"},
			{"base value", []string{"b", "s", "t", "e", "p", "s", "enter"}, "many", "many", "30", "steps"},
			{"whole axis", []string{"a", "w", "r", "i", "t", "e", "enter"}, "rank=16", "two axes", "lr=1e-4,1e-3", "lr"},
			{"repeats", []string{"G", "up", "up", "up", "up", "up", "up", "up", "up", "up", "enter"}, "0", "no whole number", "2", "repeats"},
			{"time", []string{"G", "up", "up", "up", "up", "up", "up", "enter"}, "soon", "90m", "2h", "time"},
			{"name", []string{"G", "enter"}, strings.Repeat("n", 70), "at most", "mine", "name"},
		} {
			s := &testkit.Sweeps{}
			d := start(t, size[0], size[1], s)
			axis(d, "scheme", "vanilla,btp")
			axis(d, "tp", "1,2")
			axis(d, "rank", "32,64")
			before := s.Spec
			d.Press(c.open...)
			d.Type(c.wrong)
			d.Press("enter")
			text := strings.Join(strings.Fields(strings.NewReplacer("║", "", "│", "").Replace(d.Text())), " ")
			if !strings.Contains(text, "enter accept") || !strings.Contains(text, c.fault) {
				t.Errorf("%v, %s: the dialog is closed, or says no %q\n%s", size, c.name, c.fault, d.Text())
			}
			d.Advance(time.Second)
			if !reflect.DeepEqual(s.Spec, before) {
				t.Errorf("%v, %s: the grid asks for %+v", size, c.name, s.Spec)
			}
			d.Press("ctrl+u")
			d.Type(c.right)
			d.Press("enter")
			d.Advance(time.Second)
			if text := d.Text(); strings.Contains(text, "enter accept") || strings.Contains(text, "✗") {
				t.Errorf("%v, %s: %q is not taken\n%s", size, c.name, c.right, text)
			}
			if line := current(d); !strings.HasPrefix(line, c.line) {
				t.Errorf("%v, %s: the cursor is on %q\n%s", size, c.name, line, d.Text())
			}
		}
	}
}

// Undo goes back to where the edit was made; another program's change of the
// sweep leaves the cursor on its line.
func TestCursorStays(t *testing.T) {
	s := &testkit.Sweeps{}
	d := start(t, 120, 36, s)
	axis(d, "scheme", "vanilla,btp")
	axis(d, "tp", "1,2")
	axis(d, "rank", "32,64")
	d.Press("k", "x", "G", "u")
	if line := current(d); !strings.HasPrefix(line, "tp") {
		t.Errorf("after undo the cursor is on %q", line)
	}
	d.Advance(time.Second)
	d.Press("R", "y")
	d.Advance(5 * time.Second)
	d.Press("shift+tab")
	if line := current(d); !strings.HasPrefix(line, "tp") {
		t.Errorf("after the start the cursor is on %q", line)
	}
	for id, view := range s.Views {
		other := *view
		a, err := space.ParseAxis("norm=online,sync")
		if err != nil {
			t.Fatal(err)
		}
		other.File.Axes = append([]space.Axis{a}, view.File.Axes...)
		s.Views[id] = &other
	}
	d.Advance(5 * time.Second)
	has(t, d.Text(), "[x]online")
	if line := current(d); !strings.HasPrefix(line, "tp") {
		t.Errorf("after another's change the cursor is on %q", line)
	}
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

// One of something is one.
func TestPlurals(t *testing.T) {
	odd := regexp.MustCompile(`(^|[^0-9] )\b1 (runs|points|shapes|combinations|twins|steps|failures|attempts|ranks|rows|files)`)
	d := start(t, 120, 36, &testkit.Sweeps{})
	check := func() {
		t.Helper()
		if bad := odd.FindString(d.Text()); bad != "" {
			t.Errorf("%q stands in\n%s", bad, d.Text())
		}
	}
	axis(d, "tp", "1")
	base(d, "steps", "1")
	d.Press("j", "j", "j", "space") // no twins
	d.Advance(time.Second)
	has(t, d.Text(), "1 combination of the axes' values", "= 1 run of 1 shape", "= 1 run × 1 step", "a new sweep of 1 run: R starts it")
	d.Press("G")
	for range 4 {
		d.Press("k")
	}
	d.Press("enter")
	d.Type("1")
	d.Press("enter")
	d.Advance(time.Second)
	check()
	d.Press("R")
	has(t, d.Text(), "start 1 run ", "1 failure in a row")
	check()
	d.Press("y")
	d.Advance(5 * time.Second)
	check()
	d.Press("i")
	has(t, d.Text(), "1 rank, 1 step")
	check()
	d.Press("esc", "K")
	check()
}

// flat is a pane's text without frames and breaks.
func flat(text string, pane string) string {
	var out []string
	for _, line := range strings.Split(text, "\n") {
		if parts := strings.Split(line, pane); len(parts) > 2 {
			line = parts[1]
		}
		out = append(out, strings.Fields(line)...)
	}
	return strings.Join(out, " ")
}

// Nothing that explains something is cut at 80 cells: the help of an option, the
// cost, a refusal.
func TestExplanationsAreWhole(t *testing.T) {
	d := start(t, 80, 24, &testkit.Sweeps{})
	axis(d, "tp", "1,2")
	has(t, flat(d.Text(), "║"), "cost unknown: no run that its points could be measured by has finished yet")
	d.Press("G")
	for _, help := range []string{"name: what to call the sweep", "stop slower: end a run that is clearly slower than the best at the same step", "stop diverged: end a run whose loss is no number or grows beyond its start",
		"retries: of a point whose run the machine ended", "failures: so many in a row stop the sweep; 0: no limit", "device hours: limit of ranks x hours over all runs; nothing: no limit",
		"time: limit of all its sittings together: 90m, 8h; nothing: no limit", "at once: runs at a time; those of one machine slow each other down, so that they give no verdict",
		"order: of the queue: as given, with twins first; fewest FLOPs first; shuffled", "repeats: runs of each point, each with a seed of its own",
		"twins: the full-rank and the vanilla run that each low-rank point is held against"} {
		has(t, flat(d.Text(), "║"), help)
		d.Press("k")
	}
	whole := made(t, comparison(t), 10)
	whole.State.Phase = sweeps.PhaseFinished
	d, _ = shown(t, 80, 24, whole)
	d.Press("R")
	has(t, flat(d.Text(), "\x00"), "every point has finished: an edit of the grid adds points, N makes a new sweep like this one")
	d.Advance(10 * time.Second)
	d.Press("?")
	hasNot(t, d.Text(), "…")
}
