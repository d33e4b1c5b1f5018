package compare_test

import (
	"bytes"
	"fmt"
	"os"
	"strings"
	"testing"

	profile "boost-tui/profiler/compare"
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
	has(t, d.Text(), "!410.2", "! #jkmn", "slowed each other", "!(2.05×)", "no verdict: #jkmn ran beside another")
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

// The best is never a run that the table shows as slower than another: where
// one that no verdict can be given for is the fastest, the line says that.
func TestTheBestIsNotSlowerThanAnotherRow(t *testing.T) {
	runs := three(t)
	runs[0].Wall, runs[0].Steps = 0.1, 12 // the baseline: short, and faster than all
	for _, size := range testkit.Sizes() {
		d, _ := start(t, size[0], size[1], runs...)
		if text := d.Text(); strings.Contains(text, "best:") || !strings.Contains(text, "no verdict: #abcd is short") {
			t.Errorf("%v:\n%s", size, text)
		}
	}
	runs = three(t)
	runs[0].Steps = 12 // short, and slower
	d, _ := start(t, 120, 36, runs...)
	has(t, d.Text(), "best: #jkmn cola btp  (2.", "×) vs full-rank #abcd  1.80× [1.79, 1.81] vs vanilla #efgh")
	odd := three(t)[2]
	odd.ID, odd.Wall, odd.Experiment = "20261129-142001-tiny-cola-btp-tp4-pqrs", 0.1, testkit.Experiment(t, "tp=4", "steps=200", "micro-batch=4")
	d, store := start(t, 120, 36, append(three(t), odd)...)
	d.Send(compareAll(store))
	has(t, d.Text(), "no verdict: #pqrs is not comparable")
}

// Ratios without a verdict are in parentheses, whichever side is short; a loss
// that cannot be compared has its sign, as `compare` prints it.
func TestRatiosWithoutAVerdictAreMarked(t *testing.T) {
	runs := three(t)
	runs[0].Steps, runs[0].Wall = 30, 0.41
	for _, size := range [][2]int{{120, 36}, {80, 24}} {
		d, store := start(t, size[0], size[1], runs...)
		table, err := profile.Compare([]string{store.Infos[0].Dir, store.Infos[1].Dir, store.Infos[2].Dir}, profile.Options{})
		if err != nil {
			t.Fatal(err)
		}
		r := table.Rows[2]
		if r.VsFull.Verdict != "" || r.VsVanilla.Verdict == "" {
			t.Fatalf("verdicts %+v and %+v", r.VsFull, r.VsVanilla)
		}
		has(t, d.Text(), fmt.Sprintf("(%.2f×)    %.2f×", r.VsFull.Ratio, r.VsVanilla.Ratio))
		for range 3 {
			if strings.Contains(d.Text(), "loss") {
				break
			}
			d.Press("right")
		}
		has(t, d.Text(), fmt.Sprintf("≠%.3f", *r.LossLast))
	}
}
