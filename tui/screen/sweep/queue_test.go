package sweep_test

import (
	"slices"
	"strings"
	"testing"
	"time"

	"boost-tui/sweeps"
	"boost-tui/sweeps/space"
	"boost-tui/tui/screen"
)

// batches is a sweep whose points have long names: all at one rank, but for
// their micro-batch alike.
func batches(t testing.TB) *screen.SweepView {
	f := space.File{Spec: space.Spec{Name: "batches", Twins: true, Set: []space.Assign{{Key: "size", Value: "tiny"}, {Key: "variant", Value: "cola"}, {Key: "steps", Value: "200"}}}}
	for _, text := range []string{"scheme=vanilla,btp", "rank=16", "micro-batch=2,4,8"} {
		a, err := space.ParseAxis(text)
		if err != nil {
			t.Fatal(err)
		}
		f.Axes = append(f.Axes, a)
	}
	return made(t, f, 4)
}

// queueRows are the lines of the queue pane, without its frame.
func queueRows(text string) (out []string) {
	inside := false
	for _, line := range strings.Split(text, "\n") {
		switch {
		case strings.Contains(line, "╔═ Queue"):
			inside = true
		case strings.Contains(line, "╚"):
			return out
		case inside:
			_, part, _ := strings.Cut(line, "║")
			part, _, _ = strings.Cut(part, "║")
			out = append(out, part)
		}
	}
	return out
}

// No two points look alike in the queue, whatever the size, and the one under
// the cursor is told in full: its label, its state and why.
func TestQueueTellsPointsApart(t *testing.T) {
	view := batches(t)
	failed := slices.IndexFunc(view.State.Points, func(p *sweeps.PointState) bool { return p.Status == sweeps.Failed })
	p := view.State.Points[failed]
	p.Attempts = []sweeps.Attempt{{N: 1, Run: "20261129-150000-x-aaaa"}, {N: 2, Run: "20261129-150000-x-bbbb"}, {N: 3, Run: p.Run()}}
	for _, size := range [][2]int{{80, 24}, {120, 36}, {200, 50}, {60, 20}} {
		d, _ := shown(t, size[0], size[1], view)
		seen := map[string]bool{}
		told := ""
		for range view.State.Points {
			rows := queueRows(d.Text())
			told += strings.Join(strings.Fields(strings.Join(rows, " ")), " ")
			for _, row := range rows[1:] {
				if sign, name, ok := strings.Cut(strings.TrimLeft(row, " ▸"), " "); ok && strings.Contains("✓✗▶…", sign) {
					name, _, _ = strings.Cut(name, "  ")
					if strings.Contains(name, "…") {
						t.Errorf("%v: %q is cut", size, name)
					}
					seen[name] = true
				}
			}
			d.Press("j")
		}
		if len(seen) < len(view.State.Points) {
			t.Errorf("%v: %d points have %d names: %v", size, len(view.State.Points), len(seen), seen)
		}
		for _, p := range view.State.Points {
			if want := p.Label + ": "; !p.Twin && !strings.Contains(told, want) {
				t.Errorf("%v: %q is never told in full", size, want)
			}
		}
		for _, want := range []string{"failed after 3 attempts: rank 1 was killed by SIGKILL", "running, step 120 of 200", "waits, number 1 of the queue", ": finished"} {
			if !strings.Contains(told, want) {
				t.Errorf("%v: %q is never told\n%s", size, want, d.Text())
			}
		}
	}
	d, _ := shown(t, 120, 36, view)
	has(t, d.Text(), "failed 3×")
	d.Press("j", "j", "j", "j")
	d.Press("i")
	has(t, d.Text(), "failed after 3 attempts", "attempt 3")
}

// Every column of queue and results can be brought into view by keys.
func TestEveryColumnIsReached(t *testing.T) {
	for _, size := range [][2]int{{80, 24}, {120, 36}, {60, 20}, {40, 10}} {
		d, _ := shown(t, size[0], size[1], made(t, comparison(t), 10))
		for _, pane := range []struct {
			name, key string
			want      []string
		}{
			{"queue", "right", []string{"point", "run", "step", "ms", "left", "state"}},
			{"results", "right", []string{"scheme", "tp", " r ", "step ms", "vs full", "vs van", "loss20", "loss ", "mem MiB", "comm MiB", "tok/s", "exposed", "state", "95 % interval", "tries"}},
		} {
			seen := ""
			for range 16 {
				seen += d.Text()
				d.Press(pane.key)
			}
			for _, want := range pane.want {
				if !strings.Contains(seen, want) {
					t.Errorf("%v: the %s never show %q", size, pane.name, want)
				}
			}
			d.Press("tab")
		}
	}
	// At 80x24 the figures of the front stand beside the loss of the last step at once.
	d, _ := onResults(t, 80, 24, 10)
	line := strings.Split(d.Text(), "\n")[13]
	for _, want := range []string{"step ms", "loss20", "loss ", "mem MiB"} {
		if !strings.Contains(line, want) {
			t.Errorf("%q is not among the first columns: %s", want, line)
		}
	}
}

// Where the front is made of the time of a token, it has a column.
func TestTimeOfATokenIsShown(t *testing.T) {
	view := batches(t)
	d, _ := shown(t, 80, 24, view)
	d.Press("tab")
	has(t, d.Text(), "us/token")
	d.Advance(time.Second)
	d, _ = onResults(t, 80, 24, 10)
	hasNot(t, d.Text(), "us/token")
}
