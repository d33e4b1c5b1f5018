package compare

import (
	"boost-tui/tui/keys"
	"boost-tui/tui/msg"

	tea "github.com/charmbracelet/bubbletea"
)

// Update handles keys and messages.
func (m *Model) Update(in tea.Msg) (cmd tea.Cmd, used bool) {
	dirty := true
	switch in := in.(type) {
	case keys.Event:
		cmd, used = m.key(in)
	case msg.Theme:
		m.env.Theme = in.Theme
		m.rebuild()
	case msg.Shown:
		if in.Screen == ID {
			m.visible = true
			cmd = m.refresh()
		}
	case msg.Hidden:
		if in.Screen == ID {
			m.hide()
		}
	case msg.CompareRuns:
		m.chosen = in.IDs
		cmd = m.refresh()
	case msg.Runs:
		m.infos = in.Infos
		cmd = m.refresh()
		dirty = cmd != nil
	case msg.References:
		m.refs = in
		cmd = m.refresh()
	case msg.Tick:
		dirty = false
		if m.loop.Mine(in.Owner, in.Gen) {
			m.stamp = ""
			cmd = m.refresh()
		}
	case computed:
		cmd = m.take(in)
	default:
		dirty = false
	}
	if dirty {
		m.cache = ""
	}
	return cmd, used
}

// refresh computes anew when there is something new to compute.
func (m *Model) refresh() tea.Cmd {
	if !m.visible {
		return nil
	}
	stamp := m.signature()
	if stamp == m.stamp {
		return nil
	}
	m.stamp = stamp
	return m.compute()
}

// hide breaks off what is under way; the next Shown computes anew.
func (m *Model) hide() {
	m.visible, m.stamp, m.busy = false, "", false
	m.loop.Stop()
	if m.cancel != nil {
		m.cancel()
		m.cancel = nil
	}
}

func (m *Model) take(in computed) tea.Cmd {
	if !m.loop.Mine(m.loop.Source, in.gen) {
		return nil
	}
	m.busy = false
	m.result = in.result
	m.rebuild()
	if m.going() {
		return m.loop.Wait(m.env.After, refreshEvery)
	}
	return nil
}

func (m *Model) key(e keys.Event) (tea.Cmd, bool) {
	if entry, ok := m.keys.Find(e); ok && entry.Do != nil {
		return entry.Do(m, e.Name), true
	}
	if delta, ok := keys.Motion(e, m.table.Page()); ok {
		m.table.Move(delta)
		return nil, true
	}
	return nil, false
}
