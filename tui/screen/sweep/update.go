package sweep

import (
	"boost-tui/tui/keys"
	"boost-tui/tui/layout"
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
		if m.visible = in.Screen == ID; m.visible {
			cmd = tea.Batch(m.recount(), m.watch())
		}
	case msg.Hidden:
		if in.Screen == ID {
			m.hide()
		}
	case msg.Runs:
		m.infos = in.Infos
		dirty = false
	case msg.Tick:
		dirty = false
		switch {
		case m.debounce.Mine(in.Owner, in.Gen):
			cmd = m.expand()
			dirty = cmd == nil
		case m.poll.Mine(in.Owner, in.Gen):
			cmd = m.read()
		}
	case countDone:
		if dirty = m.debounce.Mine(m.debounce.Source, in.gen); dirty {
			m.count = in.counted
			if m.asked {
				m.asked = false
				cmd = m.askRun("")
			}
		}
	case sweepRead:
		cmd, dirty = m.take(in)
	case looked:
		dirty = m.glanced(in)
	case acted:
		cmd = m.took(in)
	case sameFound:
		cmd = m.confirmRun(in)
	case listed:
		cmd = m.offer(in)
	default:
		dirty = false
	}
	if dirty {
		m.cache = ""
	}
	return cmd, used
}

// hide lets the timers run out and breaks off what is under way.
func (m *Model) hide() {
	m.visible = false
	m.poll.Stop()
	m.debounce.Stop()
	if m.cancelCount != nil {
		m.cancelCount()
		m.cancelCount = nil
	}
}

func (m *Model) key(e keys.Event) (tea.Cmd, bool) {
	if m.typed != nil {
		return m.filterKey(e), true
	}
	if entry, ok := m.bindings().Find(e); ok && entry.Do != nil {
		return entry.Do(m, e.Name), true
	}
	switch m.focus {
	case paneGrid:
		return nil, m.gridKey(e)
	case paneHeat:
		return nil, m.heatKey(e)
	}
	t := &m.queue
	if m.focus == paneResults {
		t = &m.results.table
	}
	if delta, ok := keys.Motion(e, t.Page()); ok {
		t.Move(delta)
		m.held[m.focus] = true
		return nil, true
	}
	return nil, false
}

// rebuild makes the rows of everything that shows the sweep.
func (m *Model) rebuild() {
	m.rebuildQueue()
	m.rebuildResults()
}

// otherPane moves the focus among the panes that there are.
func (m *Model) otherPane(key string) tea.Cmd {
	by := 1
	if key == "shift+tab" {
		by = -1
	}
	there := m.panes()
	at := 0
	for i, p := range there {
		if p == m.focus {
			at = i
		}
	}
	m.setFocus(there[(at+by+len(there))%len(there)])
	return nil
}

// panes are those that there are: results come with a sweep.
func (m *Model) panes() []pane {
	if m.shown.id == "" {
		return []pane{paneGrid, paneQueue}
	}
	return []pane{paneGrid, paneQueue, paneResults, paneHeat}
}

func (m *Model) setFocus(p pane) {
	m.focus = p
	if p == paneResults || p == paneHeat {
		m.mapped = p == paneHeat
	}
}

// toggleHeat shows the heat map where the results stand, or the results again.
func (m *Model) toggleHeat(string) tea.Cmd {
	if m.shown.id == "" {
		return warn("a heat map comes with results: R starts a sweep, s chooses one")
	}
	if m.focus == paneHeat {
		m.setFocus(paneResults)
	} else {
		m.setFocus(paneHeat)
	}
	return nil
}

func (m *Model) toggleFull(string) tea.Cmd { m.full = !m.full; return nil }

// leave takes the top thing away: the full pane, the filter, the marks.
func (m *Model) leave(string) tea.Cmd {
	switch {
	case m.full:
		m.full = false
	case m.focus == paneQueue:
		m.queue.SetMarks(nil)
	case m.look.Filter != "" || m.look.Only != "":
		m.look.Only = ""
		return m.setFilter("")
	default:
		m.results.table.SetMarks(nil)
	}
	return nil
}

// info tells everything about what the focus is on.
func (m *Model) info(string) tea.Cmd {
	switch {
	case m.focus == paneQueue && m.shown.id != "":
		if p := m.shown.point(m.queue.Cursor()); p != nil {
			return text("Point", m.pointReport(p))
		}
		return nil
	case m.focus == paneResults || m.focus == paneHeat:
		return m.resultInfo()
	}
	if lines := m.sweepReport(); lines != nil {
		return text("The sweep and its grid", append(lines, m.countReport()...))
	}
	return text("What the grid comes to", m.countReport())
}

func (m *Model) class(r layout.Rect) layout.Class { return layout.ClassOf(r.W, r.H+3) }
