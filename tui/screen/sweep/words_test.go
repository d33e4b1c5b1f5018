package sweep_test

import (
	"regexp"
	"strings"
	"testing"
	"time"

	"boost-tui/sweeps"
	"boost-tui/tui/testkit"
)

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
