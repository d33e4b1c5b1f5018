// Package chart draws numbers with characters: line charts in braille, blocks
// or ASCII, stacked and plain bars, sparklines. Every function is pure, takes
// any number (NaN, infinities, 1e300) at any size (0x0 included) and returns
// in time that grows with its input only.
package chart

import (
	"math"
	"slices"
)

// limit bounds the magnitude that a chart works with: sums and differences of
// two values within it stay finite.
const limit = 1e150

// Finite reports whether v can be drawn.
func Finite(v float64) bool { return v-v == 0 }

// Clean limits a drawable value to a magnitude that arithmetic survives.
func Clean(v float64) float64 { return max(-limit, min(v, limit)) }

// nonNegative turns anything that a bar cannot show into 0.
func nonNegative(v float64) float64 {
	if !Finite(v) || v < 0 {
		return 0
	}
	return min(v, limit)
}

// Extent is the smallest and largest drawable value of ys; ok is false when
// there is none. With log, only positive values count.
func Extent(ys []float64, log bool) (low, high float64, ok bool) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, y := range ys {
		if !Finite(y) || (log && y <= 0) {
			continue
		}
		y = Clean(y)
		low, high, ok = min(low, y), max(high, y), true
	}
	if !ok {
		return 0, 1, false
	}
	return low, high, true
}

// Top is a largest Y for a chart of values most of which are alike: above
// nearly all of them, so that a few outliers (a first step, a hiccup of the
// machine) do not press the rest into a line. It is 0 where there are no such
// outliers, or values are too few to tell; peak is the largest value.
func Top(ys []float64) (top, peak float64) {
	var known []float64
	for _, y := range ys {
		if Finite(y) {
			known = append(known, Clean(y))
		}
	}
	if len(known) == 0 {
		return 0, 0
	}
	slices.Sort(known)
	most := known[len(known)*97/100]
	peak = known[len(known)-1]
	if len(known) < 20 || most <= 0 || peak < 1.7*most {
		return 0, peak
	}
	return most * 1.2, peak
}
