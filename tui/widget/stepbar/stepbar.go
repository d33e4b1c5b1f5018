// Package stepbar draws where a step's time goes, as one bar whose parts sum
// to the step. Live and Compare share it, so that a bar means the same on both.
package stepbar

import (
	"math"
	"strings"

	"boost-tui/tui/chart"
	"boost-tui/tui/format"
	"boost-tui/tui/layout"
	"boost-tui/tui/theme"
)

// Parts of a step in seconds (PROFILING.md §5): compute alone, compute that
// hides communication, exposed communication, memory alone, idle. They sum to
// the step. Unknown parts are NaN and draw nothing.
type Parts struct {
	Compute, Hidden, Exposed, Memory, Idle float64
	// All communication, hidden or exposed, and what it consists of. Neither is
	// known of the exposed part alone. NaN unknown.
	Comm, Wait, Transfer float64
}

// Unknown has no known part.
func Unknown() Parts {
	nan := math.NaN()
	return Parts{nan, nan, nan, nan, nan, nan, nan, nan}
}

func (p Parts) list() [5]float64 {
	return [5]float64{p.Compute, p.Hidden, p.Exposed, p.Memory, p.Idle}
}

// Known reports whether any part is known.
func (p Parts) Known() bool {
	for _, v := range p.list() {
		if chart.Finite(v) {
			return true
		}
	}
	return false
}

// Sum is the step time: the sum of the known parts.
func (p Parts) Sum() float64 {
	sum := 0.0
	for _, v := range p.list() {
		if chart.Finite(v) {
			sum += v
		}
	}
	return sum
}

// Bar draws the parts on a scale where full seconds fill w cells.
func (p Parts) Bar(t theme.Theme, full float64, w int) string {
	return chart.Stack(chart.Breakdown(t, p.Compute, p.Hidden, p.Exposed, p.Memory, p.Idle), full, w)
}

// names of the parts, long and short.
var names = [5][2]string{{"compute", "comp"}, {"compute hiding comm", "hiding"}, {"exposed comm", "exposed"}, {"memory", "mem"}, {"idle", "idle"}}

// Legend explains the glyphs in one line of w cells, as long as there is room;
// memory alone is left out where it is nothing.
func Legend(t theme.Theme, p Parts, w int) string {
	for _, short := range []int{0, 1} {
		var b []string
		for i, part := range chart.Breakdown(t, 0, 0, 0, 0, 0) {
			if i == 3 && !(p.Memory > 0) {
				continue
			}
			b = append(b, part.Style.Paint(part.Glyph)+" "+names[i][short])
		}
		if line := strings.Join(b, "  "); short == 1 || layout.Width(line) <= w {
			return layout.Cut(line, w, "")
		}
	}
	return ""
}

// AllComm says what all communication of the step consists of, in the words of
// every screen; "" where that is not known.
func (p Parts) AllComm() string {
	if !chart.Finite(p.Comm) || !chart.Finite(p.Wait) || !chart.Finite(p.Transfer) {
		return ""
	}
	return "all comm " + format.Millis(p.Comm) + " = wait " + format.Millis(p.Wait) + " + transfer " + format.Millis(p.Transfer)
}

// Values writes the parts in milliseconds behind their glyphs, and all
// communication, on as many lines of w cells as they need; below 50 cells, as
// one line of figures over a legend, then all communication.
func (p Parts) Values(t theme.Theme, w int) []string {
	if w < 50 {
		return p.short(t, w)
	}
	var words []string
	for i, part := range chart.Breakdown(t, 0, 0, 0, 0, 0) {
		v := p.list()[i]
		if i == 3 && !(v > 0) {
			continue
		}
		word := part.Style.Paint(part.Glyph) + " " + names[i][0] + " " + format.Millis(v)
		words = append(words, word)
	}
	if all := p.AllComm(); all != "" {
		words = append(words, all)
	}
	return wrap(words, w)
}

func (p Parts) short(t theme.Theme, w int) []string {
	var figures, legend []string
	for i, part := range chart.Breakdown(t, 0, 0, 0, 0, 0) {
		v := p.list()[i]
		if i == 3 && !(v > 0) {
			continue
		}
		glyph := part.Style.Paint(part.Glyph)
		figures = append(figures, glyph+" "+format.Digits(v*1e3))
		legend = append(legend, glyph+names[i][1])
	}
	lines := []string{layout.Cut(strings.Join(figures, " "), w, ""), layout.Cut(strings.Join(legend, " "), w, "")}
	if all := p.AllComm(); all != "" {
		if layout.Width(all) > w {
			all = strings.TrimPrefix(all, "all ")
		}
		for _, line := range layout.Wrap(all, w) {
			lines = append(lines, layout.Cut(line, w, ""))
		}
	}
	return lines
}

// wrap puts words on lines of at most w cells; a word that is too long is cut.
func wrap(words []string, w int) []string {
	var lines []string
	line := ""
	for _, word := range words {
		switch {
		case line == "":
			line = word
		case layout.Width(line)+2+layout.Width(word) <= w:
			line += "  " + word
		default:
			lines = append(lines, layout.Cut(line, w, ""))
			line = word
		}
	}
	if line != "" {
		lines = append(lines, layout.Cut(line, w, ""))
	}
	return lines
}
