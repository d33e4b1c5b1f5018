package sweep

import (
	"fmt"

	"boost-tui/tui/keys"
	"boost-tui/tui/layout"
	"boost-tui/tui/theme"
	"boost-tui/tui/widget/input"

	tea "github.com/charmbracelet/bubbletea"
)

// openFilter starts typing a filter; the rows follow each key.
func (m *Model) openFilter(string) tea.Cmd {
	line := input.New(m.results.text)
	m.typed, m.results.prior = &line, m.results.text
	return nil
}

// filterKey edits the filter. Esc restores the one before.
func (m *Model) filterKey(e keys.Event) {
	switch e.Name {
	case "esc":
		m.typed = nil
		m.setFilter(m.results.prior)
	case "enter":
		m.typed = nil
	case "up", "down":
		m.results.table.Move(map[string]int{"up": -1, "down": 1}[e.Name])
	default:
		line, edited, _ := m.typed.Update(e)
		m.typed = &line
		if edited {
			m.setFilter(line.Text())
		}
	}
}

func (m *Model) setFilter(text string) {
	m.results.text = text
	m.rebuildResults()
	m.rebuildHeat()
}

// filterLine is the status line while the filter is typed.
func (m *Model) filterLine(t theme.Theme) string {
	fault := ""
	if m.results.fault != "" {
		fault = "  " + t.Bad.Paint(m.results.fault)
	}
	return "/" + m.typed.View(t, max(24, min(48, layout.Width(m.typed.Text())+2))) + fmt.Sprintf("  %d of %d", len(m.results.rows), m.results.all) + fault
}
