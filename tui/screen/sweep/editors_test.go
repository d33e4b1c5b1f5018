package sweep_test

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"boost-tui/sweeps/space"
	"boost-tui/tui/testkit"
)

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
