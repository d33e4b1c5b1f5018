package sweep

import (
	"slices"

	"boost-tui/sweeps/results"
	"boost-tui/tui/keys"
	"boost-tui/tui/layout"
	"boost-tui/tui/widget/modal"

	tea "github.com/charmbracelet/bubbletea"
)

// heatMap is where the cursor is in the heat map.
type heatMap struct{ row, col int }

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
		writes(bind(group, "", "run the cell's point again, if it failed, was stopped, cancelled or skipped", (*Model).retry, "r")),
	}
}

// settle keeps the cursor on a cell of a map that is there.
func (h *heatMap) settle(g *results.Heat) {
	if g == nil {
		return
	}
	h.row = layout.Clamp(h.row, 0, max(0, len(g.YValues)-1))
	h.col = layout.Clamp(h.col, 0, max(0, len(g.XValues)-1))
}

// cell is the one under the cursor.
func (m *Model) cell() (results.Cell, bool) {
	g, h := m.seen.grid, m.heat
	if g == nil || h.row >= len(g.Cells) || h.col >= len(g.Cells[h.row]) {
		return results.Cell{}, false
	}
	return g.Cells[h.row][h.col], true
}

// cellRow is the row that the value of the cell under the cursor is of.
func (m *Model) cellRow() *results.Row {
	c, ok := m.cell()
	if !ok || c.Row < 0 || c.Row >= len(m.seen.from.Rows) {
		return nil
	}
	return m.seen.from.Rows[c.Row]
}

// heatKey moves the cursor among the cells.
func (m *Model) heatKey(e keys.Event) bool {
	if delta, ok := keys.Motion(e, 5); ok {
		m.heat.row += layout.Clamp(delta, -1<<20, 1<<20)
		m.heat.settle(m.seen.grid)
		return true
	}
	return false
}

func (m *Model) moveCell(key string) tea.Cmd {
	m.heat.col++
	if key == "left" {
		m.heat.col -= 2
	}
	m.heat.settle(m.seen.grid)
	return nil
}

// nextHeatAxis turns to the next axis that the other side does not have.
func (m *Model) nextHeatAxis(key string) tea.Cmd {
	if m.seen.grid == nil {
		return warn("there is no map yet")
	}
	axes := m.shown.digest.axes
	if len(axes) < 3 {
		return warn("the sweep has no third axis with several values")
	}
	if !slices.Contains(axes, m.look.X) || !slices.Contains(axes, m.look.Y) {
		m.look.X, m.look.Y = m.seen.look.X, m.seen.look.Y // as they were chosen for the sweep
	}
	own, other := &m.look.X, m.look.Y
	if key == "y" {
		own, other = &m.look.Y, m.look.X
	}
	at := slices.Index(axes, *own)
	for range axes {
		if at = (at + 1) % len(axes); axes[at] != other {
			break
		}
	}
	*own = axes[at]
	return m.relook()
}

func (m *Model) askMetric(string) tea.Cmd {
	metrics := results.Metrics()
	items := make([]modal.Item, len(metrics))
	at := 0
	for i, metric := range metrics {
		items[i] = modal.Item{Label: metric.Name, Note: metric.Title}
		if metric.Name == m.seen.look.Metric {
			at = i
		}
	}
	return m.open(modal.Menu{Title: "What the cells show", Items: items, Find: true, At: at}, func(answer any) tea.Cmd {
		if i, ok := answer.(int); ok {
			m.look.Metric = metrics[i].Name
			return m.relook()
		}
		return nil
	})
}
