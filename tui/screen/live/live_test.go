package live_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"boost-tui/runner"
	"boost-tui/tui/app"
	"boost-tui/tui/msg"
	"boost-tui/tui/screen/live"
	"boost-tui/tui/testkit"
)

// start opens Live on the given runs, the last of which is shown.
func start(t testing.TB, w, h int, runs ...testkit.RunDir) (*testkit.Driver, *testkit.Store) {
	t.Helper()
	d, store, _ := startScreen(t, w, h, runs...)
	return d, store
}

func startScreen(t testing.TB, w, h int, runs ...testkit.RunDir) (*testkit.Driver, *testkit.Store, *live.Model) {
	t.Helper()
	root := t.TempDir()
	store := &testkit.Store{}
	for _, r := range runs {
		store.Infos = append(store.Infos, r.Write(t, root))
	}
	m := live.New()
	return testkit.NewDriver(t, w, h, app.Options{Env: testkit.Env(t, store), Screens: testkit.One(m)}), store, m
}

func btp(t testing.TB) testkit.RunDir {
	return testkit.RunDir{ID: "1129-1502-btp", Experiment: testkit.Experiment(t, "tp=4", "steps=200"), State: runner.Running, Ranks: 4, Steps: 148, Overlap: 0.3, Slow: 3,
		Log: []string{"step 146 loss 2.48", "step 147 loss 2.48", "step 148 loss 2.47"}}
}

func fullRank(t testing.TB) testkit.RunDir {
	return testkit.RunDir{ID: "1129-1400-full", Experiment: testkit.Experiment(t, "variant=full", "scheme=full-rank", "tp=4", "steps=200"), State: runner.Finished, Ranks: 4, Steps: 200, Wall: 0.41, Exposed: 0.3, Slow: 3, End: testkit.Start.Add(-time.Hour)}
}

func vanilla(t testing.TB) testkit.RunDir {
	return testkit.RunDir{ID: "1129-1430-vanilla", Experiment: testkit.Experiment(t, "scheme=vanilla", "tp=4", "steps=200"), State: runner.Finished, Ranks: 4, Steps: 200, Wall: 0.36, Exposed: 0.6, Slow: 3, End: testkit.Start.Add(-30 * time.Minute)}
}

func failed(t testing.TB) testkit.RunDir {
	r := btp(t)
	r.State, r.Cause, r.Slow = runner.Failed, "rank 1 was ended by SIGKILL (step 37, all-reduce qkv)", 1
	r.Log = []string{"step 147", "fatal error: rank 1 is gone"}
	return r
}

// The screen of a run beside an emulated link says so in its status line.
func TestEmulatedLinkIsMarked(t *testing.T) {
	r := btp(t)
	if err := r.Experiment.Set("link", "bw=2GB/s,latency=20us"); err != nil {
		t.Fatal(err)
	}
	for _, w := range []int{80, 120, 200} {
		d, _ := start(t, w, 36, r)
		if !strings.Contains(d.Text(), "emulated link bw=2GB/s,latency=20us") {
			t.Errorf("not at %d columns:\n%s", w, d.Text())
		}
	}
}

var goldenSizes = [][2]int{{60, 20}, {80, 24}, {120, 36}, {200, 50}}

func TestGoldens(t *testing.T) {
	nan := btp(t)
	nan.NaN = 120
	refs := msg.References{Baseline: fullRank(t).ID, Vanilla: vanilla(t).ID}
	cases := map[string][]testkit.RunDir{
		"empty":  nil,
		"normal": {fullRank(t), vanilla(t), btp(t)},
		"error":  {failed(t)},
		"nan":    {nan},
	}
	for name, runs := range cases {
		for _, size := range goldenSizes {
			t.Run(fmt.Sprintf("%s_%dx%d", name, size[0], size[1]), func(t *testing.T) {
				d, _ := start(t, size[0], size[1], runs...)
				if name == "normal" {
					d.Send(refs)
				}
				testkit.Golden(t, fmt.Sprintf("%s_%dx%d", name, size[0], size[1]), d.Text(), size[0], size[1])
			})
		}
	}
}

// A run that leaves out steps whose loss is no number says how many.
func TestStepsThatWereLeftOutAreCounted(t *testing.T) {
	nan := btp(t)
	nan.NaN = nan.Steps - 2
	if err := nan.Experiment.Set("on-nonfinite", "go-on"); err != nil {
		t.Fatal(err)
	}
	d, _ := start(t, 120, 36, nan)
	has(t, d.Text(), fmt.Sprintf("3 left out, first NaN @ step %d", nan.NaN))
}

func has(t testing.TB, text string, wants ...string) {
	t.Helper()
	for _, w := range wants {
		if !strings.Contains(text, w) {
			t.Errorf("%q is missing in\n%s", w, text)
		}
	}
}
