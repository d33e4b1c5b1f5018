package sweep_test

import (
	"strings"
	"testing"
	"time"

	"boost-tui/tui/testkit"
)

// heatLines are those of the heat map's pane.
func heatLines(text string) string {
	_, pane, _ := strings.Cut(text, "Heat ")
	var out []string
	for _, line := range strings.Split(pane, "\n")[1:] {
		if strings.Contains(line, "╚") {
			break
		}
		if at := strings.LastIndex(strings.TrimRight(line, " ║"), "║"); at >= 0 {
			out = append(out, strings.Trim(line[at:], "║ "))
		}
	}
	return strings.Join(out, "\n")
}

// A cell that is not final looks so, and the pane says why.
func TestHeatMarksWhatIsNotFinal(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 36}} {
		d, _ := onResults(t, size[0], size[1], 7) // btp tp 1 rank 64 runs, btp tp 2 rank 32 has failed, btp tp 2 rank 64 waits
		d.Press("h", "/")
		d.Type("scheme:btp")
		d.Press("enter")
		text := heatLines(d.Text())
		has(t, text, "1.77x", "1.55x▶", "1.55x✗", "filter /scheme:btp: 4 of 10 points")
		hasNot(t, text, "1.77x▶", "1.77x✗", "1.77x…")
		has(t, text, "✗ rests on a run that failed", "▶ so far")
		has(t, d.Text(), "running  filter /scheme:btp: 4 of 10 points")
		d.Press("right", "i")
		has(t, d.Text(), "so far: a run that it rests on goes on")
		d.Press("esc")
		// Of vanilla and btp at tp 2 rank 64 the second is to come.
		d.Press("esc")
		has(t, heatLines(d.Text()), "0.84x…")
		if size[1] > 30 {
			has(t, heatLines(d.Text()), "… so far: more of its runs are to come")
		}
	}
	d, _ := onResults(t, 80, 24, 10)
	d.Press("h")
	for _, sign := range []string{"x▶", "x✗", "x…"} {
		hasNot(t, heatLines(d.Text()), sign)
	}
}

// A figure that another run disturbed looks so.
func TestHeatMarksDisturbedFigures(t *testing.T) {
	view := made(t, comparison(t), 10)
	for _, r := range view.Table.Rows {
		r.Overlapped = []string{"20261129-150000-x-aaaa"}
	}
	s := &testkit.Sweeps{}
	s.Put(view)
	d := start(t, 80, 24, s)
	d.Press("s", "down", "enter")
	d.Advance(time.Second)
	d.Press("h", "m")
	d.Type("step_time_median")
	d.Press("enter")
	has(t, heatLines(d.Text()), "█!132.0", "! in front: another run was at work beside it")
	d.Press("i")
	has(t, d.Text(), "another run was at work beside it and slowed it")
}

// An active filter is said wherever one looks.
func TestFilterIsSaid(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 36}, {60, 20}, {40, 10}} {
		d, _ := onResults(t, size[0], size[1], 10)
		d.Press("/")
		d.Type("tp:1")
		d.Press("enter")
		for _, key := range []string{"tab", "tab", "tab", "tab"} {
			d.Press(key)
			lines := strings.Split(d.Text(), "\n")
			has(t, lines[len(lines)-2], "filter /tp:1")
		}
		d.Press("tab")
		d.Press("esc")
		hasNot(t, d.Text(), "filter /")
	}
}

// The darkest block is the best of whatever figure, and the pane says which way
// that is.
func TestHeatSaysWhichWayIsBetter(t *testing.T) {
	for metric, want := range map[string][2]string{
		"step_time_median": {"█132.0", "lower is better"}, "peak_memory": {"█120.0", "lower is better"},
		"tokens_per_second": {"█7 758", "higher is better"}, "vs_full": {"█1.77x", "higher is better"},
	} {
		d, _ := onResults(t, 80, 24, 10)
		d.Press("h", "m")
		d.Type(metric)
		d.Press("enter")
		has(t, heatLines(d.Text()), want[0], want[1])
	}
}

// What the map shows stays what it is when further points come, whatever these
// make possible.
func TestHeatMetricStays(t *testing.T) {
	plain := comparison(t)
	plain.Twins = false
	for _, c := range []struct {
		first, then, title string
	}{{"twins", "twins", "Heat  vs full"}, {"plain", "twins", "Heat  step ms"}} {
		view := made(t, comparison(t), 0)
		if c.first == "plain" {
			view = made(t, plain, 4)
		}
		s := &testkit.Sweeps{}
		s.Put(view)
		d := start(t, 120, 36, s)
		d.Press("s", "down", "enter")
		d.Advance(time.Second)
		has(t, d.Text(), c.title)
		s.Put(made(t, comparison(t), 10))
		d.Advance(5 * time.Second)
		has(t, d.Text(), c.title, "10 of 10 done")
	}
}
