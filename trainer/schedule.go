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
//
// LORO and ReLoRA start over with their moments at zero after every exact step or merge. The steps after one warm up
// again, linearly, to where the cosine was when the cycle began, and then jump onto it (METHOD.md §2, jagged).
func Rate(t experiment.Train, step int) float64 {
	if step <= t.Warmup {
		return t.LR * float64(step) / float64(t.Warmup)
	}
	if cycle := t.Cycle(); cycle > 0 && step > cycle {
		if q := (step - 1) % cycle; q < t.RestartWarmup-1 {
			return cosine(t, step-q) * float64(q+1) / float64(t.RestartWarmup)
		}
	}
	return cosine(t, step)
}

// cosine is the rate without warm-ups.
func cosine(t experiment.Train, step int) float64 {
	done := 1.0
	if t.Steps > t.Warmup {
		done = min(1, max(0, float64(step-t.Warmup)/float64(t.Steps-t.Warmup)))
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
