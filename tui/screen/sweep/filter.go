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
	line := input.New(m.look.Filter)
	m.typed, m.results.prior = &line, m.look.Filter
	return nil
}

// filterKey edits the filter. Esc restores the one before.
func (m *Model) filterKey(e keys.Event) tea.Cmd {
	switch e.Name {
	case "esc":
		m.typed = nil
		return m.setFilter(m.results.prior)
	case "enter":
		if m.filterFault() == "" { // else it stays open, and says what is wrong
			m.typed = nil
		}
	case "up", "down":
		m.results.table.Move(map[string]int{"up": -1, "down": 1}[e.Name])
	default:
		line, edited, _ := m.typed.Update(e)
		m.typed = &line
		if edited {
			return m.setFilter(line.Text())
		}
	}
	return nil
}

// filterFault says what of the filter makes no sense.
func (m *Model) filterFault() string {
	t := m.table()
	if t == nil {
		return ""
	}
	if _, err := t.Where(m.look.Filter); err != nil {
		return layout.Clean(err.Error())
	}
	return ""
}

func (m *Model) setFilter(text string) tea.Cmd {
	m.look.Filter = text
	return m.relook()
}

// filterLine is the status line while the filter is typed.
func (m *Model) filterLine(t theme.Theme) string {
	fault := ""
	if m.seen.fault != "" {
		fault = "  " + t.Bad.Paint(m.seen.fault)
	}
	return "/" + m.typed.View(t, max(24, min(48, layout.Width(m.typed.Text())+2))) + fmt.Sprintf("  %d of %d", len(m.seen.rows), m.seen.all) + fault
}
