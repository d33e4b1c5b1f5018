package trainer

import (
	"math"

	"boost-tui/experiment"
)

// finalShare is where the cosine ends, as a share of the peak (METHOD.md §2: CoLA's "cosine to 10%").
const finalShare = 0.1

// Rate is the learning rate of a step, counted from 1: linear from LR/warmup to LR over the warm-up,
// then half a cosine down to a tenth of LR at the last step of the schedule. A warm-up longer than the
// schedule is cut off by its end; stop-after changes nothing here.
func Rate(t experiment.Train, step int) float64 {
	if step <= t.Warmup {
		return t.LR * float64(step) / float64(t.Warmup)
	}
	done := 1.0
	if t.Steps > t.Warmup {
		done = min(1, float64(step-t.Warmup)/float64(t.Steps-t.Warmup))
	}
	return t.LR * (finalShare + (1-finalShare)*(1+math.Cos(math.Pi*done))/2)
}

// lastStep is the step after which the run is finished.
func lastStep(t experiment.Train) int {
	if t.StopAfter > 0 {
		return min(t.StopAfter, t.Steps)
	}
	return t.Steps
}
