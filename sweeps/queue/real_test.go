package queue

import (
	"math/rand/v2"
	"path/filepath"
	"testing"
	"time"

	"boost-tui/planner"
	"boost-tui/runner"
	"boost-tui/sweeps"
	"boost-tui/sweeps/space"
)

// TestRealRanks: ranks that train, the engine killed three times at random moments. Each point has one finished run, all
// of whose steps are there, and nothing of a killed engine's work is done again.
func TestRealRanks(t *testing.T) {
	t.Setenv(envReal, "1")
	b := &bed{t: t, runs: runner.NewStore(filepath.Join(t.TempDir(), "runs"))}
	b.o = Options{Runs: b.runs, Prepare: planned}
	spec := space.Spec{Twins: true, Set: []space.Assign{{Key: "size", Value: "tiny"}, {Key: "variant", Value: "cola"}, {Key: "steps", Value: "4"}}}
	for _, text := range []string{"scheme=vanilla,btp", "tp=1,2", "rank=32,64"} {
		a, err := space.ParseAxis(text)
		if err != nil {
			t.Fatal(err)
		}
		spec.Axes = append(spec.Axes, a)
	}
	x, err := space.Expand(t.Context(), spec, planner.ThisMachine())
	if err != nil {
		t.Fatal(err)
	}
	b.create(space.File{Spec: spec}, x, sweeps.DefaultOptions())
	for range 3 {
		cmd := b.engine("engine")
		time.Sleep(100*time.Millisecond + rand.N(700*time.Millisecond))
		_ = cmd.Process.Kill()
		_ = cmd.Wait()
	}
	st := b.run()
	if len(st.Points) != 10 || st.Count(sweeps.Finished) != 10 {
		t.Fatalf("%d of %d points finished", st.Count(sweeps.Finished), len(st.Points))
	}
	infos, err := b.runs.OfSweep(t.Context(), st.ID)
	if err != nil {
		t.Fatal(err)
	}
	trained := map[string]int{}
	for _, in := range infos {
		switch {
		case in.State == runner.Finished:
			trained[in.Run.Sweep.Point]++
		case in.State != runner.Lost || in.HadRanks():
			t.Errorf("run %s is %s: %s", in.ID, in.State, in.Cause)
		}
	}
	adopted := 0
	for _, p := range st.Points {
		last := p.Attempts[len(p.Attempts)-1]
		if trained[p.ID] != 1 || last.Seconds <= 0 {
			t.Errorf("%s: %d finished runs, %+v", p.Label, trained[p.ID], p.Attempts)
		}
		if last.Adopted {
			adopted++
		}
	}
	t.Logf("%d runs, %d adopted", len(infos), adopted)
}
