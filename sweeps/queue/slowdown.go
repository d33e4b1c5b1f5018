package queue

import (
	"math"

	"boost-tui/profiler/stats"
)

// The rule against slow runs judges a run while it goes on, by its time per token against that of the best comparable run
// that has finished, up to the same step. It may be wrong about a run once in a while, but it looks at very many.
const (
	// slowerFactor is how many times slower a run must be: what is nearer to the best is worth its figures.
	slowerFactor = 1.1
	// The first steps of both do not count: so many, and a tenth. It takes so many more for an interval.
	slowerSkip = 5
	slowerKept = 12
	slowerFrom = slowerSkip + slowerKept
	// judgedSteps is how many steps of a run the rule looks at, ever: what is not slower by then never will be.
	judgedSteps = 1 << 14

	// The interval of the ratio is that of the means of so many stretches of steps: within a stretch they may depend on
	// each other as they like. With Student's t of 2(stretches-1) degrees of freedom it lies wholly above the margin by
	// chance once in a thousand looks.
	stretches = 6
	studentT  = 4.144

	// slowerWitnesses is how many runs are asked, the last ones, what this machine does to runs of a kind now and then.
	slowerWitnesses = 20
)

// slowdown is how many times as long a run takes per token as another one.
type slowdown struct {
	ratio, lo, hi float64
}

// slowerThan reports whether a run is clearly slower than the best of those like it, by the first n steps of both.
//
// The interval of the ratio of their times must lie above slowerFactor. And slow stretches of as many steps that the best
// or others went through themselves prove nothing: the run must be as many times slower again. Noise that lasts is seen
// badly in few steps, so of n steps slowerFactor·(1 + 1/√n) is asked for there. The run is looked at after 17, 34, 68, …
// steps; so few looks multiply the errors by little.
//
// How often a run is ended, in percent of 4,000 simulated ones against ten finished ones, over all looks at it, and after
// how many steps on average (TestSlowerErrors). Steps scatter by so much and are autocorrelated, a few are much longer.
//
//	                                  steps   as fast  5 % slower   30 % slower   50 % slower   twice as slow
//	2 %, 0.3 (as in profiler/stats)      60    0.00       0.00        17 (34)      100 (17)      100 (17)
//	                                    300    0.00       0.00       100 (68)      100 (17)      100 (17)
//	10 %, 0.6                            60    0.00       0.00        31 (34)       98 (29)      100 (17)
//	                                    300    0.00       0.00       100 (104)     100 (38)      100 (17)
//	10 %, 0.9                            60    0.05       0.47        46 (32)       94 (27)      100 (17)
//	                                    300    0.00       0.03        94 (153)     100 (56)      100 (18)
//	30 %, 0.3                            60    0.00       0.03         6 (32)       34 (31)       93 (24)
//	                                    300    0.00       0.00        77 (211)     100 (108)     100 (36)
//	spells of 25 steps, 40 % slower,     60    1.25       2.17        29 (34)       48 (23)      100 (18)
//	a third of the time                 300    0.25       1.07        54 (184)      96 (156)     100 (25)
//
// Ones that take four times as long are ended after 17 steps in all of them. What it cannot know is that equal runs differ as
// wholes: where they do so by 3 %, the best of ten is no typical one, and of runs of 300 steps that are 5 % slower than a
// typical one it ends 3.3 %.
func slowerThan(mine []float64, best *paced, like []*paced, n int) (slowdown, bool) {
	x := compareStretches(mine, best.steps.kept(n))
	if x.lo <= slowerFactor {
		return x, false
	}
	margin := slowerFactor * (1 + 1/math.Sqrt(float64(len(mine))))
	times := stats.Percentile(mine, 0.5) / best.median / margin
	for _, f := range append([]*paced{best}, like[max(0, len(like)-slowerWitnesses):]...) {
		if times <= slowestStretch(f.whole, len(mine))/f.median {
			return x, false
		}
	}
	return x, true
}

// compareStretches is the ratio of the times of two runs with its interval. A stretch counts by its median, whose
// logarithm is about normal.
func compareStretches(mine, other []float64) slowdown {
	a, va := ofStretches(mine)
	b, vb := ofStretches(other)
	width := studentT * math.Sqrt(va+vb)
	return slowdown{ratio: math.Exp(a - b), lo: math.Exp(a - b - width), hi: math.Exp(a - b + width)}
}

// ofStretches is the mean of the stretches' logarithms and its variance.
func ofStretches(x []float64) (mean, variance float64) {
	var logs [stretches]float64
	for i := range logs {
		logs[i] = math.Log(stats.Percentile(x[i*len(x)/stretches:(i+1)*len(x)/stretches], 0.5))
	}
	mean = stats.Mean(logs[:])
	for _, v := range logs {
		variance += (v - mean) * (v - mean)
	}
	return mean, variance / (stretches - 1) / stretches
}

// slowestStretch is the largest median of n steps in a row.
func slowestStretch(x []float64, n int) float64 {
	most := 0.0
	for i := 0; i+n <= len(x); i += max(1, n/4) {
		most = max(most, stats.Percentile(x[i:i+n], 0.5))
	}
	return most
}

// kept are the seconds per token of the first n steps that count, without the warm-up; of fewer where there are not as
// many.
func (s *steps) kept(n int) []float64 {
	n = min(n, len(s.seconds))
	var out []float64
	for i := max(slowerSkip, n/10); i < n; i++ {
		out = append(out, s.seconds[i]/s.tokens[i])
	}
	return out
}

// due reports whether it is time to judge the run: as soon as it can be, and then each time it has made twice as many
// steps. Who looks more often finds something in noise.
func (s *steps) due() bool { return len(s.seconds) >= max(slowerFrom, 2*s.looked) }
