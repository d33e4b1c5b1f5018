package compare

import (
	"fmt"
	"slices"
	"strings"

	"boost-tui/tui/keys"
	"boost-tui/tui/layout"
	"boost-tui/tui/msg"
	"boost-tui/tui/widget/modal"

	tea "github.com/charmbracelet/bubbletea"
)

const group = "Compare"

// action does what a key asks for; it gets the key's name, since several keys
// may share a binding.
type action func(*Model, string) tea.Cmd

func bindings() keys.Table[action] {
	bind := func(do action, hint, help string, names ...string) keys.Entry[action] {
		return keys.Entry[action]{Binding: keys.Binding{Keys: names, Hint: hint, Help: help, Group: group}, Do: do}
	}
	return keys.Table[action]{
		bind((*Model).mark, "references", "measure against this run: baseline (full-rank), vanilla; again: no longer", "b", "v"),
		bind((*Model).otherPane, "pane", "next pane, the one before", "tab", "shift+tab"),
		bind((*Model).nextPane, "table/bars", "table alone, or with bars and curves; on a small terminal, the next pane", "t"),
		bind((*Model).showDiff, "diff", "every key in which the run differs from the reference", "d"),
		bind((*Model).export, "export", "write CSV files of these runs", "E"),
		bind((*Model).details, "details", "every figure of the run", "enter"),
		bind((*Model).toggleFull, "full", "the focused pane alone", "z"),
		bind((*Model).openLog, "log", "the run and its log on screen Live", "l"),
		bind((*Model).nextMetric, "metric", "what the bars show: step, tokens, bytes, memory, loss", "m"),
		bind((*Model).otherColumns, "columns", "other columns of the table", "left", "right"),
		bind((*Model).zoom, "zoom", "zoom the curves into the last steps, and out", "+", "-"),
		bind((*Model).zoom, "", "zoom in, as + without shift", "="),
		bind((*Model).askSort, "sort", "order by another figure", "o"),
		bind((*Model).askAdd, "add", "add a run", "a"),
		bind((*Model).remove, "remove", "take the run out of the comparison", "x"),
		bind((*Model).copyRow, "copy", "copy the row", "y"),
		bind((*Model).showNotes, "notes", "what to know to trust the figures", "i"),
		bind((*Model).copyTable, "", "copy the table as Markdown", "Y"),
		bind((*Model).reset, "", "all steps in the curves; then, no references of yours, and back to the latest comparable full-rank, vanilla and btp runs", "0"),
		bind((*Model).leave, "", "leave the full screen", "esc"),
		bind((*Model).edit, "", "a new run like this one, in Launch", "R"),
	}
}

// ids lists the compared runs in the order of the result.
func (m *Model) ids() []string {
	var ids []string
	for _, r := range m.result.table.Rows {
		ids = append(ids, r.ID)
	}
	return ids
}

// choose compares other runs.
func (m *Model) choose(ids []string) tea.Cmd {
	m.chosen = ids
	return m.refresh()
}

// askAdd offers the store's other runs, the newest first.
func (m *Model) askAdd(string) tea.Cmd {
	have := m.ids()
	var items []modal.Item
	var ids []string
	for i := len(m.infos) - 1; i >= 0; i-- {
		in := m.infos[i]
		if slices.Contains(have, in.ID) || in.Err != nil {
			continue
		}
		e := in.Run.Experiment
		note := fmt.Sprintf("%s %s %s  %s", e.Model.Variant, e.Parallel.Scheme, e.Parallel.Degrees(), in.State)
		items = append(items, modal.Item{Label: layout.Clean(in.ID), Note: layout.Clean(note)})
		ids = append(ids, in.ID)
	}
	if len(items) == 0 {
		return msg.Send(msg.Toast{Level: msg.Warn, Text: "there is no other run to add"})
	}
	return msg.Send(msg.Open{Modal: modal.Menu{Title: "Add a run", Items: items, Find: true}, Then: func(answer any) tea.Cmd {
		i, ok := answer.(int)
		if !ok {
			return nil
		}
		cmd := m.choose(append(have, ids[i]))
		m.cache = ""
		return cmd
	}})
}

func (m *Model) remove(string) tea.Cmd {
	id := m.table.Cursor()
	if id == "" {
		return nil
	}
	if id == m.refs.Baseline || id == m.refs.Vanilla {
		return msg.Send(msg.Toast{Level: msg.Warn, Text: "it is a reference: b or v takes that away first"})
	}
	rest := slices.DeleteFunc(m.ids(), func(x string) bool { return x == id })
	if len(rest) == 0 {
		return msg.Send(msg.Toast{Level: msg.Warn, Text: "it is the last one; 0 goes back to the latest comparable runs"})
	}
	return m.choose(rest)
}

