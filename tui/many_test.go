package tui

import (
	"encoding/json"
	"fmt"
	"testing"
	"time"

	"boost-tui/runner"
	"boost-tui/tui/app"
	"boost-tui/tui/testkit"
)

// manyRuns is the whole UI over a store of n runs, of which one goes on.
func manyRuns(t testing.TB, n int) *testkit.Driver {
	s := &testkit.Store{}
	e := testkit.Experiment(t, "tp=2")
	for i := range n {
		in := testkit.Info(fmt.Sprintf("08%06d-btp-x%05d", i, i), e, runner.Finished)
		in.Run.Created = testkit.Start.Add(-time.Duration(n-i) * time.Minute)
		in.Result = &runner.Result{Schema: 1, State: runner.Finished, Summary: json.RawMessage(`{"steps":100,"loss_last":4.3,"step_time_median":0.02}`)}
		s.Infos = append(s.Infos, in)
	}
	s.Infos[n-1].State, s.Infos[n-1].Result = runner.Running, nil
	return testkit.NewDriver(t, 120, 36, app.Options{Env: testkit.Env(t, s), Screens: screens()})
}

// On every screen a second of a store of 5,000 runs leaves time for keys: the limit is many times what it takes.
func TestASecondOfManyRuns(t *testing.T) {
	d := manyRuns(t, 5000)
	for _, screen := range []string{"1", "2", "3", "4", "5"} {
		d.Press(screen)
		best := time.Hour
		for range 5 { // the best: others share the machine
			begin := time.Now()
			d.Advance(time.Second)
			d.View()
			best = min(best, time.Since(begin))
		}
		t.Logf("screen %s: %v", screen, best)
		if best > 500*time.Millisecond {
			t.Errorf("a second on screen %s takes %v", screen, best)
		}
	}
}

func BenchmarkSecondOf5000Runs(b *testing.B) {
	d := manyRuns(b, 5000)
	d.Press("5")
	for b.Loop() {
		d.Advance(time.Second)
		d.View()
	}
}
