package compare

import (
	"fmt"
	"strconv"

	profile "boost-tui/profiler/compare"
	"boost-tui/tui/chart"
	"boost-tui/tui/format"
)

func tokens(r *profile.Row) string {
	if r.TokensPerSecond == nil {
		return format.Unknown
	}
	return format.Rate(*r.TokensPerSecond)
}

func size(v *int64) string {
	if v == nil {
		return format.Unknown
	}
	return format.Bytes(*v)
}

func percent(v float64) string {
	if !chart.Finite(v) {
		return format.Unknown
	}
	return strconv.FormatFloat(v*100, 'f', 1, 64) + " %"
}

func interval(ci []float64, scale float64, decimals int) string {
	if len(ci) != 2 {
		return format.Unknown
	}
	return fmt.Sprintf("[%.*f, %.*f]", decimals, ci[0]*scale, decimals, ci[1]*scale)
}

// speedup writes a ratio; ~ says that it proves nothing.
func speedup(s *profile.Speedup, times string) string {
	if s == nil {
		return format.Unknown
	}
	text := format.Ratio(s.Ratio, times)
	if s.Verdict == "~" {
		text = "~" + text
	}
	return text
}

func speedupCI(s *profile.Speedup) string {
	if s == nil || len(s.CI) != 2 || s.CI[0] == s.CI[1] {
		return ""
	}
	return interval(s.CI, 1, 2)
}
