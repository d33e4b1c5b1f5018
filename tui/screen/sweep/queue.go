package sweep

import (
	"fmt"
	"strings"
	"time"

	"boost-tui/sweeps"
	"boost-tui/tui/format"
	"boost-tui/tui/keys"
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
		writes(bind(group, "retry", "run again what failed, was stopped, cancelled or skipped: the point, or the marked ones", (*Model).retry, "r")),
		writes(bind(group, "skip", "take the point, or the marked ones, out of the queue; r puts them back", (*Model).skip, "x")),
		writes(bind(group, "first", "move the point, or the marked ones, to the front of the queue", (*Model).front, "f")),
		writes(bind(group, "order", "order of the queue", (*Model).askOrder, "o")),
		bind(group, "launch", "a variation of the point, on screen Launch", (*Model).launchPoint, "L"),
		bind(group, "", "mark from the last mark to here", (*Model).markRange, "V"),
		bind(group, "", "mark all, or none", (*Model).markAll, "*"),
		bind(group, "", "other columns", (*Model).otherColumns, "left", "right"),
	}
}

// queueForm is how the queue is drawn in the room that it has.
type queueForm struct {
	names  int  // form of the points' names
	width  int  // of the widest
	narrow bool // room for name and state, hardly for more
	steps  bool // room for the step as well
}

const (
	narrowQueue = 50 // cells under which the queue is narrow
	leastName   = 10
	// stateCells and restCells are the least widths of what stands beside a name, with blanks.
	stateCells, stepCells, restCells = 10, 10, 40
)

// formOf finds the form for a table of w cells.
func (d *digest) formOf(w int) queueForm {
	f := queueForm{narrow: w < narrowQueue}
	shown := d.order[:min(len(d.order), rowsShown)]
	room, most := w-widget.Gutter-restCells, max(leastName, w-widget.Gutter-stateCells)
	f.names = d.names.fitting(shown, room)
	if f.narrow || d.names.widest(f.names, shown) > room { // other columns give way before a name is cut
		f.names = d.names.fitting(shown, most)
	}
	f.width = layout.Clamp(d.names.widest(f.names, shown), leastName, most)
	f.steps = widget.Gutter+f.width+stateCells+stepCells <= w
	return f
}

func (f queueForm) columns() []widget.Column {
	state := widget.Column{ID: "cause", Title: "state", Width: stateCells - 1, Flex: 1}
	point, run := widget.Column{ID: "point", Title: "point", Width: f.width}, widget.Column{ID: "run", Title: "run", Width: 5, Drop: 5}
	step, ms, left := widget.Column{ID: "step", Title: "step", Width: stepCells - 1, Right: true, Drop: 3}, widget.Column{ID: "ms", Title: "ms", Width: 6, Right: true, Drop: 4}, widget.Column{ID: "eta", Title: "left", Width: 6, Right: true, Drop: 6}
	if f.narrow {
		return []widget.Column{point, state, run, step, ms, left}
	}
	return []widget.Column{point, run, step, ms, left, state}
}

