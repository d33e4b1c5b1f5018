package live

import (
	"math"
	"math/rand/v2"
	"testing"

	"boost-tui/profiler/record"
)

func TestThePartsSumToTheMeanStep(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		var ranks [][]record.StepLine
		var wall mean
		for range 1 + rng.IntN(4) {
			var lines []record.StepLine
			for step := range 1 + rng.IntN(window) {
				l := record.NewStepLine(step)
				l.ComputeNanos, l.ExposedNanos, l.MemNanos, l.IdleNanos = rng.Int64N(1e9), rng.Int64N(1e9), rng.Int64N(1e6), rng.Int64N(1e8)
				l.OverlapNanos = rng.Int64N(l.ComputeNanos + 1)
				l.CommNanos = l.ExposedNanos + l.OverlapNanos
				l.WaitNanos = rng.Int64N(l.CommNanos + 1)
				l.WallNanos = l.ComputeNanos + l.ExposedNanos + l.MemNanos + l.IdleNanos
				wall.add(float64(l.WallNanos) / 1e9)
				lines = append(lines, l)
			}
			ranks = append(ranks, lines)
		}
		p, _ := partsOf(ranks)
		if d := math.Abs(p.Sum() - wall.value()); d > 1e-9 {
			t.Fatalf("parts sum to %v, the mean step is %v", p.Sum(), wall.value())
		}
		if d := math.Abs(p.Comm - p.Wait - p.Transfer); d > 1e-9 || math.Abs(p.Comm-p.Exposed-p.Hidden) > 1e-9 {
			t.Fatalf("communication %v is not waiting %v and transfer %v, or exposed %v and hidden %v", p.Comm, p.Wait, p.Transfer, p.Exposed, p.Hidden)
		}
	}
	if p, n := partsOf(nil); p.Known() || n != 0 {
		t.Errorf("of nothing: %+v, %d", p, n)
	}
}

func FuzzWindowOf(f *testing.F) {
	f.Add(int64(1), int64(100), int64(10), int64(-1))
	f.Add(int64(5), int64(5), int64(0), int64(7))
	f.Fuzz(func(t *testing.T, first, length, span, end int64) {
		const limit = 1 << 40
		first, length, span = clamp64(first, 0, limit), clamp64(length, 0, limit), clamp64(span, -limit, limit)
		last := first + length
		from, to := windowOf(first, last, span, clamp64(end, -1, limit))
		if from < first || to > last || from > to {
			t.Errorf("[%d, %d] of [%d, %d], span %d, end %d", from, to, first, last, span, end)
		}
		if span > 0 && span <= last-first && to-from+1 != span {
			t.Errorf("[%d, %d] are not %d steps", from, to, span)
		}
	})
}

// Waiting is a part of the communication that stands beside it.
func TestARankWaitsNoLongerThanItCommunicates(t *testing.T) {
	l := record.NewStepLine(1)
	l.WallNanos, l.ComputeNanos, l.ExposedNanos, l.OverlapNanos, l.CommNanos, l.WaitNanos = 100, 90, 10, 40, 50, 30
	r := newRankStat(0)
	if r.fromSteps([]record.StepLine{l}); r.comm != 0.5 || r.wait != 0.3 {
		t.Errorf("communication %v, of it waiting %v", r.comm, r.wait)
	}
}
