package runs

import (
	"boost-tui/tui/keys"
	"boost-tui/tui/msg"
	"boost-tui/tui/widget/modal"

	tea "github.com/charmbracelet/bubbletea"
)

const group = "Runs"

func bindings() keys.Table[func(*Model) tea.Cmd] {
	type entry = keys.Entry[func(*Model) tea.Cmd]
	bind := func(name, hint, help string, danger bool, do func(*Model) tea.Cmd) entry {
		return entry{Binding: keys.Binding{Keys: []string{name}, Hint: hint, Help: help, Group: group, Danger: danger}, Do: do}
	}
	return keys.Table[func(*Model) tea.Cmd]{
		bind("/", "filter", "filter: words, key:value, tp>=4, -tag:old, started<2d; esc restores", false, (*Model).openFilter),
		bind("space", "mark", "mark or unmark the run", false, (*Model).mark),
		bind("enter", "open", "show the run on screen Live", false, (*Model).open),
		bind("c", "compare", "compare the marked runs", false, (*Model).compare),
		bind("l", "logs", "logs of the run", false, (*Model).openLogs),
		bind("E", "export", "write CSV files of the marked runs, or of this one", false, (*Model).askExport),
		bind("K", "cancel", "cancel the run; asks", true, (*Model).askCancel),
		bind("D", "delete", "delete the run's record; asks", true, (*Model).askDelete),
		bind("o", "sort", "order by another column", false, (*Model).askSort),
		bind("#", "tag", "set the run's tags", true, (*Model).askTags),
		bind("n", "note", "write a note", true, (*Model).askNote),
		bind("b", "", "measure speed-ups against this run (full-rank)", false, (*Model).setBaseline),
		bind("v", "", "measure speed-ups against this run (vanilla)", false, (*Model).setVanilla),
		bind("V", "", "mark from the last mark to here", false, (*Model).markRange),
		bind("*", "", "mark all shown, or none", false, (*Model).markAll),
		bind("e", "", "edit this run's configuration on screen Launch", false, (*Model).edit),
		bind("y", "", "copy the run's id", false, (*Model).copyID),
		bind("u", "", "take back the last tag or note", true, (*Model).takeBack),
		bind("z", "", "list or detail on the whole screen", false, (*Model).toggleZoom),
		bind("esc", "", "clear zoom, filter, marks", false, (*Model).clear),
	}
}

func (m *Model) mark() tea.Cmd       { m.table.Toggle(); return m.readFigures() }
func (m *Model) markRange() tea.Cmd  { m.table.Range(); return nil }
func (m *Model) markAll() tea.Cmd    { m.table.ToggleAll(); return nil }
func (m *Model) toggleZoom() tea.Cmd { m.zoom = !m.zoom; return nil }

func (m *Model) open() tea.Cmd {
	if id := m.table.Cursor(); id != "" {
		return msg.Send(msg.OpenRun{ID: id})
	}
	return nil
}

func (m *Model) compare() tea.Cmd {
	ids := m.table.Marked()
	if len(ids) < 2 {
		return msg.Send(msg.Toast{Level: msg.Warn, Text: "mark two or more runs with space, then c compares them"})
	}
	return msg.Send(msg.CompareRuns{IDs: ids})
}

func (m *Model) setBaseline() tea.Cmd {
	refs := m.refs
	refs.Baseline = toggled(refs.Baseline, m.table.Cursor())
	return msg.Send(refs)
}

func (m *Model) setVanilla() tea.Cmd {
	refs := m.refs
	refs.Vanilla = toggled(refs.Vanilla, m.table.Cursor())
	return msg.Send(refs)
}

func toggled(old, id string) string {
	if old == id {
		return ""
	}
	return id
}

func (m *Model) edit() tea.Cmd {
	r, ok := m.Selected()
	if !ok || r.Run.Schema == 0 {
		return nil
	}
	return msg.Send(msg.EditExperiment{Experiment: r.Run.Experiment})
}

func (m *Model) copyID() tea.Cmd {
	if id := m.table.Cursor(); id != "" {
		return msg.Send(msg.Copy{Text: id, What: "the id"})
	}
	return nil
}

// askSort offers the columns; the present one turns around.
func (m *Model) askSort() tea.Cmd {
	items := make([]modal.Item, len(sortKeys))
	for i, k := range sortKeys {
		note := ""
		if k == m.sortBy {
			note = "now; again turns it around"
		}
		items[i] = modal.Item{Label: k, Note: note}
	}
	return msg.Send(msg.Open{Modal: modal.Menu{Title: "Sort by", Items: items}, Then: func(answer any) tea.Cmd {
		i, ok := answer.(int)
		if !ok {
			return nil
		}
		if sortKeys[i] == m.sortBy {
			m.down = !m.down
		} else {
			m.sortBy, m.down = sortKeys[i], sortKeys[i] == "started"
		}
		m.table.Sort, m.table.Down = m.sortBy, m.down
		m.rebuild()
		return nil
	}})
}
