package compare_test

import (
	"bytes"
	"os"
	"strings"
	"testing"

	"boost-tui/profiler/record"
	"boost-tui/tui/msg"
	"boost-tui/tui/testkit"
)

// hiccups makes every fourth step of a run ten times as long: its mean says
// something else than its median.
func hiccups(t testing.TB, dir string, ranks int) {
	t.Helper()
	for r := range ranks {
		path := record.StepsPath(dir, r)
		data, err := os.ReadFile(path)
		if err != nil {
			t.Fatal(err)
		}
		var out []byte
		for i, line := range bytes.Split(bytes.TrimSpace(data), []byte("\n")) {
			var l record.StepLine
			if err := l.Decode(line); err != nil {
				t.Fatal(err)
			}
			if i%4 == 0 {
				l.IdleNanos += 9 * l.WallNanos
				l.WallNanos *= 10
			}
			out = append(l.Append(out), '\n')
		}
		if err := os.WriteFile(path, out, 0o644); err != nil {
			t.Fatal(err)
		}
	}
}

// The reasons are about means and say so; where the medians say the opposite,
// that is said too, and nothing is called faster.
func TestMeansThatContradictTheMediansSaySo(t *testing.T) {
	for _, size := range [][2]int{{120, 36}, {80, 24}} {
		d, store := start(t, size[0], size[1], three(t)...)
		if strings.Contains(d.Text(), "opposite") {
			t.Errorf("nothing is opposite here:\n%s", d.Text())
		}
		hiccups(t, store.Infos[2].Dir, 4)
		d.Send(compareAll(store))
		has(t, d.Text(), "mean", "opposite")
		if strings.Contains(d.Text(), "faster than") || strings.Contains(d.Text(), "slower than") {
			t.Errorf("a verdict by means:\n%s", d.Text())
		}
	}
}

func TestNoBestWithoutAVerdict(t *testing.T) {
	short := three(t)
	for i := range short {
		short[i].Steps = 12
	}
	one := three(t) // only the baseline is short
	one[0].Steps, one[1].Steps = 12, 12
	for name, runs := range map[string][]testkit.RunDir{"all short": short, "baseline short": one} {
		for _, size := range testkit.Sizes() {
			d, _ := start(t, size[0], size[1], runs...)
			if text := d.Text(); strings.Contains(text, "best") {
				t.Errorf("%s: a claim at %v:\n%s", name, size, text)
			}
		}
	}
}

func TestRunsThatSlowedEachOtherAreMarked(t *testing.T) {
	runs := three(t)
	for i := range runs {
		runs[i].End = testkit.Start
	}
	d, _ := start(t, 120, 36, runs...)
	has(t, d.Text(), "!410.2", "! #jkmn", "slowed each other", "!2.05×", "no verdict")
}

// Headings name the baseline that was given, whatever it is.
func TestTheBaselineIsNamed(t *testing.T) {
	d, store := start(t, 200, 50, three(t)...)
	has(t, d.Text(), "vs full", "Speed-up over full-rank #abcd", "vs full-rank #abcd", "vanilla #efgh's")
	d.Send(msg.CompareRuns{IDs: []string{store.Infos[1].ID, store.Infos[2].ID}}, msg.References{Baseline: store.Infos[1].ID, Vanilla: store.Infos[2].ID})
	has(t, d.Text(), "vs base", "Speed-up over baseline vanilla #efgh", "vs ref")
	if strings.Contains(d.Text(), "full-rank") {
		t.Errorf("there is no full-rank run:\n%s", d.Text())
	}
}
