package feed_test

import (
	"testing"

	"boost-tui/runner"
	"boost-tui/tui/feed"
	"boost-tui/tui/testkit"
)

func TestSample(t *testing.T) {
	if cols, err := feed.Sample(t.TempDir()); err != nil || cols != nil {
		t.Errorf("of an empty folder: %d columns, %v", len(cols), err)
	}
	r := testkit.RunDir{ID: "r", Experiment: testkit.Experiment(t), State: runner.Finished, Ranks: 1, Steps: 3000, NoHealth: true}
	cols, err := feed.Sample(r.Write(t, t.TempDir()).Dir)
	if err != nil {
		t.Fatal(err)
	}
	first, last := int64(-1), int64(0)
	for _, c := range cols {
		if c.Count > 0 {
			if first < 0 {
				first = c.First
			}
			last = c.Last
		}
	}
	if first != 1 || last != 3000 {
		t.Errorf("sampled steps %d to %d", first, last)
	}
}
