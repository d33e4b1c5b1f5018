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
	bind := func(name, hint, help string, do func(*Model) tea.Cmd) entry {
		return entry{Binding: keys.Binding{Keys: []string{name}, Hint: hint, Help: help, Group: group}, Do: do}
	}
	danger := func(e entry) entry { e.Danger = true; return e }
	writes := func(e entry) entry { e.Writes = true; return e }
	return keys.Table[func(*Model) tea.Cmd]{
		bind("/", "filter", "filter: words, key:value, tp>=4, -tag:old, started<2d; esc restores", (*Model).openFilter),
		bind("space", "mark", "mark or unmark the run", (*Model).mark),
		bind("enter", "open", "show the run on screen Live", (*Model).open),
		bind("c", "compare", "compare the marked runs", (*Model).compare),
		bind("l", "logs", "logs of the run", (*Model).openLogs),
		bind("E", "export", "write CSV files of the marked runs, or of this one", (*Model).askExport),
		danger(bind("K", "cancel", "cancel the run; asks", (*Model).askCancel)),
		danger(bind("D", "delete", "delete the marked runs, or this one; asks; u brings them back", (*Model).askDelete)),
		writes(bind("a", "archive", "take the marked runs, or this one, out of the list; of archived ones, put them back", (*Model).archive)),
		bind(".", "", "show archived runs instead, all runs, those that are not archived", (*Model).toggleArchived),
		bind("o", "sort", "order by another column", (*Model).askSort),
		writes(bind("#", "tag", "set the run's tags", (*Model).askTags)),
		writes(bind("n", "note", "write a note", (*Model).askNote)),
		bind("b", "", "measure speed-ups against this run (full-rank)", (*Model).setBaseline),
		bind("v", "", "measure speed-ups against this run (vanilla)", (*Model).setVanilla),
		bind("V", "", "mark from the last mark to here", (*Model).markRange),
		bind("*", "", "mark all shown, or none", (*Model).markAll),
		bind("d", "diff", "in what two marked runs differ, or this one and the baseline", (*Model).askDiff),
		bind("R", "", "edit and run again, as e", (*Model).edit),
		bind("e", "", "edit this run's configuration on screen Launch", (*Model).edit),
		bind("y", "", "copy the run's id", (*Model).copyID),
		writes(bind("u", "", "take back the last tag, note, archiving or deletion", (*Model).takeBack)),
		bind("z", "", "list or detail on the whole screen", (*Model).toggleZoom),
		bind("esc", "", "clear zoom, filter, marks", (*Model).clear),
	}
}

func (m *Model) mark() tea.Cmd       { m.table.Toggle(); return m.readMore() }
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
		return m.readMore()
	}})
}
