package compare_test

import (
	"fmt"
	"strings"
	"testing"
	"time"

	"boost-tui/runner"
	"boost-tui/tui/app"
	"boost-tui/tui/screen/compare"
	"boost-tui/tui/testkit"
)

func start(t testing.TB, w, h int, runs ...testkit.RunDir) (*testkit.Driver, *testkit.Store) {
	t.Helper()
	root := t.TempDir()
	store := &testkit.Store{}
	for i, r := range runs {
		if r.End.IsZero() { // one after another: runs beside each other would have no verdict
			r.End = testkit.Start.Add(time.Duration(i+1-len(runs)) * 5 * time.Minute)
		}
		store.Infos = append(store.Infos, r.Write(t, root))
	}
	return testkit.NewDriver(t, w, h, app.Options{Env: testkit.Env(t, store), Screens: testkit.One(compare.New())}), store
}

// three are a full-rank, a vanilla and a btp run of one model.
func three(t testing.TB) []testkit.RunDir {
	done := func(id string, wall, exposed, overlap float64, settings ...string) testkit.RunDir {
		return testkit.RunDir{ID: id, Experiment: testkit.Experiment(t, append(settings, "tp=4", "steps=200")...), State: runner.Finished, Ranks: 4, Steps: 200, Wall: wall, Exposed: exposed, Overlap: overlap, Slow: 3}
	}
	return []testkit.RunDir{
		done("20261129-140001-tiny-full-full-rank-tp4-abcd", 0.41, 0.24, 0, "variant=full", "scheme=full-rank"),
		done("20261129-140501-tiny-cola-vanilla-tp4-efgh", 0.36, 0.58, 0, "scheme=vanilla"),
		done("20261129-141001-tiny-cola-btp-tp4-jkmn", 0.20, 0.2, 0.3, "scheme=btp"),
	}
}

var goldenSizes = [][2]int{{60, 20}, {80, 24}, {120, 36}, {200, 50}}

func TestGoldens(t *testing.T) {
	odd := three(t)[2]
	odd.ID, odd.Experiment = "20261129-142001-tiny-cola-btp-tp4-pqrs", testkit.Experiment(t, "tp=4", "steps=200", "micro-batch=4")
	short := three(t)[2]
	short.ID, short.Steps = "20261129-143001-tiny-cola-btp-tp4-tuvw", 12
	nan := three(t)[2]
	nan.NaN = 100
	none := three(t)[1]
	none.Steps = 0
	cases := map[string][]testkit.RunDir{
		"empty":  nil,
		"normal": three(t),
		"odd":    append(three(t), odd, short),
		"error":  {three(t)[0], none},
		"nan":    {three(t)[0], three(t)[1], nan},
	}
	for name, runs := range cases {
		for _, size := range goldenSizes {
			t.Run(fmt.Sprintf("%s_%dx%d", name, size[0], size[1]), func(t *testing.T) {
				d, store := start(t, size[0], size[1], runs...)
				if name == "odd" {
					d.Send(compareAll(store))
				}
				testkit.Golden(t, fmt.Sprintf("%s_%dx%d", name, size[0], size[1]), d.Text(), size[0], size[1])
			})
		}
	}
}

func has(t testing.TB, text string, wants ...string) {
	t.Helper()
	for _, w := range wants {
		if !strings.Contains(text, w) {
			t.Errorf("%q is missing in\n%s", w, text)
		}
	}
}
