package sweep_test

import (
	"context"
	"fmt"
	"path/filepath"
	"testing"
	"time"

	"boost-tui/planner"
	"boost-tui/runner"
	"boost-tui/sweeps"
	"boost-tui/sweeps/results"
	"boost-tui/sweeps/space"
	"boost-tui/tui/screen"
	"boost-tui/tui/testkit"
)

// comparison is the space of the tests: vanilla and btp on one and two ranks at
// two ranks of the factors, with twins. It has ten points.
func comparison(t testing.TB) space.File {
	t.Helper()
	f := space.File{Spec: space.Spec{Name: "ranks", Twins: true, Set: []space.Assign{{Key: "size", Value: "tiny"}, {Key: "variant", Value: "cola"}, {Key: "steps", Value: "200"}}}}
	for _, text := range []string{"scheme=vanilla,btp", "tp=1,2", "rank=32..64*2"} {
		a, err := space.ParseAxis(text)
		if err != nil {
			t.Fatal(err)
		}
		f.Axes = append(f.Axes, a)
	}
	return f
}

const shownID = "20261129-150000-ranks-k3fm"

// made is a sweep of which the first done points have finished runs on the
// disk, the next one runs, one has failed, and the others wait.
func made(t testing.TB, file space.File, done int) *screen.SweepView {
	t.Helper()
	x, err := space.Expand(context.Background(), file.Spec, planner.Machine{Name: "test", MemBytes: 32 << 30, Cores: 8})
	if err != nil {
		t.Fatal(err)
	}
	store := runner.NewStore(t.TempDir())
	st := &sweeps.State{ID: shownID, Dir: filepath.Join(store.Root, "sweeps", shownID), Name: file.Name, Created: testkit.Start.Add(-time.Hour), Base: x.Base, Axes: x.Keys,
		Pruned: x.Pruned, Options: sweeps.DefaultOptions(), Phase: sweeps.PhaseRunning, TOML: string(file.TOML())}
	for i := range x.Points {
		p := &sweeps.PointState{Point: x.Points[i], Status: sweeps.Queued}
		state := runner.Running
		switch {
		case i < done:
			p.Status, state = sweeps.Finished, runner.Finished
		case i == done:
			p.Status = sweeps.Running
		case i == done+1:
			p.Status, p.Cause = sweeps.Failed, "rank 1 was killed by SIGKILL\x1b[2J"
			state = runner.Failed
		}
		if p.Status == sweeps.Queued {
			st.Queue = append(st.Queue, p)
		} else {
			id := fmt.Sprintf("20261129-15%02d00-tiny-cola-x-p%02d", i, i)
			writeRun(t, store, p, st, id, state)
			p.Attempts = []sweeps.Attempt{{N: 1, Run: id, Begun: testkit.Start, State: string(state), Seconds: 30}}
		}
		st.Points = append(st.Points, p)
	}
	table, err := results.Measure(context.Background(), store, st, nil)
	if err != nil {
		t.Fatal(err)
	}
	view := &screen.SweepView{State: st, File: file, Table: table, Steps: map[string]screen.Step{}}
	if done < len(st.Points) {
		view.Steps[st.Points[done].Run()] = screen.Step{Step: 120, Seconds: 0.2}
	}
	return view
}

// writeRun makes the run of a point: the more ranks and the smaller the rank,
// the faster.
func writeRun(t testing.TB, store *runner.Store, p *sweeps.PointState, st *sweeps.State, id string, state runner.State) {
	t.Helper()
	e, err := p.Experiment(st.Base)
	if err != nil {
		t.Fatal(err)
	}
	e.Train.Steps = 200
	wall := map[string]float64{"full-rank": 0.41, "vanilla": 0.36, "btp": 0.2}[string(e.Parallel.Scheme)]/float64(e.Parallel.TP) + float64(e.Model.Rank)/1000
	steps := 200
	if !state.Over() {
		steps = 120
	}
	at := testkit.Start.Add(time.Duration(len(st.Points)) * 10 * time.Minute)
	testkit.RunDir{ID: id, Experiment: e, State: state, Ranks: e.Parallel.TP, Steps: steps, Wall: wall, Slow: 1, NoHealth: true, End: at}.Write(t, store.Root)
}

// shown starts the screen on a sweep.
func shown(t testing.TB, w, h int, view *screen.SweepView) (*testkit.Driver, *testkit.Sweeps) {
	t.Helper()
	s := &testkit.Sweeps{}
	s.Put(view)
	d := start(t, w, h, s)
	d.Press("s", "down", "enter")
	d.Advance(500 * time.Millisecond)
	return d, s
}
