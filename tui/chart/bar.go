package chart

import (
	"strings"

	"boost-tui/tui/theme"
)

// Bar draws value on a scale where full fills width, in eighths of a cell
// where the glyphs have them. track fills the rest; empty leaves blanks.
func Bar(t theme.Theme, style theme.Style, value, full float64, width int, track bool) string {
	if width <= 0 {
		return ""
	}
	g := t.Glyphs
	fill := 0.0
	if full = nonNegative(full); full > 0 {
		fill = min(1, nonNegative(value)/full) * float64(width)
	}
	whole := int(fill)
	bar := strings.Repeat(or(g.Full, "#"), whole)
	used := whole
	if whole < width {
		part := ""
		if n := len(g.Eighths); n > 0 {
			if e := int((fill - float64(whole)) * float64(n+1)); e > 0 {
				part = g.Eighths[e-1]
			}
		} else if fill-float64(whole) >= 0.5 {
			part = or(g.Full, "#")
		}
		if part != "" {
			bar += part
			used++
		}
	}
	rest := " "
	if track {
		rest = or(g.Empty, ".")
	}
	restStyle := theme.Style{}
	if track {
		restStyle = t.Dim
	}
	return style.Paint(bar) + restStyle.Paint(strings.Repeat(rest, width-used))
}

// Spark draws the last width values as one row of steps between their own
// minimum and maximum; undrawable values leave a gap. The row is padded to
// width.
func Spark(t theme.Theme, ys []float64, width int) string {
	if width <= 0 {
		return ""
	}
	if len(ys) > width {
		ys = ys[len(ys)-width:]
	}
	low, high, _ := Extent(ys, false)
	steps := t.Glyphs.Spark
	if len(steps) == 0 {
		steps = []string{".", "-", "="}
	}
	var b strings.Builder
	for _, y := range ys {
		if !Finite(y) {
			b.WriteByte(' ')
			continue
		}
		i := 0
		if high > low {
			i = int((Clean(y) - low) / (high - low) * float64(len(steps)-1) * 1.0001)
		}
		b.WriteString(steps[clampInt(i, 0, len(steps)-1)])
	}
	b.WriteString(strings.Repeat(" ", max(0, width-len(ys))))
	return b.String()
}
