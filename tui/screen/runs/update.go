package runs

import (
	"strings"

	"boost-tui/internal/filter"
	"boost-tui/runner"
	"boost-tui/tui/feed"
	"boost-tui/tui/keys"
	"boost-tui/tui/msg"
	"boost-tui/tui/widget/input"

	tea "github.com/charmbracelet/bubbletea"
)

// Update handles keys and messages.
func (m *Model) Update(in tea.Msg) (tea.Cmd, bool) {
	switch in := in.(type) {
	case keys.Event:
		return m.key(in)
	case msg.Theme:
		m.env.Theme = in.Theme
		m.rebuild()
	case msg.Runs:
		return m.take(in), false
	case msg.References:
		if in.Baseline != m.refs.Baseline {
			clear(m.speedups)
		}
		m.refs = in
		m.rebuild()
		return m.readSpeedups(), false
	case compared:
		if in.baseline == m.refs.Baseline {
			m.speedups[in.id] = in.speedup
			m.rebuild()
		}
		return m.readSpeedups(), false
	case msg.Shown:
		m.visible = in.Screen == ID
		if m.visible {
			return tea.Batch(m.readMore(), m.logs.resume()), false
		}
	case msg.Hidden:
		if in.Screen == ID {
			m.visible = false
			m.logs.loop.Stop()
		}
	case measured:
		m.figures[in.id] = known{fig: in.fig, state: in.state, at: m.now()}
		m.changedFigure("ms", "loss")
		return m.readFigures(), false
	case decoded:
		m.decoding = false
		for id, k := range in {
			if old := m.figures[id]; k.fig == nil {
				k.fig = old.fig
			}
			m.figures[id] = k
		}
		m.changedFigure("ms", "loss")
	case counted:
		m.counting = false
		m.usage[in.id] = used{in.usage, in.known, m.now()}
		m.changedFigure("disk")
		return m.readUsage(), false
	case msg.Tick:
		if m.logs.loop.Mine(in.Owner, in.Gen) {
			return m.logs.read(), false
		}
	case feed.Batch[feed.Lines]:
		return m.logs.take(m, in), false
	case changed:
		return m.took(in), false
	}
	return nil, false
}

// take keeps a listing.
func (m *Model) take(in msg.Runs) tea.Cmd {
	m.all = m.all[:0]
	for i := range in.Infos {
		m.all = append(m.all, run{Info: &in.Infos[i], back: in.Back[in.Infos[i].ID]})
	}
	m.forget()
	m.errs, m.listed = in.Errs, true
	m.rebuild()
	if m.marksLater != nil {
		m.table.SetMarks(append(m.table.Marked(), m.marksLater...))
		m.marksLater = nil
		m.rebuild()
	}
	return m.readMore()
}

func (m *Model) key(e keys.Event) (tea.Cmd, bool) {
	if m.line != nil {
		m.filterKey(e)
		return nil, true
	}
	if m.logs.open {
		return m.logs.key(m, e)
	}
	if entry, ok := m.keys.Find(e); ok && entry.Do != nil {
		return entry.Do(m), true
	}
	if delta, ok := keys.Motion(e, m.table.Page()); ok {
		m.table.Move(delta)
		return m.readMore(), true
	}
	return nil, false
}

// openFilter starts typing a filter; the list follows each key.
func (m *Model) openFilter() tea.Cmd {
	line := input.New(m.text)
	m.line, m.before = &line, m.text
	return nil
}

// filterKey edits the filter. Esc restores the one before.
func (m *Model) filterKey(e keys.Event) {
	switch e.Name {
	case "esc":
		m.line = nil
		m.setFilter(m.before)
	case "enter":
		if m.fault == "" { // else it stays open, and says what is wrong
			m.line = nil
		}
	case "up", "down":
		m.table.Move(map[string]int{"up": -1, "down": 1}[e.Name])
	default:
		line, edited, _ := m.line.Update(e)
		m.line = &line
		if edited {
			m.setFilter(line.Text())
		}
	}
}

func (m *Model) setFilter(text string) {
	query, err := filter.Parse(text, fields)
	m.text, m.query, m.fault = text, query, ""
	if err != nil {
		m.fault = err.Error()
	}
	m.rebuild()
}

// readMore reads what is worth knowing of the runs that are on the screen.
func (m *Model) readMore() tea.Cmd {
	return tea.Batch(m.readFigures(), m.readSpeedups(), m.readUsage(), m.readSummaries())
}

// changedFigure orders and filters anew where one of the figures decides about that; the rows are drawn anew anyway.
func (m *Model) changedFigure(names ...string) {
	for _, name := range names {
		if m.sortBy == name || strings.Contains(m.text, name) {
			m.rebuild()
			return
		}
	}
}

// clear is esc: it takes away the top thing only.
func (m *Model) clear() tea.Cmd {
	switch {
	case m.zoom:
		m.zoom = false
	case m.text != "":
		m.setFilter("")
	default:
		m.table.SetMarks(nil)
	}
	return nil
}

// running reports whether a run can still change.
func running(s runner.State) bool { return !s.Over() }
