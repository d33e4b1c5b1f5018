package results

import (
	"encoding/json"
	"fmt"
	"math"
	"math/rand/v2"
	"os"
	"path/filepath"
	"testing"
	"time"

	"boost-tui/experiment"
	"boost-tui/profiler/record"
	"boost-tui/runner"
	"boost-tui/sweeps"
	"boost-tui/sweeps/space"
)

func ok(t testing.TB, err error) {
	t.Helper()
	if err != nil {
		t.Fatal(err)
	}
}

// fake is a sweep that a test makes up, with the directories of its runs.
type fake struct {
	t     testing.TB
	store *runner.Store
	st    *sweeps.State
	clock time.Time // when the next run begins
}

// dose is how a made-up run behaves.
type dose struct {
	steps  int     // made; 0: as many as planned
	wall   float64 // seconds of a step
	loss   float64 // at the end
	memory int64   // bytes
	status sweeps.Status
	cause  string
	same   bool // begins when the run before it began
}

func newFake(t testing.TB, axes []string, set ...string) *fake {
	t.Helper()
	base := experiment.Default()
	for i := 0; i < len(set); i += 2 {
		ok(t, base.Set(set[i], set[i+1]))
	}
	return &fake{t: t, store: runner.NewStore(t.TempDir()), clock: time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC),
		st: &sweeps.State{ID: "20261101-000000-test-aaaa", Name: "test", Created: time.Date(2026, 11, 1, 0, 0, 0, 0, time.UTC), Base: base, Axes: axes,
			Options: sweeps.DefaultOptions(), Phase: sweeps.PhaseRunning}}
}

// point adds a point, whose id is a name that the test gives it.
func (f *fake) point(id string, set ...string) *sweeps.PointState {
	f.t.Helper()
	p := &sweeps.PointState{Point: space.Point{ID: id, Label: id}, Status: sweeps.Queued}
	for i := 0; i < len(set); i += 2 {
		p.Set = append(p.Set, space.Assign{Key: set[i], Value: set[i+1]})
	}
	e := f.experiment(p)
	p.Ranks, p.Steps, p.FLOPs = e.World(), e.Train.Steps, 1e9*float64(e.Train.Steps)
	f.st.Points = append(f.st.Points, p)
	f.st.Queue = append(f.st.Queue, p)
	return p
}

func (f *fake) experiment(p *sweeps.PointState) experiment.Experiment {
	f.t.Helper()
	e, err := p.Experiment(f.st.Base)
	ok(f.t, err)
	return e
}

// run gives a point a run.
func (f *fake) run(p *sweeps.PointState, d dose) string {
	f.t.Helper()
	for i, q := range f.st.Queue {
		if q == p {
			f.st.Queue = append(f.st.Queue[:i:i], f.st.Queue[i+1:]...)
			break
		}
	}
	if d.status == "" {
		d.status = sweeps.Finished
	}
	if d.steps == 0 {
		d.steps = p.Steps
	}
	if d.wall == 0 {
		d.wall = 0.2
	}
	id := fmt.Sprintf("20261101-%06d-run-%s", len(f.st.Points)*1000+len(p.Attempts), p.ID)
	if d.same {
		f.clock = f.clock.Add(-time.Hour)
	}
	seconds := writeRun(f.t, f.store.Dir(id), f.experiment(p), d, f.clock, uint64(len(id)+len(p.ID)+int(f.clock.Unix()%1000)))
	a := sweeps.Attempt{N: len(p.Attempts) + 1, Run: id, Begun: f.clock}
	if d.status != sweeps.Running {
		a.Seconds, a.State, a.Cause = seconds, string(d.status), d.cause
		a.Ended = f.clock.Add(time.Duration(seconds * 1e9))
	}
	f.clock = f.clock.Add(time.Hour)
	p.Attempts, p.Status, p.Cause = append(p.Attempts, a), d.status, d.cause
	if d.status == sweeps.Finished {
		f.st.Pace = append(f.st.Pace, sweeps.Pace{Point: p.ID, FLOPs: p.FLOPs, Ranks: p.Ranks, Seconds: seconds})
	}
	return id
}

