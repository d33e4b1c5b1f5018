package compare

import (
	"fmt"
	"strconv"

	profile "boost-tui/profiler/compare"
	"boost-tui/tui/chart"
	"boost-tui/tui/format"
	"boost-tui/tui/pick"
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

// over is a row's speed-up over the reference of a role.
func over(r *profile.Row, role pick.Role) *profile.Speedup {
	if role == pick.Vanilla {
		return r.VsVanilla
	}
	return r.VsFull
}

// speedup writes a row's ratio over the reference of a role.
func (m *Model) speedup(r *profile.Row, role pick.Role) (text string, sure bool) {
	own := r.ID == [2]string{m.result.table.Baseline, m.result.table.Vanilla}[role]
	return pick.Ratio(over(r, role), own, m.env.Theme.Glyphs.Times, format.Unknown)
}

// loss writes the last loss, with a sign where it is that of other work than
// the baseline's.
func (m *Model) loss(r *profile.Row) string {
	if r.LossLast == nil {
		return format.Unknown
	}
	text := chart.Value(*r.LossLast)
	if !r.LossMatches {
		text = m.env.Theme.Glyphs.Differs + text
	}
	if r.StepsLeftOut > 0 { // not all of its steps led there
		text = m.env.Theme.Glyphs.Warn + text
	}
	return text
}

// leftOut says how many updates of a run were left out; empty: none.
func leftOut(r *profile.Row) string {
	if r.StepsLeftOut == 0 {
		return ""
	}
	return fmt.Sprintf("%d of %d: loss or gradient norm was not finite", r.StepsLeftOut, r.Steps)
}

func speedupCI(s *profile.Speedup) string {
	if s == nil || len(s.CI) != 2 || s.CI[0] == s.CI[1] {
		return ""
	}
	return interval(s.CI, 1, 2)
}
