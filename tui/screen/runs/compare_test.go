package runs_test

import (
	"context"
	"fmt"
	"strings"
	"testing"

	"boost-tui/profiler/compare"
	"boost-tui/tui/app"
	"boost-tui/tui/msg"
	"boost-tui/tui/screen/runs"
	"boost-tui/tui/testkit"
	"boost-tui/tui/theme"
)

// With a baseline the list shows what profiler/compare says of each run that is over, and nothing of its own.
func TestSpeedupColumn(t *testing.T) {
	s := store(t)
	env := testkit.Env(t, s)
	asked := map[string]int{}
	rows := map[string]compare.Row{
		"0801-van-b2": {VsFull: &compare.Speedup{Ratio: 1.13, Verdict: "faster"}, Comparable: true},
		"0802-btp-c3": {VsFull: &compare.Speedup{Ratio: 2.04}, Comparable: true},
		"0804-svd-e5": {VsFull: &compare.Speedup{Ratio: 9}, Comparable: false},
		"0805-svd-f6": {VsFull: &compare.Speedup{Ratio: 1.01, Verdict: "~"}, Comparable: true},
	}
	env.Compare = func(_ context.Context, dirs []string, o compare.Options) (compare.Table, error) {
		id := strings.TrimPrefix(dirs[1], "/runs/")
		asked[id]++
		row, ok := rows[id]
		if dirs[0] != "/runs/0801-full-a1" || o.Baseline != "0801-full-a1" || !ok {
			return compare.Table{}, fmt.Errorf("no comparison of %v", dirs)
		}
		row.ID = id
		return compare.Table{Rows: []compare.Row{row}}, nil
	}
	d := testkit.NewDriver(t, 120, 36, app.Options{Env: env, Screens: testkit.One(runs.New())})
	if strings.Contains(d.Text(), "vs full") {
		t.Error("a column without a baseline")
	}
	d.Press("G", "b")
	text := d.Text()
	for _, want := range []string{"vs full", "1.13×", "(2.04×)", "≠", "~1.01×", "1.00×"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "9.00×") {
		t.Errorf("a ratio of runs that are not comparable:\n%s", text)
	}
	d.Press("k", "j", "k")
	for id, n := range asked {
		if n != 1 {
			t.Errorf("%s was compared %d times", id, n)
		}
	}
	d.Send(msg.References{})
	if strings.Contains(d.Text(), "vs full") {
		t.Error("the column stays without a baseline")
	}
	env.Theme = theme.New(theme.Options{Plain: true, ASCII: true})
	ascii := testkit.NewDriver(t, 120, 36, app.Options{Env: env, Screens: testkit.One(runs.New())})
	ascii.View() // says how many runs are seen
	ascii.Press("G", "b")
	if text := ascii.Text(); !strings.Contains(text, "!=") {
		t.Errorf("no != in\n%s", text)
	}
}

func TestDiffOfTwoRuns(t *testing.T) {
	d := start(t, 120, 36, store(t))
	d.Press("d")
	if !strings.Contains(d.Text(), "mark two runs") {
		t.Errorf("nothing says what d needs:\n%s", d.Text())
	}
	d.Press("G", "space", "k", "space", "d")
	text := d.Text()
	for _, want := range []string{"variant", "full", "cola", "scheme", "vanilla", "keys are equal"} {
		if !strings.Contains(text, want) {
			t.Errorf("no %q in\n%s", want, text)
		}
	}
	if strings.Contains(text, "weight-decay") {
		t.Errorf("an equal key is listed:\n%s", text)
	}
}

// The cursor stays on its run through a filter that nothing passes.
func TestFilterKeepsTheCursor(t *testing.T) {
	d := start(t, 120, 36, store(t))
	d.Press("G", "k", "k")
	if !strings.Contains(d.Text(), "▸ ✓ #c3") {
		t.Fatalf("not on c3:\n%s", d.Text())
	}
	for _, end := range []string{"esc", "enter"} {
		d.Press("/")
		d.Type("zzz")
		d.Press(end, "esc")
		if !strings.Contains(d.Text(), "▸ ✓ #c3") {
			t.Errorf("%s: the cursor left its run:\n%s", end, d.Text())
		}
	}
	d.Press("/")
	d.Type("ref")
	d.Press("enter", "esc")
	if !strings.Contains(d.Text(), "▸ ✓ #b2") || !strings.Contains(d.Text(), "8 of 8") {
		t.Errorf("the cursor left the run that was found:\n%s", d.Text())
	}
}

func TestNameAndTagsAreToldApart(t *testing.T) {
	s := store(t)
	s.Infos[2].Tags = []string{"fast", "best"}
	if text := start(t, 200, 36, s).Text(); !strings.Contains(text, "best so far [fast best]") || !strings.Contains(text, " [ref]") {
		t.Errorf("name and tags run together:\n%s", text)
	}
}
