package stats

import (
	"cmp"
	"math"
	"math/rand/v2"
	"slices"
)

const (
	draws = 2000
	// maxSamples bounds the work of a bootstrap: a longer series enters with every k-th value, which
	// makes the interval a little wider, never narrower.
	maxSamples = 20000
	// minRepeats is how many repeats of a run it takes to resample runs as well.
	minRepeats = 3
)

// BlockLength of the moving-block bootstrap of n values: about 1.5·n^⅓.
func BlockLength(n int) int {
	return max(1, int(math.Round(1.5*math.Cbrt(float64(n)))))
}

// SpeedUp is median(base)/median(candidate), above 1 when the candidate is faster, with its 95 %
// percentile interval by moving-block bootstrap (2000 draws, deterministic). Each side is one or
// more runs of step times; from three repeats on, runs are resampled before their blocks.
func SpeedUp(base, candidate [][]float64) Interval {
	return Ratio(Resample(base, Base), Resample(candidate, Candidate))
}

// Side of a speed-up. Each has random numbers of its own, so that what is drawn for one does not go with
// what is drawn for the other.
type Side uint64

// Sides of a speed-up.
const (
	Base      Side = 0x626f6f7374
	Candidate Side = 0x747569
)

// Medians are the median of runs and those of what was drawn from them: a side of a speed-up, which serves for all
// speed-ups that the runs are that side of. Nothing in it changes.
type Medians struct {
	value float64
	drawn []float64 // nil: too few values to draw from
}

// Resample draws one side of a speed-up, as SpeedUp says.
func Resample(runs [][]float64, side Side) *Medians {
	m := &Medians{value: Median(slices.Concat(runs...)).Value}
	r := newResampler(runs)
	if r == nil {
		return m
	}
	rng := rand.New(rand.NewPCG(uint64(side), draws))
	m.drawn = make([]float64, draws)
	for i := range m.drawn {
		m.drawn[i] = r.median(rng)
	}
	return m
}

// Ratio is the speed-up of two sides.
func Ratio(base, candidate *Medians) Interval {
	out := Interval{base.value / candidate.value, math.NaN(), math.NaN()}
	if base.drawn == nil || candidate.drawn == nil {
		return out
	}
	ratios := make([]float64, draws)
	for i := range ratios {
		ratios[i] = base.drawn[i] / candidate.drawn[i]
	}
	slices.Sort(ratios)
	tail := (1 - confidence) / 2
	out.Lo, out.Hi = Quantile(ratios, tail), Quantile(ratios, 1-tail)
	return out
}

// resampler draws medians. Values are kept as ranks, so that a draw counts instead of sorting.
type resampler struct {
	runs   [][]int32 // per run, the rank of each value among all
	blocks []int     // per run, the length of its blocks
	sorted []float64
	counts []int32
}

// newResampler is nil when there is nothing to resample.
func newResampler(runs [][]float64) *resampler {
	total := 0
	for _, r := range runs {
		total += len(r)
	}
	if total < 2 {
		return nil
	}
	stride := (total + maxSamples - 1) / maxSamples
	type value struct {
		v      float64
		run, i int
	}
	var all []value
	r := &resampler{}
	for _, run := range runs {
		n := 0
		for i := 0; i < len(run); i += stride {
			all = append(all, value{run[i], len(r.runs), n})
			n++
		}
		if n > 0 {
			r.runs = append(r.runs, make([]int32, n))
			r.blocks = append(r.blocks, min(BlockLength(n), n))
		}
	}
	slices.SortFunc(all, func(a, b value) int { return cmp.Compare(a.v, b.v) })
	for rank, v := range all {
		r.runs[v.run][v.i] = int32(rank)
		r.sorted = append(r.sorted, v.v)
	}
	r.counts = make([]int32, len(all))
	return r
}

func (r *resampler) median(rng *rand.Rand) float64 {
	clear(r.counts)
	total := 0
	for i := range r.runs {
		if len(r.runs) >= minRepeats {
			i = rng.IntN(len(r.runs))
		}
		r.draw(rng, i)
		total += len(r.runs[i])
	}
	return r.middle(total)
}

// draw counts as many values as a run has, drawn in blocks.
func (r *resampler) draw(rng *rand.Rand, i int) {
	run, length := r.runs[i], r.blocks[i]
	n := len(run)
	for left := n; left > 0; {
		at := rng.IntN(n - length + 1)
		for _, rank := range run[at : at+min(length, left)] {
			r.counts[rank]++
		}
		left -= length
	}
}

// middle is the middle one of the values that were counted, or the mean of the middle two.
func (r *resampler) middle(total int) float64 {
	lo, hi := (total-1)/2, total/2
	seen, low := 0, math.NaN()
	for rank, c := range r.counts {
		if seen += int(c); seen <= lo {
			continue
		}
		if math.IsNaN(low) {
			low = r.sorted[rank]
		}
		if seen > hi {
			return (low + r.sorted[rank]) / 2
		}
	}
	return math.NaN()
}
