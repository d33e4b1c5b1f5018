package chart

import (
	"sort"
	"strings"

	"boost-tui/tui/theme"
)

// Part is a piece of a stacked bar.
type Part struct {
	Value float64
	Glyph string // one cell wide
	Style theme.Style
}

// Cells gives each part its cells so that they sum to exactly the cells of
// the parts' sum on a scale where full fills width. The largest remainder
// wins, so no part is off by more than one cell.
func Cells(parts []Part, full float64, width int) []int {
	out := make([]int, len(parts))
	sum := 0.0
	for _, p := range parts {
		sum += nonNegative(p.Value) / float64(max(1, len(parts)))
	}
	sum *= float64(max(1, len(parts)))
	full = nonNegative(full)
	if width <= 0 || sum <= 0 || full <= 0 || !Finite(sum) {
		return out
	}
	total := width
	if sum < full {
		total = int(sum/full*float64(width) + 0.5)
	}
	rest := make([]float64, len(parts))
	used := 0
	for i, p := range parts {
		exact := nonNegative(p.Value) / sum * float64(total)
		out[i] = int(exact)
		rest[i] = exact - float64(out[i])
		used += out[i]
	}
	order := make([]int, len(parts))
	for i := range order {
		order[i] = i
	}
	sort.SliceStable(order, func(a, b int) bool { return rest[order[a]] > rest[order[b]] })
	for i := 0; used < total && i < len(order); i, used = i+1, used+1 {
		out[order[i]]++
	}
	return out
}

// Stack draws the parts one after another; full is the value that would fill
// all of width, so that several bars share a scale. The bar is padded to width.
func Stack(parts []Part, full float64, width int) string {
	var b strings.Builder
	used := 0
	for i, n := range Cells(parts, full, width) {
		b.WriteString(parts[i].Style.Paint(strings.Repeat(parts[i].Glyph, n)))
		used += n
	}
	b.WriteString(strings.Repeat(" ", max(0, width-used)))
	return b.String()
}

// Breakdown lists the parts of a step in drawing order: compute alone, compute
// that hides communication, exposed communication, memory alone, idle. The
// five sum to the step.
func Breakdown(t theme.Theme, compute, overlap, exposed, memory, idle float64) []Part {
	g := t.Glyphs
	return []Part{{compute, g.Compute, t.Compute}, {overlap, g.Overlap, t.Overlap}, {exposed, g.Exposed, t.Exposed}, {memory, g.Memory, t.Memory}, {idle, g.Idle, t.Idle}}
}
