package live

import (
	"math/rand/v2"
	"strings"
	"testing"

	"boost-tui/profiler"
	"boost-tui/profiler/record"
)

// waiting makes the lines of ranks of which each waits so many ms of a step of
// 100 ms.
func waiting(steps int, wait func(rank, step int) float64, ranks int) map[int][]record.StepLine {
	out := map[int][]record.StepLine{}
	for r := range ranks {
		for step := 1; step <= steps; step++ {
			l := record.NewStepLine(step)
			l.WallNanos, l.WaitNanos = 100e6, int64(wait(r, step)*1e6)
			out[r] = append(out[r], l)
		}
	}
	return out
}

func TestAStragglerIsLateAgainAndAgain(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	steady := func(w ...float64) func(int, int) float64 { return func(r, _ int) float64 { return w[r] } }
	for name, c := range map[string]struct {
		steps, ranks int
		wait         func(rank, step int) float64
		rank         int
		flagged      bool
		text         string
	}{
		"two steps":           {2, 4, steady(14, 13, 15, 1), -1, false, "needs 58 more steps to tell"},
		"the last":            {120, 4, steady(14, 14, 14, 1), 3, true, "rank 3 waits 1.0 % of a 100.0 ms step, the others 14.0 %: 13.0 ms less, in 6 of 6 windows"},
		"equal":               {120, 4, steady(10, 10, 10, 10), -1, false, "no straggler"},
		"below one percent":   {120, 4, steady(10, 10, 10, 9.2), -1, false, "no straggler"},
		"ranks differ anyway": {120, 4, steady(4, 12, 20, 1), -1, false, "no straggler"},
		"now and then":        {120, 4, func(r, step int) float64 { return 10 - 9*float64(r/3)*float64(step/lateSteps%2) }, -1, false, "no straggler"},
		"noise":               {120, 4, func(int, int) float64 { return 10 + 8*rng.Float64() }, -1, false, "no straggler"},
		"one of two":          {120, 2, steady(2, 12), 0, false, "rank 0 waits least: 2.0 % of a 100.0 ms step, the other 12.0 %: 10.0 ms less"},
		"two in turn":         {120, 2, func(r, step int) float64 { return 10 * float64((step/lateSteps+r)%2) }, -1, false, "no straggler"},
		"one rank":            {120, 1, steady(3), -1, false, "no straggler"},
	} {
		s := findStraggler(waiting(c.steps, c.wait, c.ranks))
		if s.rank != c.rank || s.slow(c.rank) != c.flagged && c.rank >= 0 || !strings.Contains(s.text(true), c.text) {
			t.Errorf("%s: %+v: %s", name, s, s.text(true))
		}
	}
}

func TestUnknownWaitsAndTornStepsAreLeftOut(t *testing.T) {
	lines := waiting(120, func(r, _ int) float64 { return 10 }, 3)
	lines[1] = lines[1][:90]
	lines[2][5].WaitNanos = -1
	if w := gatherWaits(lines); len(w.wait) != 89 {
		t.Errorf("%d steps are common", len(w.wait))
	}
	if s := findStraggler(nil); s.rank >= 0 {
		t.Errorf("%+v", s)
	}
}

// Where there are enough sampled steps, arrivals decide.
func TestArrivalsDecideWhereTheyAreKnown(t *testing.T) {
	s := findStraggler(waiting(120, func(int, int) float64 { return 10 }, 3))
	var list []profiler.Collective
	for step := range 60 {
		list = append(list, profiler.Collective{Step: step, Ranks: []int{0, 1, 2}, StartNanos: []int64{0, 3e6, 0}, ArrivalNanos: 3e6})
	}
	few := s
	few.fromTimelines(list[:40])
	s.fromTimelines(list)
	if few.measured || !s.measured || s.rank != 1 || !strings.Contains(s.text(true), "rank 1 reaches collectives 3.0 % of a 100.0 ms step late (3.00 ms), in 3 of 3 windows") {
		t.Errorf("%+v %+v %s", few, s, s.text(true))
	}
}
