package sweep

import (
	"boost-tui/sweeps/results"
	"boost-tui/tui/format"
	"boost-tui/tui/layout"
	"boost-tui/tui/pick"
	"boost-tui/tui/theme"
	"boost-tui/tui/widget/filter"
	widget "boost-tui/tui/widget/table"
)

// resultPane is the table of results: how it is looked at, and its rows.
type resultPane struct {
	table widget.Table
	sort  string // a field; "": in planned order
	down  bool
	only  string // onlyFront, onlyBest, or "" for all
	text  string // of the filter in force
	query filter.Query
	fault string // of the filter that is typed
	prior string // filter to restore on esc

	rows  []*results.Row // shown, in order
	all   int            // rows before the filter
	front map[string]bool
	best  map[string]bool
}

// What the table can be reduced to.
const (
	onlyFront = "pareto"
	onlyBest  = "best"
)

// savedTable is the session of the table.
type savedTable struct {
	Sort   string `json:"sort"`
	Down   bool   `json:"down"`
	Filter string `json:"filter"`
	Only   string `json:"only,omitempty"`
}

func newResults() resultPane { return resultPane{sort: results.VsFull, down: true} }

func (r *resultPane) save() savedTable { return savedTable{r.sort, r.down, r.text, r.only} }

func (r *resultPane) load(s savedTable) {
	if s.Sort != "" {
		r.sort, r.down = s.Sort, s.Down
	}
	if s.Only == onlyFront || s.Only == onlyBest {
		r.only = s.Only
	}
	r.text = s.Filter
}

// rowsShown bounds the rows of a table: nobody scrolls through more.
const rowsShown = 2000

// row finds a row by its point.
func (m *Model) row(point string) *results.Row {
	for _, r := range m.results.rows {
		if r.Point == point {
			return r
		}
	}
	return nil
}

func (m *Model) table() *results.Table {
	if m.shown.view == nil {
		return nil
	}
	return m.shown.view.Table
}

// clearResults forgets what belongs to another sweep.
func (m *Model) clearResults() {
	m.queue.SetMarks(nil)
	m.held = [panes]bool{}
	m.results.table.SetMarks(nil)
	m.results.rows, m.results.all = nil, 0
	m.rebuild()
}

// rebuildResults filters, sorts and hands the rows to the table.
func (m *Model) rebuildResults() {
	p := &m.results
	t := m.table()
	if t == nil {
		p.table.SetRows(nil)
		return
	}
	p.query, p.fault = parseFilter(p.text, t)
	p.front, p.best = pointsOf(t, t.Pareto().Points), map[string]bool{}
	for _, b := range t.BestPerSize() {
		if b.Fastest >= 0 {
			p.best[t.Rows[b.Fastest].Point] = true
		}
	}
	shown := t.Filter(func(r *results.Row) bool {
		return p.query.Match(record{r}) && (p.only != onlyFront || p.front[r.Point]) && (p.only != onlyBest || p.best[r.Point])
	})
	if p.sort != "" {
		if err := shown.Sort(p.sort, p.down); err != nil {
			p.sort = "" // of an earlier session
		}
	}
	p.rows, p.all = shown.Rows, len(t.Rows)
	p.table.Columns = resultColumns(t)
	p.table.Sort, p.table.Down = p.sort, p.down
	rows := make([]widget.Row, min(len(p.rows), rowsShown))
	for i := range rows {
		rows[i] = m.resultRow(m.env.Theme, t, p.rows[i])
	}
	p.table.SetRows(rows)
	if !m.held[paneResults] {
		p.table.Move(-len(rows))
	}
}

// pointsOf are the points of rows by their index.
func pointsOf(t *results.Table, at []int) map[string]bool {
	out := make(map[string]bool, len(at))
	for _, i := range at {
		out[t.Rows[i].Point] = true
	}
	return out
}

// record lets a row be filtered.
type record struct{ row *results.Row }

func (r record) Field(name string) (filter.Value, bool) {
	v, ok := r.row.Field(name)
	return filter.Value(v), ok
}

func (r record) Words() string { return r.row.Words() }

// parseFilter reads the filter line; fault is what of it makes no sense.
func parseFilter(text string, t *results.Table) (query filter.Query, fault string) {
	q, err := filter.Parse(text, t.Fields())
	if err != nil {
		return q, layout.Clean(err.Error())
	}
	return q, ""
}

// resultRow makes a line of the table.
func (m *Model) resultRow(t theme.Theme, all *results.Table, r *results.Row) widget.Row {
	sign, _ := statusSign(t, r.Status)
	if len(r.Overlapped) > 0 {
		sign = t.Glyphs.Warn
	}
	cells := make([]widget.Cell, 0, len(m.results.table.Columns))
	for _, c := range m.results.table.Columns {
		cells = append(cells, m.resultCell(t, r, c.ID))
	}
	return widget.Row{ID: r.Point, Sign: sign, Cells: cells}
}

func (m *Model) resultCell(t theme.Theme, r *results.Row, column string) widget.Cell {
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
	if metric, err := results.MetricOf(column); err == nil {
		if v, ok := metric.Of(r); ok {
			return widget.Cell{Text: metric.Show(v)}
		}
		return widget.Cell{Text: t.Glyphs.Dash}
	}
	v, _ := r.Field(column)
	if v.Text == "" {
		return widget.Cell{Text: t.Glyphs.Dash}
	}
	return widget.Cell{Text: layout.Clean(v.Text)}
}

// marksOf are P for a point of the Pareto front and * for the best of its size.
func (m *Model) marksOf(point string) string {
	s := ""
	if m.results.front[point] {
		s = "P"
	}
	if m.results.best[point] {
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
