package results

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"reflect"
	"runtime"
	"strings"
	"testing"
	"time"

	"boost-tui/experiment"
	"boost-tui/profiler/compare"
	"boost-tui/runner"
	"boost-tui/sweeps"
	"boost-tui/sweeps/space"
)

// Without a measured run nothing is known, and nothing is made up.
func TestEstimateOfNothing(t *testing.T) {
	f := usual(t)
	e := f.measure(nil).Estimate
	if e.Seconds != nil || e.DeviceHours != nil || e.Points != 10 || e.Covered != 0 || !strings.HasPrefix(e.Basis, "unknown") {
		t.Errorf("%+v", e)
	}
	if s := e.String(); !strings.Contains(s, "unknown: no run") {
		t.Error(s)
	}
	f.finish()
	if e := f.measure(nil).Estimate; e.Points != 0 || e.Basis != "nothing is left" || e.Seconds != nil {
		t.Errorf("%+v", e)
	}
}

// Points of the same variant, scheme and ranks come first; then the sweep's others; all scaled by FLOPs.
func TestEstimateByTheSweep(t *testing.T) {
	f := usual(t)
	p := f.st.Points
	f.run(p[0], dose{wall: 0.3, loss: 2}) // full-rank, tp 1: about 45 s
	f.run(p[1], dose{wall: 0.4, loss: 2}) // vanilla, tp 1: about 60 s
	full, van := p[0].Attempts[0].Seconds, p[1].Attempts[0].Seconds
	p[3].FLOPs *= 2 // vanilla, tp 1, rank 64
	e := f.measure(nil).Estimate
	want := 2*van + 7*(full+van)/2 // the median of two rates is their mean
	if e.Seconds == nil || math.Abs(*e.Seconds-want) > 1e-6*want || e.Points != 8 || e.Covered != 8 || e.AtLeast() {
		t.Fatalf("%+v, want %v s", e, want)
	}
	hours := (2*van + 2*(full+van)/2 + 5*2*(full+van)/2) / 3600 // five points have two ranks
	if math.Abs(*e.DeviceHours-hours) > 1e-6*hours {
		t.Errorf("%v device hours, want %v", *e.DeviceHours, hours)
	}
	for _, w := range []string{"1 point by runs of the same variant, scheme and ranks", "7 points by other runs of the sweep", "2 runs measured so far"} {
		if !strings.Contains(e.Basis, w) {
			t.Errorf("no %q in %q", w, e.Basis)
		}
	}
	f.st.Options.AtOnce = 2
	if two := f.measure(nil).Estimate; *two.Seconds >= want || *two.Seconds < want/2 || !strings.Contains(two.Basis, "2 at a time") {
		t.Errorf("%v, alone %v", *two.Seconds, want)
	}
	p[9].FLOPs = 0
	f.st.Phase = sweeps.PhasePaused
	if least := f.measure(nil).Estimate; !least.AtLeast() || least.Covered != 7 || !strings.Contains(least.Basis, "once it goes on: at least: nothing was measured for 1 point") {
		t.Errorf("%+v", least)
	}
	f.st.Phase = sweeps.PhaseWaiting
	if alone, err := EstimateSweep(t.Context(), f.store, f.st, nil); err != nil || !strings.HasPrefix(alone.Basis, "once it goes on: ") {
		t.Errorf("%+v, %v", alone, err)
	}
	f.st.Options.MaxTime = time.Minute
	if s := f.measure(nil).Summary(); !strings.Contains(s, "the limit of 1m of work comes first") || !strings.Contains(s, "at least") {
		t.Error(s)
	}
}

// A run that goes on is measured by its own steps, repeats by each other.
func TestEstimateByStepsAndRepeats(t *testing.T) {
	f := newFake(t, []string{"rank", "seed"}, "size", "tiny", "variant", "cola", "steps", "150")
	for i := range 4 {
		f.point(fmt.Sprint(i), "rank", []string{"16", "32"}[i/3], "seed", fmt.Sprint(i))
	}
	p := f.st.Points
	f.run(p[0], dose{wall: 0.2, loss: 2})
	f.run(p[1], dose{steps: 100, wall: 0.4, loss: 2, status: sweeps.Running})
	p[3].FLOPs = 0 // nothing to scale it by
	table := f.measure(nil)
	e := table.Estimate
	want := 50**table.Rows[1].Figures.StepTimeMean + p[0].Attempts[0].Seconds
	if e.Seconds == nil || math.Abs(*e.Seconds-want) > 1e-6*want || e.Points != 3 || e.Covered != 2 {
		t.Errorf("%+v, want %v", e, want)
	}
	if !strings.Contains(e.Basis, "1 point by the steps that it has made, 1 point by runs of the same configuration") {
		t.Error(e.Basis)
	}
	// One that has no step yet is taken to run as long as others, less what it has run.
	f.run(p[2], dose{steps: 0, status: sweeps.Running})
	ok(t, os.RemoveAll(filepath.Join(f.store.Dir(p[2].Run()), "steps")))
	p[2].Attempts[0].Begun = time.Now().Add(-10 * time.Second)
	if e = f.measure(nil).Estimate; e.Seconds == nil || *e.Seconds > want-9 || *e.Seconds < want-12 {
		t.Errorf("%v, want about %v", e.Seconds, want-10)
	}
}

