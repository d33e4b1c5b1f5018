package chart

import (
	"math"
	"strconv"
	"strings"
)

// Ticks returns about n round values within [low, high], ascending.
func Ticks(low, high float64, n int) []float64 {
	if n <= 0 || !Finite(low) || !Finite(high) {
		return nil
	}
	low, high = Clean(low), Clean(high)
	if !(high > low) {
		return []float64{low}
	}
	step := niceStep((high - low) / float64(max(1, n)) * 0.7)
	if step <= 0 || !Finite(step) {
		return []float64{low, high}
	}
	out := multiples(low, high, step, 4*n+4)
	if len(out) < 2 {
		// One tick alone says nothing of the scale.
		out = multiples(low, high, niceStep(step*0.3), 4*n+4)
	}
	return out
}

// multiples lists the multiples of step within [low, high], at most so many.
func multiples(low, high, step float64, most int) []float64 {
	first := math.Ceil(low/step - 1e-9)
	var out []float64
	for i := 0; i <= most; i++ {
		v := (first + float64(i)) * step
		if v > high+step*1e-9 {
			break
		}
		out = append(out, v)
	}
	return out
}

func niceStep(raw float64) float64 {
	if !(raw > 0) {
		return 0
	}
	base := math.Pow(10, math.Floor(math.Log10(raw)))
	for _, m := range []float64{1, 2, 2.5, 5, 10} {
		if m*base >= raw*(1-1e-9) {
			return m * base
		}
	}
	return 10 * base
}

// Label writes v with just the decimals that tell it from its neighbours at
// the given distance: 0.25 for step 0.05, 280 for step 140, 1.2e+09 when it is
// long. It never writes minus zero.
func Label(v, step float64) string {
	if !Finite(v) {
		return "nan"
	}
	if math.Abs(v) < math.Abs(step)*1e-6 || v == 0 {
		return "0"
	}
	if a := math.Abs(v); a >= 1e6 || a < 1e-4 {
		return compact(v)
	}
	decimals := 0
	if step = math.Abs(step); step > 0 && step < 1 {
		decimals = int(math.Ceil(-math.Log10(step) - 1e-9))
		if scaled := step * math.Pow(10, float64(decimals)); math.Abs(scaled-math.Round(scaled)) > 1e-6 {
			decimals++
		}
	} else if step != math.Trunc(step) {
		decimals = 1
	}
	return strconv.FormatFloat(v, 'f', min(decimals, 8), 64)
}

// Value writes v with four significant digits, for read-outs.
func Value(v float64) string {
	if math.IsNaN(v) {
		return "NaN"
	}
	if math.IsInf(v, 0) {
		return strings.TrimPrefix(strconv.FormatFloat(v, 'g', -1, 64), "+")
	}
	if a := math.Abs(v); v != 0 && (a >= 1e6 || a < 1e-4) {
		return compact(v)
	}
	decimals := 0
	if v != 0 {
		decimals = clampInt(3-int(math.Floor(math.Log10(math.Abs(v)))), 0, 6)
	}
	s := strconv.FormatFloat(v, 'f', decimals, 64)
	if strings.Trim(s, "-0.") == "" {
		return "0"
	}
	return s
}

func compact(v float64) string {
	s := strconv.FormatFloat(v, 'e', 2, 64)
	mantissa, exponent, _ := strings.Cut(s, "e")
	mantissa = strings.TrimRight(strings.TrimRight(mantissa, "0"), ".")
	sign := ""
	if strings.HasPrefix(exponent, "-") {
		sign = "-"
	}
	exponent = strings.TrimLeft(exponent, "+-0")
	if exponent == "" {
		return mantissa
	}
	return mantissa + "e" + sign + exponent
}

func clampInt(v, low, high int) int { return max(low, min(v, high)) }
