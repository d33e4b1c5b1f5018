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

// TestJagged re-warms after every merge or exact step, but not in the first cycle.
func TestJagged(t *testing.T) {
	smooth := experiment.Train{Steps: 100, Warmup: 4, LR: 1}
	for name, jagged := range map[string]experiment.Train{
		"relora": {Steps: 100, Warmup: 4, LR: 1, ReLoRAEvery: 20, RestartWarmup: 5},
		"loro":   {Steps: 100, Warmup: 4, LR: 1, LOROEvery: 20, LORORefresh: 10, RestartWarmup: 5},
	} {
		for step := 1; step <= 100; step++ {
			want := Rate(smooth, step)
			if q := (step - 1) % 20; step > 20 && q < 5-1 {
				want = Rate(smooth, step-q) * float64(q+1) / 5
			}
			if got := Rate(jagged, step); got != want {
				t.Errorf("%s: step %d: %g, want %g", name, step, got, want)
			}
		}
	}
	none := experiment.Train{Steps: 100, Warmup: 4, LR: 1, ReLoRAEvery: 20, RestartWarmup: 1}
	long := experiment.Train{Steps: 100, Warmup: 30, LR: 1, ReLoRAEvery: 20, RestartWarmup: 20}
	for step := 1; step <= 100; step++ {
		if Rate(none, step) != Rate(smooth, step) {
			t.Errorf("step %d: a warm-up of one step changes the rate", step)
		}
		if step <= 30 && Rate(long, step) != float64(step)/30 {
			t.Errorf("step %d: the first warm-up is broken off: %g", step, Rate(long, step))
		}
	}
}