// past puts a finished run of this machine into the store.
func past(t *testing.T, store *runner.Store, e experiment.Experiment, id string, seconds float64, host string) {
	began := time.Date(2026, 10, 1, 0, 0, 0, 0, time.UTC)
	dir := store.Dir(id)
	writeRun(t, dir, e, dose{wall: 0.2, loss: 2}, began, 1)
	run, err := runner.Read(dir)
	ok(t, err)
	r := run.Run
	r.Host, r.Cores = host, runtime.GOMAXPROCS(0)
	writeJSON(t, filepath.Join(dir, "run.json"), r)
	s, err := compare.Summarize(dir)
	ok(t, err)
	s.Steps = e.Train.Steps
	writeJSON(t, filepath.Join(dir, "result.json"), map[string]any{"schema": 1, "state": "finished", "started": began,
		"ended": began.Add(time.Duration(seconds * 1e9)), "summary": s})
}

// Where the sweep has measured nothing, the store's runs of this machine serve, and it is said; those of others do not.
func TestEstimateByTheStore(t *testing.T) {
	host, err := os.Hostname()
	ok(t, err)
	f := usual(t)
	e := f.experiment(f.st.Points[1]) // vanilla, tp 1, rank 32
	past(t, f.store, e, "20261001-000000-elsewhere", 1e6, "elsewhere")
	if got := f.measure(nil).Estimate; got.Seconds != nil {
		t.Errorf("by another machine: %+v", got)
	}
	past(t, f.store, e, "20261001-000000-here", 60, host)
	got := f.measure(nil).Estimate
	if got.Seconds == nil || math.Abs(*got.Seconds-600) > 1e-6 || got.Covered != 10 || !strings.Contains(got.Basis, "8 points by earlier runs on this machine") ||
		!strings.Contains(got.Basis, "1 point by runs of the same configuration") {
		t.Errorf("%+v", got)
	}
	h := ReadHistory(t.Context(), f.store)
	var points []space.Point
	for _, p := range f.st.Points {
		points = append(points, p.Point)
	}
	if dry := EstimatePoints(f.st.Base, points, f.st.Options, h); dry.Seconds == nil || *dry.Seconds != *got.Seconds || h.Empty() {
		t.Errorf("%+v", dry)
	}
	if dry := EstimatePoints(f.st.Base, points, f.st.Options, History{}); dry.Seconds != nil || dry.Points != 10 {
		t.Errorf("%+v", dry)
	}
	// What the sweep measures itself is better.
	f.run(f.st.Points[0], dose{wall: 1, loss: 2})
	if own := f.measure(nil).Estimate; *own.Seconds < 9*150 || strings.Contains(own.Basis, "earlier") {
		t.Errorf("%+v", own)
	}
}

// The estimate alone is that of the whole table, whatever runs and was measured.
func TestEstimateAlone(t *testing.T) {
	f := usual(t)
	same := func() {
		t.Helper()
		alone, err := EstimateSweep(t.Context(), f.store, f.st, nil)
		ok(t, err)
		if whole := f.measure(nil).Estimate; alone.String() != whole.String() || alone.Points != whole.Points || alone.Covered != whole.Covered {
			t.Errorf("%+v, measured %+v", alone, whole)
		}
	}
	same()
	f.run(f.st.Points[0], dose{wall: 0.4, loss: 2})
	same()
	f.run(f.st.Points[1], dose{steps: 20, wall: 0.4, loss: 2, status: sweeps.Running})
	f.st.Points[2].Status = sweeps.Running // about to begin
	f.st.Queue = f.st.Queue[1:]
	same()
	f.finish()
	same()
}

// What of an experiment makes another configuration: everything but its name, tags and seed.
func TestConfigurations(t *testing.T) {
	parts := map[reflect.Type]bool{}
	for of, i := reflect.TypeFor[configuration](), 0; i < of.NumField(); i++ {
		parts[of.Field(i).Type] = true
	}
	for of, i := reflect.TypeFor[experiment.Experiment](), 0; i < of.NumField(); i++ {
		if f := of.Field(i); parts[f.Type] == (f.Name == "Name" || f.Name == "Tags") {
			t.Errorf("%s makes another configuration: %v", f.Name, parts[f.Type])
		}
	}
	e := experiment.Default()
	for key, want := range map[string]bool{"name": true, "tags": true, "seed": true, "lr": false, "tp": false, "rank": false, "seq": false, "setup": false} {
		other := e
		ok(t, other.Set(key, "7"))
		if got := configurationOf(&other) == configurationOf(&e); got != want {
			t.Errorf("another %s makes the same configuration: %v", key, got)
		}
	}
}

func TestDurations(t *testing.T) {
	for seconds, want := range map[float64]string{0.2: "0s", 31.4: "31s", 90: "2m", 3599: "1h", 5400: "1h30m", 36000: "10h", 86399: "24h", 100000: "1d4h", 864000: "10d",
		1e300: "more than a hundred years", math.Inf(1): "more than a hundred years"} {
		if got := duration(seconds); got != want {
			t.Errorf("%v: %s, want %s", seconds, got, want)
		}
	}
}
