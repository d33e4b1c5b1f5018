package sweep

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"boost-tui/sweeps/results"
	"boost-tui/tui/chart"
	"boost-tui/tui/keys"
	"boost-tui/tui/layout"
	"boost-tui/tui/theme"
	"boost-tui/tui/widget/modal"
	"boost-tui/tui/widget/panel"

	tea "github.com/charmbracelet/bubbletea"
)

// heatMap is the heat map: what it shows, and where the cursor is.
type heatMap struct {
	x, y, metric string // "": chosen for the sweep
	showing      string // the metric in use
	row, col     int
	grid         *results.Heat
	from         *results.Table // the table whose rows the grid names
	err          error
}

// savedHeat is the session of the heat map.
type savedHeat struct {
	X      string `json:"x,omitempty"`
	Y      string `json:"y,omitempty"`
	Metric string `json:"metric,omitempty"`
}

func (h *heatMap) save() savedHeat { return savedHeat{h.x, h.y, h.metric} }

func (h *heatMap) load(s savedHeat) { h.x, h.y, h.metric = s.X, s.Y, s.Metric }

func heatBindings() table {
	const group = "Sweep: heat map"
	return table{
		bind(group, "open", "the run of the cell, on screen Live", (*Model).openResult, "enter"),
		bind(group, "metric", "another figure", (*Model).askMetric, "m"),
		bind(group, "columns", "another axis for the columns", (*Model).nextHeatAxis, "x"),
		bind(group, "rows", "another axis for the rows", (*Model).nextHeatAxis, "y"),
		bind(group, "launch", "a variation of the cell's point, on screen Launch", (*Model).launchResult, "L"),
		bind(group, "compare", "the cell's run beside its twins, on screen Compare; or the marked runs", (*Model).compare, "c"),
		bind(group, "filter", "filter what the cells are made of, as in the results", (*Model).openFilter, "/"),
		bind(group, "cell", "another cell; up and down too", (*Model).moveCell, "left", "right"),
		writes(bind(group, "", "run the cell's point again", (*Model).retry, "r")),
	}
}

// heatAxes are the axes that a map can have: those of the sweep with several values.
func heatAxes(t *results.Table) []string {
	var out []string
	for _, name := range append(slices.Clone(t.Axes), "scheme", "variant", "tp", "rank", "size") {
		if slices.Contains(out, name) || name == "seed" {
			continue
		}
		first, several := "", false
		for _, r := range t.Rows {
			v, _ := r.Field(name)
			if v.Text == "" {
				continue
			}
			if first == "" {
				first = v.Text
			}
			several = several || v.Text != first
		}
		if several {
			out = append(out, name)
		}
	}
	return out
}

// rebuildHeat lays the map out over the rows that pass the filter.
func (m *Model) rebuildHeat() {
	h := &m.heat
	t := m.table()
	h.grid, h.from, h.err = nil, nil, nil
	if t == nil || len(t.Rows) == 0 {
		return
	}
	axes := heatAxes(t)
	if len(axes) < 2 {
		return
	}
	if !slices.Contains(axes, h.x) || !slices.Contains(axes, h.y) || h.x == h.y {
		h.x, h.y = defaultAxes(axes)
	}
	if h.showing = h.metric; h.showing == "" {
		h.showing = results.StepTime
		if slices.ContainsFunc(t.Rows, func(r *results.Row) bool { return r.VsFull != nil && r.VsFull.Run != r.Run }) {
			h.showing = results.VsFull
		}
	}
	h.from = t.Filter(func(r *results.Row) bool { return m.results.query.Match(record{r}) })
	if h.grid, h.err = h.from.Heat(h.x, h.y, h.showing); h.err != nil {
		h.metric = "" // of an earlier session: chosen anew at the next look
		return
	}
	h.settle()
}

// defaultAxes are rank over tp where they are there, else the last two.
func defaultAxes(axes []string) (x, y string) {
	x, y = axes[len(axes)-1], axes[len(axes)-2]
	if slices.Contains(axes, "rank") && slices.Contains(axes, "tp") {
		return "rank", "tp"
	}
	return x, y
}

func (h *heatMap) settle() {
	if h.grid == nil {
		return
	}
	h.row = layout.Clamp(h.row, 0, max(0, len(h.grid.YValues)-1))
	h.col = layout.Clamp(h.col, 0, max(0, len(h.grid.XValues)-1))
}

// cell is the one under the cursor.
func (h *heatMap) cell() (results.Cell, bool) {
	if h.grid == nil || h.row >= len(h.grid.Cells) || h.col >= len(h.grid.Cells[h.row]) {
		return results.Cell{}, false
	}
	return h.grid.Cells[h.row][h.col], true
}

// cellRow is the row that the value of the cell under the cursor is of.
func (m *Model) cellRow() *results.Row {
	c, ok := m.heat.cell()
	if !ok || c.Row < 0 || c.Row >= len(m.heat.from.Rows) {
		return nil
	}
	return m.heat.from.Rows[c.Row]
}

