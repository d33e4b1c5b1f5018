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
func between(t *testing.T, b *bed) []time.Duration {
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

// TestBetweenRuns: the queue adds less than 100 ms between two runs, also where the journal is long.
func TestBetweenRuns(t *testing.T) {
	for name, n := range map[string]int{"short": 11, "of 5,000 points": 5000} {
		t.Run(name, func(t *testing.T) {
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
			gaps := between(t, b)
			median := gaps[len(gaps)/2]
			t.Logf("from a run's result to the next agent's start: median %v, at most %v", median, gaps[len(gaps)-1])
			if median > 100*time.Millisecond {
				t.Errorf("%v", gaps)
			}
		})
	}
}