// fitQueue lays the queue out for w cells, unless it is already.
func (m *Model) fitQueue(w int) {
	if m.shown.digest == nil {
		return
	}
	if f := m.shown.digest.formOf(w); f != m.queueForm {
		m.queueForm = f
		m.queue.Columns = f.columns()
		m.rebuildQueue()
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
	narrow := m.queueForm.narrow
	switch p.Status {
	case sweeps.Running:
		now := m.shown.view.Steps[p.Run()]
		step = fmt.Sprintf("%d/%d", now.Step, p.Steps)
		if now.Seconds > 0 {
			ms = format.Millis(now.Seconds)
			left = format.Duration(time.Duration(now.Seconds * float64(max(0, int64(p.Steps)-now.Step)) * float64(time.Second)))
		}
		if !m.queueForm.steps {
			state = step
		} else if n := len(p.Attempts); n > 1 && !narrow {
			state += fmt.Sprintf(", attempt %d", n)
		}
	case sweeps.Queued:
		state = fmt.Sprintf("waits, %d.", place)
	case sweeps.Finished:
		if r := m.row(p.ID); r != nil && r.Figures.StepTimeMedian != nil {
			ms = format.Millis(*r.Figures.StepTimeMedian)
		}
	default:
		state = m.endText(t, p)
	}
	cell := func(s string) widget.Cell { return widget.Cell{Text: s} }
	name, why := cell(m.shown.digest.names[m.queueForm.names][p.ID]), widget.Cell{Text: state, Style: style}
	row := widget.Row{ID: p.ID, Sign: sign, Style: rowStyle(t, p.Status), Cells: []widget.Cell{name, cell(run), cell(step), cell(ms), cell(left), why}}
	if narrow {
		row.Cells = []widget.Cell{name, why, cell(run), cell(step), cell(ms), cell(left)}
	}
	return row
}

// endText says in short how a point ended: "failed 3×: out of memory".
func (m *Model) endText(t theme.Theme, p *sweeps.PointState) string {
	s := string(p.Status)
	if n := len(p.Attempts); n > 1 {
		s += fmt.Sprintf(" %d%s", n, t.Glyphs.Times)
	}
	switch {
	case m.queueForm.narrow && layout.Width(s) >= stateCells:
		return string(p.Status)
	case m.queueForm.narrow || p.Cause == "":
		return s
	}
	return s + ": " + layout.Clean(p.Cause)
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
	m.queueWidth = w
	m.fitQueue(w)
	if m.queue.Empty = "reading the sweep " + t.Glyphs.Ellipsis; m.shown.err != nil {
		m.queue.Empty = "" // the grid says why
	}
	foot := m.queueFoot(t, w, h)
	body := layout.Stack(m.queue.View(t, w, h-len(foot), m.focus == paneQueue), strings.Join(foot, "\n"))
	title := "Queue"
	if tb := m.table(); tb != nil {
		if mark := emulatedRows(tb.Rows); mark != "" {
			title += ", " + mark
		}
	}
	return panel.Panel{Title: title, Note: m.queueNote(w, h-len(foot)), Focused: m.focus == paneQueue}.View(t, body, r.W, r.H)
}

// queueFoot is the point under the cursor in full: names in the table are short.
func (m *Model) queueFoot(t theme.Theme, w, h int) []string {
	switch {
	case h < 5 || m.queue.Len() == 0:
		return nil
	case h < 8:
		return m.pointFoot(t, m.queue.Cursor(), w, 1, 1)
	case h < 12:
		return m.pointFoot(t, m.queue.Cursor(), w, 2, 4)
	}
	return append([]string{rule(t, w)}, m.pointFoot(t, m.queue.Cursor(), w, 2, 4)...)
}

// queueNote says what of the queue is not seen, in a table of w x h cells.
func (m *Model) queueNote(w, h int) string {
	var parts []string
	st := m.shown.state()
	switch n := m.queue.Len(); {
	case len(m.queue.Marked()) > 0:
		parts = append(parts, fmt.Sprintf("%d marked", len(m.queue.Marked())))
	case st != nil && len(st.Points) > rowsShown:
		parts = append(parts, fmt.Sprintf("first %d of %s", rowsShown, format.Many(len(st.Points), "point")))
	case n > max(1, h-1):
		parts = append(parts, format.Many(n, "point"))
	}
	return strings.Join(append(parts, sheetNote(&m.queue, w)...), "  ")
}

// sheetNote says which of the sheets of columns is shown, where there are several.
func sheetNote(t *widget.Table, w int) []string {
	n := t.Sheets(w)
	if n < 2 || t.Len() == 0 {
		return nil
	}
	return []string{fmt.Sprintf("%s %d of %d", keys.Display("right"), min(t.Sheet, n-1)+1, n)}
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