// reset goes back one thing: the zoom, else the chosen runs with the chosen
// references.
func (m *Model) reset(string) tea.Cmd {
	if m.zoomed > 0 {
		m.zoomed = 0
		return nil
	}
	if m.refs == (msg.References{}) {
		return m.choose(nil)
	}
	m.chosen = nil
	return msg.Send(msg.References{})
}

// origin says who chose the references: you, or nobody, so that the latest that
// fit were picked.
func (m *Model) origin() string {
	mine := 0
	for role, id := range [2]string{m.refs.Baseline, m.refs.Vanilla} {
		if id != "" && id == [2]string{m.result.table.Baseline, m.result.table.Vanilla}[role] {
			mine |= 1 << role
		}
	}
	return [4]string{"references picked", "baseline chosen", "vanilla chosen", "references chosen"}[mine]
}

// mostZoom bounds how often the steps are halved.
const mostZoom = 6

func (m *Model) zoom(key string) tea.Cmd {
	if key == "-" {
		m.zoomed = max(0, m.zoomed-1)
	} else {
		m.zoomed = min(mostZoom, m.zoomed+1)
	}
	if m.lower = int(paneCurves) - 1; !m.full {
		return nil
	}
	m.focus = paneCurves // what is zoomed is what is shown
	return nil
}

func (m *Model) otherPane(key string) tea.Cmd {
	by := pane(1)
	if key == "shift+tab" {
		by = -1
	}
	m.alone = false
	if m.focus = (m.focus + by + panes) % panes; m.focus != paneTable {
		m.lower = int(m.focus) - 1
	}
	return nil
}

func (m *Model) toggleFull(string) tea.Cmd { m.full = !m.full; return nil }

func (m *Model) leave(string) tea.Cmd { m.full = false; return nil }

// otherColumns turns to another sheet of columns.
func (m *Model) otherColumns(key string) tea.Cmd {
	n := m.table.Sheets(max(1, m.drawn.W-4))
	by := 1
	if key == "left" {
		by = n - 1
	}
	m.table.Sheet = (min(m.table.Sheet, n-1) + by) % n
	return nil
}

func (m *Model) mark(key string) tea.Cmd {
	id := m.table.Cursor()
	if id == "" {
		return nil
	}
	refs := m.refs
	at := &refs.Baseline
	if key == "v" {
		at = &refs.Vanilla
	}
	if *at == id {
		*at = ""
	} else {
		*at = id
	}
	// The rows stay what they are, whatever the new reference would choose.
	m.chosen = m.ids()
	return msg.Send(refs)
}

func (m *Model) nextMetric(string) tea.Cmd {
	m.metric = (m.metric + 1) % len(metrics)
	return nil
}

// nextPane: the wide layout has everything but can show the table alone; the
// others show one pane below it.
func (m *Model) nextPane(string) tea.Cmd {
	if layout.ClassOf(m.drawn.W, m.drawn.H+3) == layout.Wide {
		m.alone = !m.alone
	} else {
		if m.lower = (m.lower + 1) % lowerPanes; m.focus != paneTable {
			m.focus = pane(m.lower + 1)
		}
	}
	return nil
}

func (m *Model) askSort(string) tea.Cmd {
	items := make([]modal.Item, len(sorts))
	for i, s := range sorts {
		items[i] = modal.Item{Label: s.name}
		if i == m.sort {
			items[i].Note = "now; again turns it around"
		}
	}
	return msg.Send(msg.Open{Modal: modal.Menu{Title: "Sort by", Items: items}, Then: func(answer any) tea.Cmd {
		i, ok := answer.(int)
		if !ok {
			return nil
		}
		if i == m.sort {
			m.down = !m.down
		} else {
			m.sort, m.down = i, strings.HasPrefix(sorts[i].name, "speed-up") || sorts[i].column == "tokens"
		}
		m.cache = ""
		m.rebuild()
		return nil
	}})
}

func (m *Model) export(string) tea.Cmd { return m.env.AskExport(m.ids()) }

func (m *Model) openLog(string) tea.Cmd {
	if id := m.table.Cursor(); id != "" {
		return msg.Send(msg.OpenRun{ID: id, Log: true})
	}
	return nil
}

func (m *Model) edit(string) tea.Cmd {
	in, ok := m.info(m.table.Cursor())
	if !ok {
		return nil
	}
	return msg.Send(msg.EditExperiment{Experiment: in.Run.Experiment})
}
