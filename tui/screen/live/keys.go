package live

import (
	"slices"

	"boost-tui/tui/keys"
	"boost-tui/tui/layout"
	"boost-tui/tui/msg"
	"boost-tui/tui/widget/modal"

	tea "github.com/charmbracelet/bubbletea"
)

const (
	group      = "Live"
	groupLog   = "Live: log"
	groupHosts = "Live: hosts"
)

// action does what a key asks for; it gets the key's name, since several keys
// may share a binding.
type action func(*Model, string) tea.Cmd

// bindings are the keys of the screen.
func bindings() keys.Table[action] {
	type entry = keys.Entry[action]
	in := func(group string) func(do action, hint, help string, names ...string) entry {
		return func(do action, hint, help string, names ...string) entry {
			return entry{Binding: keys.Binding{Keys: names, Hint: hint, Help: help, Group: group}, Do: do}
		}
	}
	bind, log, hosts := in(group), in(groupLog), in(groupHosts)
	cancel := bind((*Model).askCancel, "cancel", "end the run; asks", "K")
	cancel.Danger = true
	return keys.Table[action]{
		bind((*Model).otherRun, "run", "the run before, the next one", "[", "]"),
		bind((*Model).otherPane, "pane", "next pane, the one before", "tab", "shift+tab"),
		log((*Model).toggleLog, "log", "show the log, or hide it", "l"),
		cancel,
		bind((*Model).details, "parts", "the parts of a step and its collectives in numbers; on a host, its ranks; on a rank of one, its log", "enter"),
		hosts((*Model).toggleHosts, "hosts", "go to the list of hosts; there: all ranks in one list, and back", "h"),
		hosts((*Model).sortHosts, "sort", "order the hosts: by their ranks, slowest, longest silent, busiest, by name", "o"),
		bind((*Model).compare, "compare", "this run beside the references", "C"),
		bind((*Model).toggleFull, "full", "the focused pane alone", "z"),
		bind((*Model).moveCursor, "cursor", "move the cursor that all charts share", "left", "right"),
		bind((*Model).zoom, "zoom", "zoom in and out around the cursor", "+", "-"),
		bind((*Model).toggleScale, "log scale", "logarithmic and linear scale of the focused chart", "y"),
		bind((*Model).nextSmoothing, "smooth", "moving average: none, 0.9, 0.98; the raw line stays behind it", "s"),
		bind((*Model).togglePause, "pause", "freeze what is shown; reading goes on", "p"),
		log((*Model).openSearch, "search", "search in the log, n N next and previous match; on the hosts, filter them", "/"),
		log((*Model).toggleErrors, "errors", "only lines of the log that look like errors", "e"),
		log((*Model).otherLog, "rank", "log of the rank before, of the next one", "(", ")"),
		log((*Model).toggleWrap, "wrap", "break long lines of the log", "w"),
		bind((*Model).jumpCursor, "", "cursor to the first step, to the last", "home", "end"),
		bind((*Model).zoom, "", "zoom in, as + without shift", "="),
		bind((*Model).zoomReset, "", "show all steps", "0"),
		bind((*Model).leave, "", "leave the full screen; end the search; take the cursor away", "esc"),
		bind((*Model).turn, "", "next and previous match in the log; page of ranks", "n", "N"),
		bind((*Model).mark, "", "measure speed-ups against this run (baseline, vanilla reference); again: no longer", "b", "v"),
		bind((*Model).edit, "", "a new run like this one, in Launch", "R"),
	}
}

func (m *Model) otherRun(key string) tea.Cmd {
	by := 1
	if key == "[" {
		by = -1
	}
	for i, in := range m.infos {
		if in.ID != m.run.ID {
			continue
		}
		if next := i + by; next >= 0 && next < len(m.infos) {
			return m.open(m.infos[next].ID, !m.newest(m.infos[next].ID))
		}
	}
	return nil
}

func (m *Model) otherPane(key string) tea.Cmd {
	if key == "tab" {
		m.movePane(1)
	} else {
		m.movePane(-1)
	}
	return nil
}

func (m *Model) movePane(by int) {
	if m.focus = (m.focus + pane(by) + panes) % panes; m.focus == paneLog {
		m.focusLog()
	}
}

func (m *Model) toggleLog(string) tea.Cmd {
	shown := m.focus == paneLog
	class := layout.ClassOf(m.drawn.W, m.drawn.H+3)
	if m.run.Run.Preflight != nil { // the log stands in the place of what was found
		class = layout.Tiny
	}
	switch class {
	case layout.Wide:
		shown = !m.noLog
	case layout.Narrow:
		shown = m.showLog
	}
	if !shown {
		m.focusLog()
		return nil
	}
	if m.showLog, m.noLog = false, true; m.focus == paneLog {
		m.focus = paneLoss
	}
	return nil
}