// writeRun makes a run's directory as agents and ranks do, and says how many seconds its steps took.
func writeRun(t testing.TB, dir string, e experiment.Experiment, d dose, began time.Time, seed uint64) float64 {
	t.Helper()
	ok(t, os.MkdirAll(dir, 0o755))
	run := runner.Run{Schema: runner.Schema, ID: filepath.Base(dir), Created: began, Host: "here", Hosts: []string{"here"}, CPU: "Test CPU", Cores: 2, Experiment: e,
		Model: record.ModelShape{D: e.Model.D, FF: e.Model.FF, Layers: e.Model.Layers, Heads: e.Model.Heads, Vocab: e.Model.Vocab, RankAttn: e.Model.RankAttn, RankMLP: e.Model.RankMLP},
		Plan: record.PlanFields{Scheme: string(e.Parallel.Scheme), Variant: string(e.Model.Variant), Norm: e.Step.Norm, Grouped: e.Step.Grouping, Ckpt: e.Step.Recompute,
			TP: e.Parallel.TP, PP: e.Parallel.PP, DP: e.Parallel.DP, MBS: e.Step.MicroBatch, Acc: e.Step.Accumulate, Seq: e.Step.Seq, DType: e.Step.DType, Device: e.Step.Device},
		Predicted: &runner.Predicted{FLOPs: 1e9}, Versions: runner.Versions{Binary: "abc"}}
	writeJSON(t, filepath.Join(dir, "run.json"), run)
	rng := rand.New(rand.NewPCG(seed, 1))
	end := began
	var lines []byte
	for i := range d.steps {
		l := record.NewStepLine(i + 1)
		l.WallNanos = int64(d.wall * 1e9 * (1 + 0.02*rng.Float64()))
		end = end.Add(time.Duration(l.WallNanos))
		l.TSNanos = end.UnixNano()
		l.ComputeNanos, l.ExposedNanos, l.OverlapNanos, l.MemNanos, l.WaitNanos = l.WallNanos/2, l.WallNanos/4, 1000, 300, 500
		l.CommNanos, l.IdleNanos = l.ExposedNanos+l.OverlapNanos, l.WallNanos-l.ComputeNanos-l.ExposedNanos-l.MemNanos
		l.Tokens, l.CommBytes, l.Collectives, l.MemAllocBytes = e.TokensPerStep()/int64(e.Parallel.DP), 7000, 12, d.memory
		l.Loss = d.loss + 3*math.Exp(-float64(i)/10)
		lines = append(l.Append(lines), '\n')
	}
	ok(t, os.MkdirAll(filepath.Join(dir, "steps"), 0o755))
	for rank := range e.World() {
		ok(t, os.WriteFile(record.StepsPath(dir, rank), lines, 0o644))
	}
	if d.status != sweeps.Running {
		state := map[sweeps.Status]runner.State{sweeps.Finished: runner.Finished, sweeps.Failed: runner.Failed}[d.status]
		if state == "" {
			state = runner.Cancelled
		}
		writeJSON(t, filepath.Join(dir, "result.json"), runner.Result{Schema: runner.Schema, State: state, Cause: d.cause, Started: began, Ended: end})
	}
	ok(t, os.Chtimes(filepath.Join(dir, "run.json"), began, began))
	return end.Sub(began).Seconds()
}

func writeJSON(t testing.TB, path string, v any) {
	t.Helper()
	data, err := json.Marshal(v)
	ok(t, err)
	ok(t, os.WriteFile(path, data, 0o644))
}

func (f *fake) measure(c *Cache) *Table {
	f.t.Helper()
	t, err := Measure(f.t.Context(), f.store, f.st, c)
	ok(f.t, err)
	return t
}

// usual is the sweep of the handbook: a full-rank twin, and vanilla and btp at two ranks, for tp 1 and 2. Nothing is
// run yet.
func usual(t testing.TB) *fake {
	f := newFake(t, []string{"scheme", "tp", "rank"}, "size", "tiny", "variant", "cola", "steps", "150")
	for _, tp := range []string{"1", "2"} {
		full := f.point("full"+tp, "scheme", "full-rank", "tp", tp, "variant", "full")
		full.Twin, full.Full = true, full.ID
		for _, rank := range []string{"32", "64"} {
			van := f.point("van"+tp+"-"+rank, "scheme", "vanilla", "tp", tp, "rank", rank)
			btp := f.point("btp"+tp+"-"+rank, "scheme", "btp", "tp", tp, "rank", rank)
			van.Full, btp.Full, van.Vanilla, btp.Vanilla = full.ID, full.ID, van.ID, van.ID
		}
	}
	return f
}

// finish runs what is queued: full-rank steps take 0.3 s, vanilla's a little more, btp's half.
func (f *fake) finish() {
	for _, p := range append([]*sweeps.PointState{}, f.st.Queue...) {
		e := f.experiment(p)
		d := dose{wall: 0.3, loss: 2.5, memory: 40 << 20}
		switch e.Parallel.Scheme {
		case experiment.Vanilla:
			d = dose{wall: 0.31, loss: 2.6, memory: 30 << 20}
		case experiment.BTP:
			d = dose{wall: 0.15, loss: 2.6 - float64(e.Model.Rank)/1000, memory: 20<<20 + int64(e.Model.Rank)<<12}
		}
		f.run(p, d)
	}
	f.st.Phase = sweeps.PhaseFinished
}
