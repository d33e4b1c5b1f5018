package queue

import (
	"slices"
	"testing"
	"time"

	"boost-tui/experiment"
	"boost-tui/planner"
	"boost-tui/runner"
	"boost-tui/sweeps"
)

// planned is a Prepare that plans as the program does.
func planned(e experiment.Experiment) (experiment.Experiment, runner.LaunchOptions, error) {
	m := planner.ThisMachine()
	if err := experiment.Invalid(planner.Check(e, m)); err != nil {
		return e, runner.LaunchOptions{}, err
	}
	p, err := planner.New(e, m)
	if err != nil {
		return e, runner.LaunchOptions{}, err
	}
	return e, runner.LaunchOptions{Predicted: &runner.Predicted{MemBytes: p.Memory.Total}}, nil
}

// between is the time from each run's result to the start of the next one's agent.
func between(t testing.TB, b *bed) []time.Duration {
	t.Helper()
	infos, err := b.runs.OfSweep(t.Context(), b.sweep.ID)
	if err != nil {
		t.Fatal(err)
	}
	slices.SortFunc(infos, func(x, y runner.Info) int { return x.Result.Started.Compare(y.Result.Started) })
	var gaps []time.Duration
	for i := 1; i < len(infos); i++ {
		gaps = append(gaps, infos[i].Result.Started.Sub(infos[i-1].Result.Ended))
	}
	slices.Sort(gaps)
	return gaps
}

// TestBetweenRuns: ten runs of a sweep follow one another, also where the journal is long. How soon is for
// BenchmarkBetweenRuns to say; whole seconds would be a queue that does not look.
func TestBetweenRuns(t *testing.T) {
	for name, n := range lengths() {
		t.Run(name, func(t *testing.T) {
			gaps := tenRuns(t, n)
			if median := gaps[len(gaps)/2]; median > 5*time.Second {
				t.Errorf("from a run's result to the next agent's start: %v", gaps)
			}
		})
	}
}

// BenchmarkBetweenRuns is the median time from a run's result to the start of the next one's agent; on an idle machine some 6 ms.
func BenchmarkBetweenRuns(b *testing.B) {
	for name, n := range lengths() {
		b.Run(name, func(b *testing.B) {
			var gaps []time.Duration
			for b.Loop() {
				gaps = append(gaps, tenRuns(b, n)...)
			}
			slices.Sort(gaps)
			b.ReportMetric(0, "ns/op")
			b.ReportMetric(gaps[len(gaps)/2].Seconds()*1e3, "ms-median")
			b.ReportMetric(gaps[len(gaps)-1].Seconds()*1e3, "ms-most")
		})
	}
}

func lengths() map[string]int { return map[string]int{"short": 11, "of 5,000 points": 5000} }

// tenRuns pauses a sweep of n points after ten runs and gives the times between them, sorted.
func tenRuns(t testing.TB, n int) []time.Duration {
	t.Helper()
	b := points(t, n, nil)
	b.o.Prepare = planned
	over := 0
	b.o.Notify = func(v Event) {
		if v.Kind == Ended {
			if over++; over == 10 {
				if err := b.sweep.Pause("ada", false); err != nil {
					t.Error(err)
				}
			}
		}
	}
	if st := b.run(); st.Count(sweeps.Finished) != 10 {
		t.Fatalf("%d finished", st.Count(sweeps.Finished))
	}
	return between(t, b)
}
