package sweep

import (
	"fmt"
	"strconv"
	"strings"

	"boost-tui/sweeps/results"
	"boost-tui/tui/format"
	"boost-tui/tui/layout"
	"boost-tui/tui/pick"
	"boost-tui/tui/theme"
	"boost-tui/tui/widget/panel"
)

func (m *Model) resultsPane(t theme.Theme, r layout.Rect) string {
	w, h := panel.Inner(r.W, r.H)
	p := &m.results
	p.table.Empty = "no results yet: they come with the first steps"
	if m.seen.all > 0 {
		p.table.Empty = "no run passes the filter; esc clears it"
	}
	m.resultWidth = w
	foot := m.resultFoot(t, w, h)
	body := layout.Stack(p.table.View(t, w, h-len(foot), m.focus == paneResults), strings.Join(foot, "\n"))
	title := "Results"
	switch m.look.Only {
	case onlyFront:
		title = "Results: Pareto front"
	case onlyBest:
		title = "Results: best per size"
	}
	if mark := emulatedRows(m.seen.rows); mark != "" {
		title += ", " + mark
	}
	return panel.Panel{Title: title, Note: m.resultNote(t, w, w-layout.Width(title)-8), Focused: m.focus == paneResults}.View(t, body, r.W, r.H)
}

// resultNote says which rows are left out and how they are ordered, what matters
// most first, in room cells beside a table of w.
func (m *Model) resultNote(t theme.Theme, w, room int) string {
	p := &m.results
	var parts []string
	if text := m.look.Filter; text != "" {
		parts = append(parts, "/"+layout.Cut(text, 20, t.Glyphs.Ellipsis))
	}
	if n := len(m.seen.rows); n != m.seen.all || n > rowsShown {
		parts = append(parts, fmt.Sprintf("%d of %d", min(n, rowsShown), m.seen.all))
	}
	if n := len(p.table.Marked()); n > 0 {
		parts = append(parts, fmt.Sprintf("%d marked", n))
	}
	if m.look.Sort != "" {
		arrow := t.Glyphs.Up
		if m.look.Down {
			arrow = t.Glyphs.Down
		}
		parts = append(parts, "sort: "+layout.Clean(m.look.Sort)+" "+arrow)
	}
	parts = append(parts, sheetNote(&p.table, w)...)
	for len(parts) > 1 && layout.Width(strings.Join(parts, "  ")) > room {
		parts = parts[:len(parts)-1]
	}
	return strings.Join(parts, "  ")
}

// resultFoot is the best so far, the point under the cursor in full, and what the
// marks mean, where there is room.
func (m *Model) resultFoot(t theme.Theme, w, h int) []string {
	if len(m.seen.rows) == 0 || h < 6 {
		return nil
	}
	out := m.bestLines(t, w, max(1, h/5))
	if h >= 8 {
		out = append(out, m.pointFoot(t, m.results.table.Cursor(), w, 1, 1+h/10)...)
	}
	if h >= 12 {
		for _, line := range layout.Wrap("P on the front of step time, memory and loss20, the mean of the last 20 losses; * best of its size; (…) no verdict, i says why", w) {
			out = append(out, t.Dim.Paint(line))
		}
	}
	return out
}

// bestLines name the fastest of each size, at most n of them.
func (m *Model) bestLines(t theme.Theme, w, n int) []string {
	var out []string
	for _, r := range m.seen.rows {
		if !m.shown.digest.best[r.Point] {
			continue
		}
		short := "best " + layout.Clean(r.Size) + ": " + layout.Clean(r.Label)
		if v := r.Figures.StepTimeMedian; v != nil {
			short += " " + format.Millis(*v) + " ms"
		}
		long := short
		for _, x := range []struct {
			of   *results.Versus
			name string
		}{{r.VsFull, "full"}, {r.VsVanilla, "vanilla"}} {
			if x.of != nil && x.of.Run != r.Run {
				text, _ := pick.Ratio(&x.of.Speedup, false, t.Glyphs.Times, "")
				long += "  " + text + " " + ratios(x.of.CI, t) + " vs " + x.name
				short += "  " + text + " vs " + x.name
			}
		}
		if layout.Width(long) > w { // an interval goes before a ratio is cut
			long = short
		}
		out = append(out, t.Good.Paint(layout.Cut(long, w, t.Glyphs.Ellipsis)))
		if len(out) == n {
			break
		}
	}
	return out
}

func ratios(ci []float64, t theme.Theme) string {
	if len(ci) != 2 {
		return ""
	}
	return "[" + strconv.FormatFloat(ci[0], 'f', 2, 64) + t.Glyphs.Dash + strconv.FormatFloat(ci[1], 'f', 2, 64) + "]"
}
