// Package stats says what step times prove: medians with intervals, speed-ups with intervals, and
// whether two runs differ. Step times are skewed and autocorrelated, which is why the usual tests
// mislead (PROFILING.md §7). Everything is deterministic.
//
// Start reading at Skip, Median and SpeedUp.
package stats

import (
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Interval is an estimate with its 95 % interval. Lo and Hi are NaN where n is too small for one.
type Interval struct {
	Value, Lo, Hi float64
}

// confidence of every interval here.
const confidence = 0.95

// Median is the sample median with the interval between two order statistics that covers the
// true median with at least 95 % (exact binomial). Below 6 samples there is none. NaN of nothing.
func Median(x []float64) Interval {
	s := slices.Sorted(slices.Values(x))
	m := Interval{Value: Quantile(s, 0.5), Lo: math.NaN(), Hi: math.NaN()}
	if l := orderRank(len(s)); l > 0 {
		m.Lo, m.Hi = s[l-1], s[len(s)-l]
	}
	return m
}

// orderRank is the largest l for which the l-th smallest and the l-th largest of n enclose the
// median with the wanted confidence; 0: none does.
func orderRank(n int) int {
	if n < 1 {
		return 0
	}
	b := distuv.Binomial{N: float64(n), P: 0.5}
	tail := (1 - confidence) / 2
	lo, hi := 0, n/2+1 // lo serves, hi does not
	for hi-lo > 1 {
		mid := (lo + hi) / 2
		if b.CDF(float64(mid-1)) <= tail {
			lo = mid
		} else {
			hi = mid
		}
	}
	return lo
}

// Quantile of sorted values, by linear interpolation. NaN of nothing.
func Quantile(sorted []float64, q float64) float64 {
	n := len(sorted)
	if n == 0 {
		return math.NaN()
	}
	at := q * float64(n-1)
	i := int(at)
	if i >= n-1 {
		return sorted[n-1]
	}
	return sorted[i] + (at-float64(i))*(sorted[i+1]-sorted[i])
}

// Mean of the values, NaN of nothing.
func Mean(x []float64) float64 {
	sum := 0.0
	for _, v := range x {
		sum += v
	}
	return sum / float64(len(x))
}

// Warm-up that is left out of every figure.
const (
	skipSteps   = 5
	skipSeconds = 10
	skipWindow  = 10
	skipDrift   = 0.01
	skipCap     = 30
	// VerdictSteps is how many kept steps a run needs for a verdict, RecommendedSteps how many it should have.
	VerdictSteps     = 20
	RecommendedSteps = 50
)

// Skipped is how many steps at the start of a run do not count, and by which rule.
type Skipped struct {
	Steps int
	Short bool // too short for the rule: a quarter was skipped, and no verdict is given
	Rule  string
}

// Skip applies the skip rule to step times in seconds: at least 5 steps and 10 s, then until the
// median of 10 steps is within 1 % of that of the next 10, but no further than step 30 for that. A
// run too short for this skips its first quarter.
func Skip(seconds []float64) Skipped {
	n, total := 0, 0.0
	for n < len(seconds) && (n < skipSteps || total < skipSeconds) {
		total += seconds[n]
		n++
	}
	if total < skipSeconds || len(seconds)-n < 2*skipWindow {
		return Skipped{len(seconds) / 4, true, "short: first quarter"}
	}
	rule := "5 steps and 10 s"
	for n < skipCap && len(seconds)-n > 2*skipWindow && drifts(seconds[n:]) {
		n++
		rule = "5 steps and 10 s, then until 10 steps are within 1 % of the next 10 (at most 30)"
	}
	return Skipped{n, false, rule}
}

func drifts(x []float64) bool {
	a := Median(x[:skipWindow]).Value
	b := Median(x[skipWindow : 2*skipWindow]).Value
	return math.Abs(a-b) > skipDrift*b
}

// Autocorrelation of the series at a lag; 0 where it has no variance or is too short.
func Autocorrelation(x []float64, lag int) float64 {
	if lag >= len(x) {
		return 0
	}
	mean, num, den := Mean(x), 0.0, 0.0
	for i, v := range x {
		den += (v - mean) * (v - mean)
		if i >= lag {
			num += (v - mean) * (x[i-lag] - mean)
		}
	}
	if den == 0 {
		return 0
	}
	return num / den
}

// Stride is the first lag at which the autocorrelation is below 0.1: every Stride-th value is about independent.
func Stride(x []float64) int {
	for lag := 1; lag <= len(x)/4; lag++ {
		if Autocorrelation(x, lag) < 0.1 {
			return lag
		}
	}
	return max(1, len(x)/4)
}

// Percentile is Quantile of values in any order.
func Percentile(x []float64, q float64) float64 {
	return Quantile(slices.Sorted(slices.Values(x)), q)
}