func (m *Model) toggleErrors(string) tea.Cmd { m.lines.ToggleErrors(); return nil }
func (m *Model) toggleWrap(string) tea.Cmd   { m.lines.ToggleWrap(); return nil }

func (m *Model) toggleFull(string) tea.Cmd { m.full = !m.full; return nil }

// leave closes one thing: the search in the log, the full screen, the cursor.
func (m *Model) leave(string) tea.Cmd {
	switch {
	case m.lines.Searching() && m.focus == paneLog:
		m.lines.Search("")
	case m.full:
		m.full = false
	case m.focus == paneRanks && m.byHost() && m.hosts.text != "":
		m.setHostFilter("")
	case m.lines.Searching() && m.cursor < 0:
		m.lines.Search("")
	default:
		m.cursor = -1
	}
	return nil
}

// turn goes to the next match of the log where that has the focus, else to
// another page of ranks.
func (m *Model) turn(key string) tea.Cmd {
	if m.focus == paneLog {
		m.lines.Next(key == "n")
		return nil
	}
	if m.byHost() {
		page := m.hosts.table.Page()
		if key != "n" {
			page = -page
		}
		m.hosts.table.Move(page)
		return nil
	}
	if key == "n" {
		return m.turnPage(1)
	}
	return m.turnPage(-1)
}

func (m *Model) turnPage(by int) tea.Cmd {
	last := max(0, (m.world()-1)/pageRanks)
	if next := layout.Clamp(m.page+by, 0, last); next != m.page {
		m.page = next
		return m.read()
	}
	return nil
}

func (m *Model) otherLog(key string) tea.Cmd {
	by := 1
	if key == "(" {
		by = -1
	}
	m.focusLog()
	next := layout.Clamp(m.logRank+by, 0, max(0, m.world()-1))
	if next == m.logRank || m.run.Dir == "" {
		return nil
	}
	m.logRank = next
	m.startLog()
	return m.readLog()
}

func (m *Model) togglePause(string) tea.Cmd {
	if m.frozen != nil {
		m.frozen = nil
		m.clampView()
		return nil
	}
	s := m.latest
	m.frozen = &s
	return nil
}

func (m *Model) nextSmoothing(string) tea.Cmd {
	m.smooth = (m.smooth + 1) % len(smoothings)
	return nil
}

// toggleScale changes the focused chart, or both when none has the focus.
func (m *Model) toggleScale(string) tea.Cmd {
	switch m.focus {
	case paneStep:
		m.logStep = !m.logStep
	case paneLoss:
		m.logLoss = !m.logLoss
	default:
		m.logStep = !m.logStep
		m.logLoss = m.logStep
	}
	return nil
}

func (m *Model) askCancel(string) tea.Cmd {
	if !m.live() {
		return msg.Send(msg.Toast{Level: msg.Warn, Text: "there is no running run to cancel here"})
	}
	id := m.run.ID
	lines := []string{"Run " + layout.Clean(id+"  "+describe(m.run)), progress(m.run, m.latest.newest.Step), "Its ranks end; what it has written stays."}
	return msg.Send(msg.Open{Modal: modal.Confirm{Title: "Cancel the run?", Lines: lines, Yes: "cancel it"}, Then: func(answer any) tea.Cmd {
		if answer != true {
			return nil
		}
		return m.cancel(id)
	}})
}

func (m *Model) mark(key string) tea.Cmd {
	if m.run.ID == "" {
		return nil
	}
	refs := m.refs
	if key == "b" {
		refs.Baseline = toggled(refs.Baseline, m.run.ID)
	} else {
		refs.Vanilla = toggled(refs.Vanilla, m.run.ID)
	}
	return msg.Send(refs)
}

func toggled(old, id string) string {
	if old == id {
		return ""
	}
	return id
}

// compare goes to Compare with this run and the references.
func (m *Model) compare(string) tea.Cmd {
	if m.run.ID == "" {
		return nil
	}
	ids := []string{}
	for _, id := range m.beside() {
		if id != "" && id != m.run.ID && !slices.Contains(ids, id) {
			ids = append(ids, id)
		}
	}
	return msg.Send(msg.CompareRuns{IDs: append(ids, m.run.ID)})
}

func (m *Model) edit(string) tea.Cmd {
	if m.run.ID == "" {
		return nil
	}
	return msg.Send(msg.EditExperiment{Experiment: m.run.Run.Experiment})
}