// heatKey moves the cursor among the cells.
func (m *Model) heatKey(e keys.Event) bool {
	if delta, ok := keys.Motion(e, 5); ok {
		m.heat.row += layout.Clamp(delta, -1<<20, 1<<20)
		m.heat.settle()
		return true
	}
	return false
}

func (m *Model) moveCell(key string) tea.Cmd {
	m.heat.col++
	if key == "left" {
		m.heat.col -= 2
	}
	m.heat.settle()
	return nil
}

// nextHeatAxis turns to the next axis that the other side does not have.
func (m *Model) nextHeatAxis(key string) tea.Cmd {
	t := m.table()
	if t == nil {
		return warn("there are no results yet")
	}
	axes := heatAxes(t)
	if len(axes) < 3 {
		return warn("the sweep has no third axis with several values")
	}
	own, other := &m.heat.x, m.heat.y
	if key == "y" {
		own, other = &m.heat.y, m.heat.x
	}
	at := slices.Index(axes, *own)
	for range axes {
		if at = (at + 1) % len(axes); axes[at] != other {
			break
		}
	}
	*own = axes[at]
	m.rebuildHeat()
	return nil
}

func (m *Model) askMetric(string) tea.Cmd {
	metrics := results.Metrics()
	items := make([]modal.Item, len(metrics))
	at := 0
	for i, metric := range metrics {
		items[i] = modal.Item{Label: metric.Name, Note: metric.Title}
		if metric.Name == m.heat.showing {
			at = i
		}
	}
	return m.open(modal.Menu{Title: "What the cells show", Items: items, Find: true, At: at}, func(answer any) tea.Cmd {
		if i, ok := answer.(int); ok {
			m.heat.metric = metrics[i].Name
			m.rebuildHeat()
		}
		return nil
	})
}

// heatPane draws the map.
func (m *Model) heatPane(t theme.Theme, r layout.Rect) string {
	w, h := panel.Inner(r.W, r.H)
	title, note := "Heat", ""
	var lines []string
	switch hm := &m.heat; {
	case hm.err != nil:
		lines = layout.Wrap(t.Glyphs.Cross+" "+layout.Clean(hm.err.Error()), w)
	case m.table() == nil:
		lines = []string{t.Dim.Paint("no results yet")}
	case hm.grid == nil:
		lines = []string{t.Dim.Paint("a map needs two axes with several values")}
	default:
		metric, _ := results.MetricOf(hm.showing)
		title, note = "Heat  "+metric.Title, layout.Clean(hm.y+" by "+hm.x)
		foot := layout.Wrap(layout.Clean(hm.grid.Combined), w)
		if len(foot) > 2 {
			foot = foot[:2]
		}
		room := h - len(foot)
		if room < 4 {
			room, foot = h, nil
		}
		lines = chart.Heat(t, m.heatCells(t, metric), w, room)
		for len(lines) < room {
			lines = append(lines, "")
		}
		for _, line := range foot {
			lines = append(lines, t.Dim.Paint(line))
		}
	}
	return panel.Panel{Title: title, Note: note, Focused: m.focus == paneHeat}.View(t, strings.Join(lines, "\n"), r.W, r.H)
}

// heatCells turns the map into what is drawn.
func (m *Model) heatCells(t theme.Theme, metric results.Metric) chart.HeatMap {
	g := m.heat.grid
	out := chart.HeatMap{Corner: layout.Clean(g.Y), Row: m.heat.row, Col: m.heat.col, Focused: m.focus == paneHeat, Show: metric.Show}
	for _, v := range g.XValues {
		out.Cols = append(out.Cols, axisValue(t, v))
	}
	for j, v := range g.YValues {
		out.Rows = append(out.Rows, axisValue(t, v))
		row := make([]chart.HeatCell, len(g.Cells[j]))
		for i, c := range g.Cells[j] {
			row[i] = chart.HeatCell{Value: math.NaN(), Text: cellText(t, c.State)}
			if c.State == results.CellMeasured {
				row[i] = chart.HeatCell{Value: c.Value, Text: metric.Show(c.Value)}
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
	c, ok := m.heat.cell()
	if !ok {
		return []string{"no cell"}
	}
	g := m.heat.grid
	lines := []string{fmt.Sprintf("%s %s, %s %s: %s", layout.Clean(g.Y), axisValue(m.env.Theme, g.YValues[m.heat.row]), layout.Clean(g.X), axisValue(m.env.Theme, g.XValues[m.heat.col]), c.State)}
	if c.Why != "" {
		lines = append(lines, layout.Clean(c.Why))
	}
	for _, i := range c.Rows {
		if i >= 0 && i < len(m.heat.from.Rows) {
			r := m.heat.from.Rows[i]
			lines = append(lines, "  "+layout.Clean(r.Label)+" "+string(r.Status))
		}
	}
	return lines
}
