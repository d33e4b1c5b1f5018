package sweep

import (
	"slices"

	"boost-tui/tui/keys"

	tea "github.com/charmbracelet/bubbletea"
)

// action does what a key asks for; it gets the key's name, since several keys
// may share a binding.
type action func(*Model, string) tea.Cmd

type table = keys.Table[action]

func bind(group, hint, help string, do action, names ...string) keys.Entry[action] {
	return keys.Entry[action]{Binding: keys.Binding{Keys: names, Hint: hint, Help: help, Group: group}, Do: do}
}

func writes(e keys.Entry[action]) keys.Entry[action] { e.Writes = true; return e }

func danger(e keys.Entry[action]) keys.Entry[action] { e.Danger = true; return e }

// commonBindings work whatever has the focus.
func commonBindings() table {
	const group = "Sweep"
	return table{
		writes(bind(group, "run", "start the sweep, grow it by what is new in the grid, or let it go on; asks", (*Model).askRun, "R")),
		writes(bind(group, "pause", "pause the sweep, or let it go on", (*Model).pause, "P")),
		bind(group, "pane", "next pane, the one before", (*Model).otherPane, "tab", "shift+tab"),
		bind(group, "sweeps", "choose among the sweeps, and the new one", (*Model).askSweep, "s"),
		danger(bind(group, "cancel", "end the run of the point under the cursor, or the whole sweep; asks", (*Model).askCancel, "K")),
		bind(group, "why", "what the grid comes to, with every pruned point and its reason; of a point or run, all about it", (*Model).info, "i"),
		bind(group, "heat", "heat map in the place of the results, and back", (*Model).toggleHeat, "h"),
		bind(group, "new", "a new sweep: empty, or like the one shown", (*Model).askNew, "N"),
		bind(group, "export", "write the results as CSV and Markdown", (*Model).askExport, "E"),
		bind(group, "full", "the focused pane alone", (*Model).toggleFull, "z"),
		bind(group, "", "leave the full pane, the filter, the marks", (*Model).leave, "esc"),
	}
}

// ownFirst is how many keys of the focused pane come before the common ones, and
// commonFirst how many of those come before the rest: the line at the bottom
// shows as many as it has room for.
const ownFirst, commonFirst = 4, 4

// bindings of the pane that has the focus, with the common ones among them.
func (m *Model) bindings() table {
	var own table
	switch m.focus {
	case paneGrid:
		if own = m.tables.grid; m.unread() {
			own = nil // there is nothing to edit yet
		}
	case paneQueue:
		own = m.tables.queue
	case paneResults:
		own = m.tables.results
	case paneHeat:
		own = m.tables.heat
	}
	common := m.tables.common
	n := min(ownFirst, len(own))
	return slices.Concat(own[:n], common[:commonFirst], own[n:], common[commonFirst:])
}

// AllKeys lists the bindings of every pane, for the page that documents them.
func (m *Model) AllKeys() []keys.Binding {
	return slices.Concat(m.tables.common, m.tables.grid, m.tables.queue, m.tables.results, m.tables.heat).Bindings()
}

// Keys lists the bindings of the line that is typed in, else of the focused pane.
func (m *Model) Keys() []keys.Binding {
	if m.typed != nil {
		return []keys.Binding{{Keys: []string{"letters"}, Hint: "filter"}, {Keys: []string{"enter"}, Hint: "keep"}, {Keys: []string{"esc"}, Hint: "as before"},
			{Keys: []string{"up", "down"}, Hint: "move"}}
	}
	return m.bindings().Bindings()
}
