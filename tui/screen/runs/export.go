package runs

import (
	"slices"

	"boost-tui/tui/screen"

	tea "github.com/charmbracelet/bubbletea"
)

// askExport writes the marked runs' files, or the present one's.
func (m *Model) askExport() tea.Cmd { return m.env.AskExport(m.targets()) }

// retag makes a run's tags what is wanted.
func retag(s screen.Store, id string, have, want []string) error {
	var add, remove []string
	for _, t := range want {
		if !slices.Contains(have, t) {
			add = append(add, t)
		}
	}
	for _, t := range have {
		if !slices.Contains(want, t) {
			remove = append(remove, t)
		}
	}
	if len(add)+len(remove) == 0 {
		return nil
	}
	return s.Tag(id, add, remove)
}
