package trainer

import (
	"math"
	"testing"

	"boost-tui/experiment"
)

func TestRate(t *testing.T) {
	near := func(a, b float64) bool { return math.Abs(a-b) < 1e-12 }
	for _, c := range []struct {
		steps, warmup, step int
		want                float64
	}{
		{100, 20, 1, 0.05}, {100, 20, 10, 0.5}, {100, 20, 20, 1},
		{100, 20, 60, 0.55}, {100, 20, 100, 0.1},
		{100, 0, 50, 0.55}, {100, 0, 100, 0.1},
		{10, 20, 10, 0.5},   // a warm-up longer than the run
		{20, 20, 20, 1},     // of the same length
		{100, 20, 130, 0.1}, // beyond the schedule
		{1, 0, 1, 0.1},
	} {
		train := experiment.Train{Steps: c.steps, Warmup: c.warmup, LR: 2}
		if got := Rate(train, c.step); !near(got, 2*c.want) {
			t.Errorf("step %d of %d, warm-up %d: %g, want %g", c.step, c.steps, c.warmup, got, 2*c.want)
		}
	}
	train := experiment.Train{Steps: 1000, Warmup: 50, LR: 1}
	for s := 2; s <= 1000; s++ {
		if d := Rate(train, s) - Rate(train, s-1); s <= 50 && d <= 0 || s > 51 && d >= 0 {
			t.Fatalf("step %d changes the rate by %g", s, d)
		}
	}
}

func TestLastStep(t *testing.T) {
	for _, c := range []struct{ steps, stop, want int }{{10, 0, 10}, {10, 3, 3}, {10, 30, 10}} {
		if got := lastStep(experiment.Train{Steps: c.steps, StopAfter: c.stop}); got != c.want {
			t.Errorf("%+v: %d", c, got)
		}
	}
}
