package sweep

import (
	"fmt"
	"strings"
	"time"

	"boost-tui/sweeps"
	"boost-tui/tui/format"
	"boost-tui/tui/layout"
	"boost-tui/tui/pick"
	"boost-tui/tui/theme"
	"boost-tui/tui/widget/panel"
	widget "boost-tui/tui/widget/table"
)

func queueBindings() table {
	const group = "Sweep: queue"
	return table{
		bind(group, "open", "the run on screen Live", (*Model).openRun, "enter"),
		bind(group, "mark", "mark or unmark the point", (*Model).markPoint, "space"),
		writes(bind(group, "retry", "run the point, or the marked ones, again", (*Model).retry, "r")),
		writes(bind(group, "skip", "take the point, or the marked ones, out of the queue; r puts them back", (*Model).skip, "x")),
		writes(bind(group, "first", "move the point, or the marked ones, to the front of the queue", (*Model).front, "f")),
		writes(bind(group, "order", "order of the queue", (*Model).askOrder, "o")),
		bind(group, "launch", "a variation of the point, on screen Launch", (*Model).launchPoint, "L"),
		bind(group, "", "mark from the last mark to here", (*Model).markRange, "V"),
		bind(group, "", "mark all, or none", (*Model).markAll, "*"),
		bind(group, "", "other columns", (*Model).otherColumns, "left", "right"),
	}
}

func queueColumns() []widget.Column {
	return []widget.Column{
		{ID: "point", Title: "point", Width: 18, Flex: 3}, {ID: "run", Title: "run", Width: 5, Drop: 5}, {ID: "step", Title: "step", Width: 9, Right: true},
		{ID: "ms", Title: "ms", Width: 6, Right: true, Drop: 4}, {ID: "eta", Title: "left", Width: 6, Right: true, Drop: 3},
		{ID: "cause", Title: "state", Width: 9, Flex: 2, Drop: 1},
	}
}

// rebuildQueue makes the rows of the queue pane.
func (m *Model) rebuildQueue() {
	if m.shown.digest == nil {
		m.queue.SetRows(nil)
		return
	}
	points := m.shown.digest.order
	rows := make([]widget.Row, min(len(points), rowsShown))
	waits := 0
	for i, p := range points[:len(rows)] {
		if p.Status == sweeps.Queued {
			waits++
		}
		rows[i] = m.queueRow(m.env.Theme, p, waits)
	}
	m.queue.SetRows(rows)
	if !m.held[paneQueue] {
		m.queue.Move(-len(rows))
	}
}

// queueRow is a point's row; place is its place among those that wait.
func (m *Model) queueRow(t theme.Theme, p *sweeps.PointState, place int) widget.Row {
	sign, style := statusSign(t, p.Status)
	run, ms, left, state := "", t.Glyphs.Dash, "", string(p.Status)
	step := fmt.Sprintf("%d", p.Steps)
	if id := p.Run(); id != "" {
		run = pick.Short(id)
	}
	switch p.Status {
	case sweeps.Running:
		now := m.shown.view.Steps[p.Run()]
		step = fmt.Sprintf("%d/%d", now.Step, p.Steps)
		if now.Seconds > 0 {
			ms = format.Millis(now.Seconds)
			left = format.Duration(time.Duration(now.Seconds * float64(max(0, int64(p.Steps)-now.Step)) * float64(time.Second)))
		}
		if n := len(p.Attempts); n > 1 {
			state += fmt.Sprintf(", try %d", n)
		}
	case sweeps.Queued:
		state = fmt.Sprintf("waits, %d.", place)
	case sweeps.Finished:
		if r := m.row(p.ID); r != nil && r.Figures.StepTimeMedian != nil {
			ms = format.Millis(*r.Figures.StepTimeMedian)
		}
	default:
		if p.Cause != "" {
			state = layout.Clean(p.Cause)
		}
	}
	label := layout.Clean(p.Label)
	if p.Twin {
		label += " (twin)"
	}
	cell := func(s string) widget.Cell { return widget.Cell{Text: s} }
	return widget.Row{ID: p.ID, Sign: sign, Style: rowStyle(t, p.Status), Cells: []widget.Cell{cell(label), cell(run), cell(step), cell(ms), cell(left), {Text: state, Style: style}}}
}

// statusSign is the glyph and colour of what has become of a point.
func statusSign(t theme.Theme, s sweeps.Status) (string, theme.Style) {
	g := t.Glyphs
	switch s {
	case sweeps.Queued:
		return g.Pending, t.Dim
	case sweeps.Running:
		return g.Running, t.Accent
	case sweeps.Finished:
		return g.Finished, t.Good
	case sweeps.Failed:
		return g.Failed, t.Bad
	case sweeps.Stopped:
		return g.Warn, t.Warn
	case sweeps.Cancelled:
		return g.Cancelled, t.Warn
	}
	return g.Dash, t.Dim
}

func rowStyle(t theme.Theme, s sweeps.Status) theme.Style {
	if s == sweeps.Skipped || s == sweeps.Finished {
		return t.Dim
	}
	return theme.Style{}
}

func (m *Model) queuePane(t theme.Theme, r layout.Rect) string {
	if m.shown.id == "" {
		return m.pointsPane(t, r)
	}
	w, h := panel.Inner(r.W, r.H)
	note := ""
	if n := len(m.queue.Marked()); n > 0 {
		note = fmt.Sprintf("%d marked", n)
	} else if st := m.shown.state(); st != nil && len(st.Points) > rowsShown {
		note = fmt.Sprintf("first %d of %s points", rowsShown, format.Count(int64(len(st.Points))))
	} else if n := m.queue.Len(); n > max(1, h-1) {
		note = fmt.Sprintf("%d points", n)
	}
	m.queue.Empty = "reading the sweep " + t.Glyphs.Ellipsis
	body := m.queue.View(t, w, h, m.focus == paneQueue)
	return panel.Panel{Title: "Queue", Note: note, Focused: m.focus == paneQueue}.View(t, body, r.W, r.H)
}

// pointsPane stands where the queue stands as long as there is none: what would
// run, and what would not.
func (m *Model) pointsPane(t theme.Theme, r layout.Rect) string {
	w, h := panel.Inner(r.W, r.H)
	var lines []string
	for _, line := range m.countReport() {
		if lines = append(lines, layout.Wrap(line, w)...); len(lines) > 2*h {
			break
		}
	}
	if len(lines) > h && h > 1 {
		lines = append(lines[:h-1:h-1], t.Dim.Paint("i shows the rest"))
	}
	return panel.Panel{Title: "What would run", Focused: m.focus == paneQueue}.View(t, strings.Join(lines, "\n"), r.W, r.H)
}
