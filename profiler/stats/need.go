package stats

import "math"

// StepsNeeded is how many steps a run should have for a verdict when one takes about stepSeconds: those that Skip
// leaves out (5 and 10 s at least), then RecommendedSteps. 0 where the step time is unknown.
func StepsNeeded(stepSeconds float64) int {
	if !(stepSeconds > 0) || math.IsInf(stepSeconds, 0) || stepSeconds < 1e-9 {
		return 0
	}
	return max(skipSteps, int(math.Ceil(skipSeconds/stepSeconds))) + RecommendedSteps
}
