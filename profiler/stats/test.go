package stats

import (
	"cmp"
	"math"
	"slices"

	"gonum.org/v1/gonum/stat/distuv"
)

// Alpha is the level of every test, after Holm's correction.
const Alpha = 0.05

// MannWhitney is the two-sided p value of "both come from one distribution", by the normal
// approximation with tie correction. Both series are thinned to about independent values first.
// NaN where there are fewer than 4 values left of one.
func MannWhitney(a, b []float64) float64 {
	a, b = thin(a), thin(b)
	if len(a) < 4 || len(b) < 4 {
		return math.NaN()
	}
	type value struct {
		v     float64
		fromA bool
	}
	var all []value
	for _, v := range a {
		all = append(all, value{v, true})
	}
	for _, v := range b {
		all = append(all, value{v, false})
	}
	slices.SortFunc(all, func(x, y value) int { return cmp.Compare(x.v, y.v) })
	rankSum, ties := 0.0, 0.0
	for i := 0; i < len(all); {
		j := i
		for j < len(all) && all[j].v == all[i].v {
			j++
		}
		rank := float64(i+j+1) / 2 // mean of ranks i+1 … j
		for _, v := range all[i:j] {
			if v.fromA {
				rankSum += rank
			}
		}
		t := float64(j - i)
		ties += t*t*t - t
		i = j
	}
	na, nb := float64(len(a)), float64(len(b))
	n := na + nb
	u := rankSum - na*(na+1)/2
	variance := na * nb / 12 * (n + 1 - ties/(n*(n-1)))
	if variance <= 0 {
		return 1
	}
	z := (math.Abs(u-na*nb/2) - 0.5) / math.Sqrt(variance)
	return min(1, 2*distuv.UnitNormal.Survival(max(0, z)))
}

// thin takes every m-th value, with m from the autocorrelation.
func thin(x []float64) []float64 {
	if len(x) > maxSamples {
		k := (len(x) + maxSamples - 1) / maxSamples
		x = every(x, k)
	}
	return every(x, Stride(x))
}

func every(x []float64, k int) []float64 {
	if k <= 1 {
		return x
	}
	var out []float64
	for i := 0; i < len(x); i += k {
		out = append(out, x[i])
	}
	return out
}

// Holm corrects p values for having looked at all of them. NaN stays NaN and does not count.
func Holm(p []float64) []float64 {
	out := slices.Clone(p)
	var order []int
	for i, v := range p {
		if !math.IsNaN(v) {
			order = append(order, i)
		}
	}
	slices.SortStableFunc(order, func(a, b int) int { return cmp.Compare(p[a], p[b]) })
	worst := 0.0
	for k, i := range order {
		worst = max(worst, min(1, p[i]*float64(len(order)-k)))
		out[i] = worst
	}
	return out
}
