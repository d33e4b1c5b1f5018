package app

import (
	"fmt"
	"slices"
	"time"

	"boost-tui/tui/msg"
	"boost-tui/tui/theme"
	"boost-tui/tui/widget/modal"

	tea "github.com/charmbracelet/bubbletea"
)

// paces are the pauses between two listings while a run is on.
var paces = [...]time.Duration{pollLive, 2 * time.Second, 5 * time.Second}

// openSettings shows what can be set for this session; choosing a line sets its
// next value in place.
func (m *Model) openSettings() tea.Cmd { return m.settings(0) }

func (m *Model) settings(at int) tea.Cmd {
	characters := "all"
	if m.env.Theme.ASCII {
		characters = "plain ASCII"
	}
	items := []modal.Item{
		{Label: "theme", Note: string(m.env.Theme.Options.Name)},
		{Label: "characters", Note: characters},
		{Label: "read the list of runs", Note: fmt.Sprintf("every %g s while one is going", m.pace.Seconds())},
	}
	m.dialogs = append(m.dialogs, msg.Open{Modal: modal.Menu{Title: "Settings of this session", Items: items, At: at}, Then: func(answer any) tea.Cmd {
		i, ok := answer.(int)
		if !ok {
			return nil
		}
		return tea.Batch(m.change(i), m.settings(i))
	}})
	return nil
}

// change sets the next value of a line of the settings.
func (m *Model) change(i int) tea.Cmd {
	switch i {
	case 0:
		return m.nextTheme()
	case 1:
		o := m.env.Theme.Options
		o.ASCII = !o.ASCII
		m.env.Theme = theme.New(o)
		return m.all(msg.Theme{Theme: m.env.Theme})
	}
	at := slices.Index(paces[:], m.pace)
	m.pace = paces[(at+1)%len(paces)]
	return nil
}
