package stats

import (
	"math"
	"testing"
)

// A run of as many steps as StepsNeeded says is not short and keeps enough.
func TestStepsNeeded(t *testing.T) {
	for _, step := range []float64{0.001, 0.03, 0.2, 1, 9, 60} {
		n := StepsNeeded(step)
		seconds := make([]float64, n)
		for i := range seconds {
			seconds[i] = step * 1.0000001
		}
		if s := Skip(seconds); s.Short || n-s.Steps < RecommendedSteps {
			t.Errorf("%g s: %d steps give %+v", step, n, s)
		}
	}
	for _, step := range []float64{0, -1, math.NaN(), math.Inf(1), 1e-300} {
		if n := StepsNeeded(step); n != 0 {
			t.Errorf("%g s: %d", step, n)
		}
	}
}
