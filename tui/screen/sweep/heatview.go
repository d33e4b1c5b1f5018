package sweep

import (
	"fmt"
	"math"
	"strings"

	"boost-tui/sweeps/results"
	"boost-tui/tui/chart"
	"boost-tui/tui/format"
	"boost-tui/tui/layout"
	"boost-tui/tui/theme"
	"boost-tui/tui/widget/panel"
)

// heatPane draws the map.
func (m *Model) heatPane(t theme.Theme, r layout.Rect) string {
	w, h := panel.Inner(r.W, r.H)
	title, note := "Heat", ""
	var lines []string
	switch seen := &m.seen; {
	case seen.err != nil:
		lines = layout.Wrap(t.Glyphs.Cross+" "+layout.Clean(seen.err.Error()), w)
	case m.table() == nil:
		lines = []string{t.Dim.Paint("no results yet")}
	case seen.grid == nil:
		lines = []string{t.Dim.Paint("a map needs two axes with several values")}
	default:
		metric, _ := results.MetricOf(seen.look.Metric)
		title, note = "Heat  "+metric.Title, layout.Clean(seen.look.Y+" by "+seen.look.X)
		if mark := emulated(seen.grid); mark != "" {
			title += ", " + mark
		}
		foot := m.heatFoot(t, w, h-leastHeat)
		lines = chart.Heat(t, m.heatCells(t, metric), w, h-len(foot))
		for len(lines) < h-len(foot) {
			lines = append(lines, "")
		}
		lines = append(lines, foot...)
	}
	return panel.Panel{Title: title, Note: note, Focused: m.focus == paneHeat}.View(t, strings.Join(lines, "\n"), r.W, r.H)
}

// leastHeat is the lines of a map that what stands below it leaves: a heading,
// two rows and the legend.
const leastHeat = 4

// heatFoot says in at most n lines what the cells are made of, what a reader
// must know first.
func (m *Model) heatFoot(t theme.Theme, w, n int) []string {
	var out []string
	add := func(style theme.Style, text string) {
		for _, part := range layout.Wrap(text, w) {
			out = append(out, style.Paint(part))
		}
	}
	if text := m.filterText(w); text != "" {
		add(t.Warn, text+"; esc clears it")
	}
	for _, text := range m.seen.unsureLegend(t) {
		add(t.Warn, text)
	}
	add(t.Dim, layout.Clean(m.seen.grid.Combined))
	return out[:layout.Clamp(n, 0, len(out))]
}

// emulatedRows is the mark of times that are not the machine's, of which some rows have one; empty: none has.
func emulatedRows(rows []*results.Row) string {
	for _, r := range rows {
		if mark := r.Marks().EmulatedMark(); mark != "" {
			return mark
		}
	}
	return ""
}

// emulated is that of the figures of a map.
func emulated(g *results.Heat) string {
	for _, line := range g.Cells {
		for _, c := range line {
			if mark := c.EmulatedMark(); mark != "" {
				return mark
			}
		}
	}
	return ""
}

// filterCells is how much of a filter the status line shows.
const filterCells = 20

// filterText says what the results and the map are reduced to, with the first
// cells of the filter; "" without one.
func (m *Model) filterText(cells int) string {
	if m.look.Filter == "" {
		return ""
	}
	return fmt.Sprintf("filter /%s: %d of %s", layout.Cut(layout.Clean(m.look.Filter), cells, m.env.Theme.Glyphs.Ellipsis), m.seen.passed, format.Many(m.seen.all, "point"))
}

// heatCells turns the map into what is drawn.
func (m *Model) heatCells(t theme.Theme, metric results.Metric) chart.HeatMap {
	g := m.seen.grid
	out := chart.HeatMap{Corner: layout.Clean(g.Y), Row: m.heat.row, Col: m.heat.col, Focused: m.focus == paneHeat, Lower: !metric.Higher, Show: metric.Show}
	for _, v := range g.XValues {
		out.Cols = append(out.Cols, axisValue(t, v))
	}
	for j, v := range g.YValues {
		out.Rows = append(out.Rows, axisValue(t, v))
		row := make([]chart.HeatCell, len(g.Cells[j]))
		for i, c := range g.Cells[j] {
			row[i] = chart.HeatCell{Value: math.NaN(), Text: cellText(t, c.State)}
			if c.State == results.CellMeasured {
				row[i] = chart.HeatCell{Value: c.Value, Text: metric.Show(c.Value) + m.seen.unsure[j][i].sign(t)}
				if c.Overlapped {
					row[i].Text = t.Glyphs.Warn + row[i].Text
				}
			}
		}
		out.Cells = append(out.Cells, row)
	}
	return out
}

// axisValue is a value along an axis; none is where the axis means nothing.
func axisValue(t theme.Theme, v string) string {
	if v == "" {
		return t.Glyphs.Dash
	}
	return layout.Clean(v)
}

// cellText says why a cell has no value, in a sign.
func cellText(t theme.Theme, s results.CellState) string {
	g := t.Glyphs
	switch s {
	case results.CellRunning:
		return g.Running
	case results.CellQueued:
		return g.Pending
	case results.CellFailed:
		return g.Failed
	case results.CellPruned:
		return g.Blocked
	case results.CellSkipped, results.CellNoValue:
		return g.Dash
	}
	return ""
}

// cellReport says what the cell under the cursor is made of.
func (m *Model) cellReport() []string {
	c, ok := m.cell()
	if !ok {
		return []string{"no cell"}
	}
	g := m.seen.grid
	lines := []string{fmt.Sprintf("%s %s, %s %s: %s", layout.Clean(g.Y), axisValue(m.env.Theme, g.YValues[m.heat.row]), layout.Clean(g.X), axisValue(m.env.Theme, g.XValues[m.heat.col]), c.State)}
	if c.Why != "" {
		lines = append(lines, layout.Clean(c.Why))
	}
	if words := m.seen.unsure[m.heat.row][m.heat.col].words(); words != "" {
		lines = append(lines, words)
	}
	if c.State == results.CellMeasured && c.Overlapped {
		lines = append(lines, overlappedWords)
	}
	if text := m.filterText(filterCells); text != "" {
		lines = append(lines, text)
	}
	for _, i := range c.Rows {
		if i >= 0 && i < len(m.seen.from.Rows) {
			r := m.seen.from.Rows[i]
			lines = append(lines, "  "+layout.Clean(r.Label)+" "+string(r.Status))
		}
	}
	return lines
}
