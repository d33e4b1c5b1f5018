package sweep

import (
	"strconv"

	"boost-tui/sweeps/results"
	"boost-tui/tui/format"
	"boost-tui/tui/layout"
	"boost-tui/tui/pick"
	"boost-tui/tui/theme"
	widget "boost-tui/tui/widget/table"
)

// resultPane is the table of results.
type resultPane struct {
	table widget.Table
	prior string // filter to restore on esc
}

// rowsShown bounds the rows of a table: nobody scrolls through more.
const rowsShown = 500

func (m *Model) table() *results.Table {
	if m.shown.view == nil {
		return nil
	}
	return m.shown.view.Table
}

// row finds what was measured of a point.
func (m *Model) row(point string) *results.Row {
	if m.shown.digest == nil {
		return nil
	}
	return m.shown.digest.rows[point]
}

// clearResults forgets what belongs to another sweep.
func (m *Model) clearResults() {
	m.queue.SetMarks(nil)
	m.results.table.SetMarks(nil)
	m.held, m.seen = [panes]bool{}, looked{}
	m.glance.Stop()
	m.rebuild()
}

// rebuildResults hands the rows of the last look to the table.
func (m *Model) rebuildResults() {
	p := &m.results
	if m.shown.digest == nil || m.seen.all == 0 {
		p.table.SetRows(nil)
		return
	}
	p.table.Columns = m.shown.digest.columns
	p.table.Sort, p.table.Down = m.seen.look.Sort, m.seen.look.Down
	metrics := metricsOf(p.table.Columns)
	rows := make([]widget.Row, min(len(m.seen.rows), rowsShown))
	for i := range rows {
		rows[i] = m.resultRow(m.env.Theme, metrics, m.seen.rows[i])
	}
	p.table.SetRows(rows)
	if !m.held[paneResults] {
		p.table.Move(-len(rows))
	}
}

// metricsOf are the metrics that columns show, nil for the others.
func metricsOf(columns []widget.Column) []*results.Metric {
	out := make([]*results.Metric, len(columns))
	for i, c := range columns {
		if m, err := results.MetricOf(c.ID); err == nil {
			out[i] = &m
		}
	}
	return out
}

// resultRow makes a line of the table.
func (m *Model) resultRow(t theme.Theme, metrics []*results.Metric, r *results.Row) widget.Row {
	sign, _ := statusSign(t, r.Status)
	if len(r.Overlapped) > 0 {
		sign = t.Glyphs.Warn
	}
	cells := make([]widget.Cell, len(metrics))
	for i, c := range m.results.table.Columns {
		cells[i] = m.resultCell(t, r, c.ID, metrics[i])
	}
	return widget.Row{ID: r.Point, Sign: sign, Cells: cells}
}

func (m *Model) resultCell(t theme.Theme, r *results.Row, column string, metric *results.Metric) widget.Cell {
	switch column {
	case "run":
		if r.Run == "" {
			return widget.Cell{Text: t.Glyphs.Dash}
		}
		return widget.Cell{Text: pick.Short(r.Run)}
	case "marks":
		return widget.Cell{Text: m.marksOf(r.Point), Style: t.Good}
	case "ci":
		return widget.Cell{Text: interval(r.Figures.StepTimeCI)}
	case results.VsFull:
		return versus(t, r, r.VsFull)
	case results.VsVanilla:
		return versus(t, r, r.VsVanilla)
	case "state":
		_, style := statusSign(t, r.Status)
		return widget.Cell{Text: string(r.Status), Style: style}
	}
	if metric != nil {
		if v, ok := metric.Of(r); ok {
			return widget.Cell{Text: metric.Show(v)}
		}
		return widget.Cell{Text: t.Glyphs.Dash}
	}
	if text := keyText(r, column); text != "" {
		return widget.Cell{Text: layout.Clean(text)}
	}
	return widget.Cell{Text: t.Glyphs.Dash}
}

// keyText is what a row says of a key of the experiment.
func keyText(r *results.Row, key string) string {
	switch key {
	case "rank":
		if r.Rank == 0 {
			return ""
		}
		return strconv.Itoa(r.Rank)
	case "size":
		return r.Size
	}
	v, _ := r.Field(key)
	return v.Text
}

// marksOf are P for a point of the Pareto front and * for the best of its size.
func (m *Model) marksOf(point string) string {
	s := ""
	if m.shown.digest.front[point] {
		s = "P"
	}
	if m.shown.digest.best[point] {
		s += "*"
	}
	return s
}

func versus(t theme.Theme, r *results.Row, v *results.Versus) widget.Cell {
	if v == nil {
		return widget.Cell{Text: t.Glyphs.Dash}
	}
	text, sure := pick.Ratio(&v.Speedup, v.Run == r.Run, t.Glyphs.Times, t.Glyphs.Dash)
	if !v.Comparable && v.Run != r.Run {
		text, sure = t.Glyphs.Differs+text, false
	}
	if !sure {
		return widget.Cell{Text: text, Style: t.Dim}
	}
	return widget.Cell{Text: text}
}

func interval(ci []float64) string {
	if len(ci) != 2 {
		return ""
	}
	return "[" + format.Millis(ci[0]) + ", " + format.Millis(ci[1]) + "]"
}
