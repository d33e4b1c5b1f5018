package live_test

import (
	"fmt"
	"strings"
	"testing"

	"boost-tui/profiler/compare"
	"boost-tui/runner"
	"boost-tui/tui/msg"
	"boost-tui/tui/testkit"
)

// Live and Compare say the same of a pair of runs: a ratio of medians over the
// kept steps, whatever the last steps do.
func TestSpeedUpsAreThoseOfCompare(t *testing.T) {
	full, run := fullRank(t), btp(t)
	run.State = runner.Finished
	d, store := start(t, 200, 50, full, run)
	table, err := compare.Compare([]string{store.Infos[0].Dir, store.Infos[1].Dir}, compare.Options{})
	if err != nil {
		t.Fatal(err)
	}
	v := table.Rows[1].VsFull
	want := fmt.Sprintf("medians: %.2f× [%.2f, %.2f] vs full-rank #full", v.Ratio, v.CI[0], v.CI[1])
	has(t, d.Text(), want, fmt.Sprintf("kept %d", table.Rows[0].Kept), "last 32", "Step breakdown  mean, ms")
	// One name and one figure for the reference, in the bars and in the chart.
	mean := *table.Rows[0].Breakdown.Compute + *table.Rows[0].Breakdown.CommExposed + *table.Rows[0].Breakdown.Memory + *table.Rows[0].Breakdown.Idle
	if n := strings.Count(d.Text(), fmt.Sprintf("%.1f", mean*1e3)); n != 2 {
		t.Errorf("the reference's mean stands there %d times:\n%s", n, d.Text())
	}
	has(t, d.Text(), fmt.Sprintf("full-rank #full mean %.1f", mean*1e3))
}

func TestNoSpeedUpOfTooFewOrUnlikeSteps(t *testing.T) {
	short, unlike := btp(t), btp(t)
	short.Steps = 12
	unlike.Experiment = testkit.Experiment(t, "tp=4", "steps=200", "micro-batch=4")
	for want, run := range map[string]testkit.RunDir{"too few steps (9 kept)": short, "not comparable: micro-batch differs": unlike} {
		for _, size := range [][2]int{{200, 50}, {80, 24}} {
			d, _ := start(t, size[0], size[1], fullRank(t), run)
			d.Send(msg.References{Baseline: fullRank(t).ID})
			if size[0] == 200 {
				has(t, d.Text(), "medians: – vs full-rank #full", want)
			} else {
				has(t, d.Text(), "medians – vs full")
			}
			if strings.Contains(d.Text(), "×") {
				t.Errorf("a speed-up:\n%s", d.Text())
			}
		}
	}
}

// A baseline that is no full-rank run is called what it is.
func TestTheBaselineIsNamed(t *testing.T) {
	d, _ := start(t, 200, 50, vanilla(t), btp(t))
	d.Send(msg.References{Baseline: vanilla(t).ID})
	has(t, d.Text(), "vs baseline vanilla #vanilla")
	if strings.Contains(d.Text(), "full-rank") {
		t.Errorf("there is no full-rank run:\n%s", d.Text())
	}
}

// A ratio of runs that slowed each other is marked.
func TestRunsBesideEachOtherAreMarked(t *testing.T) {
	full := fullRank(t)
	full.End = testkit.Start
	d, _ := start(t, 200, 50, full, btp(t))
	has(t, d.Text(), "medians, beside others: (2.05×)")
}

func TestTwoStepsMakeNoStraggler(t *testing.T) {
	run := btp(t)
	run.State, run.Steps = runner.Finished, 2
	for _, size := range testkit.Sizes() {
		d, _ := start(t, size[0], size[1], run)
		if text := d.Text(); strings.Contains(text, "straggler") || strings.Contains(text, "<slow") {
			t.Errorf("%v:\n%s", size, text)
		}
	}
}

// A run that has no loss yet does not show that of another as its own; where
// it has, each line has its own dots.
func TestLossesAreToldApart(t *testing.T) {
	nan := btp(t)
	nan.NaN = 1
	for _, size := range [][2]int{{120, 36}, {80, 24}} {
		d, _ := start(t, size[0], size[1], fullRank(t), nan)
		_, pane, _ := strings.Cut(d.Text(), "─ Loss")
		odd := "╍"
		if size[0] == 120 { // no other chart beside it
			odd = "⠉⠒⠤⣀⠑⢄╍"
		}
		if has(t, pane, "no number yet"); strings.ContainsAny(pane, odd) {
			t.Errorf("a line of another run:\n%s", pane)
		}
		d, _ = start(t, size[0], size[1], fullRank(t), btp(t))
		has(t, d.Text(), "━━ this", "╍╍ full")
	}
}

// A short run has its ratio, as on Compare, but no verdict.
func TestAShortRunHasNoVerdict(t *testing.T) {
	short := btp(t)
	short.Steps, short.Wall = 40, 0.1
	d, _ := start(t, 200, 50, fullRank(t), short)
	has(t, d.Text(), "medians, short: (4.")
}

// A reference without a kept step yet is left out of the bars, and the run's
// own bar is drawn all the same.
func TestAPendingReferenceLeavesTheBarsAlone(t *testing.T) {
	pending := fullRank(t)
	pending.State, pending.Steps = runner.Running, 0
	for _, size := range [][2]int{{200, 50}, {120, 36}, {80, 24}} {
		d, _ := start(t, size[0], size[1], pending, btp(t))
		d.Send(msg.References{Baseline: pending.ID})
		_, pane, _ := strings.Cut(d.Text(), "reakdown")
		_, pane, _ = strings.Cut(pane, "\n")
		first, rest, _ := strings.Cut(pane, "\n")
		if has(t, first, "this"); !strings.Contains(first, "██") {
			t.Errorf("%v: no bar:\n%s", size, d.Text())
		}
		if second, _, _ := strings.Cut(rest, "\n"); strings.Contains(second, "kept 0") {
			t.Errorf("%v: a bar of nothing:\n%s", size, d.Text())
		}
	}
}

// Why there is no speed-up is told in whole words.
func TestTheReasonIsNotCut(t *testing.T) {
	unlike, short := btp(t), fullRank(t)
	unlike.Experiment, short.Steps = testkit.Experiment(t, "tp=4", "steps=200", "micro-batch=4"), 12
	for want, runs := range map[string][]testkit.RunDir{"not comparable: micro-batch differs": {fullRank(t), unlike}, "reference: too few steps (9 kept)": {short, btp(t)}} {
		for _, w := range []int{110, 120, 137, 160, 200} {
			d, _ := start(t, w, 50, runs...)
			d.Send(msg.References{Baseline: fullRank(t).ID})
			_, pane, _ := strings.Cut(d.Text(), "Step breakdown")
			text := ""
			for _, line := range strings.Split(pane, "\n") {
				cell, _, _ := strings.Cut(strings.TrimPrefix(line, "│"), "│")
				text += " " + strings.TrimSpace(cell)
			}
			has(t, text, want)
		}
	}
}

// The title tells references of the user from those that were picked.
func TestTheTitleTellsWhoChoseTheReferences(t *testing.T) {
	d, _ := start(t, 120, 36, fullRank(t), vanilla(t), btp(t))
	has(t, d.Text(), "mean, ms, references picked")
	d.Send(msg.References{Baseline: fullRank(t).ID})
	has(t, d.Text(), "mean, ms, references picked and chosen")
	d.Send(msg.References{Baseline: fullRank(t).ID, Vanilla: vanilla(t).ID})
	has(t, d.Text(), "mean, ms, references chosen")
}
