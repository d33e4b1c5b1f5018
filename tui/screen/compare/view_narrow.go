package compare

import (
	"strings"

	"boost-tui/tui/layout"
	"boost-tui/tui/widget/panel"
)

// lowerPanes is how many panes t and tab walk through below the table.
const lowerPanes = int(panes) - 1

// lowerPane draws the pane that t or tab has chosen.
func (m *Model) lowerPane(w, h int) string { return m.pane(pane(m.lower+1), w, h) }

// pane draws one pane of w x h cells.
func (m *Model) pane(p pane, w, h int) string {
	switch p {
	case paneTable:
		return m.drawTable(w, h)
	case paneSpeed:
		return m.drawSpeed(w, h)
	case paneCurves:
		return m.drawCurves(w, h)
	case paneDiff:
		return m.drawDiff(w, h)
	}
	return m.drawBars(w, h)
}

// frame is the frame of a pane.
func (m *Model) frame(p pane, title, note, body string, w, h int) string {
	return panel.Panel{Title: title, Note: note, Focused: m.focus == p}.View(m.env.Theme, body, w, h)
}

// narrow is the layout of 80x24: the table, one pane below it, and why in one
// line.
func (m *Model) narrow(r layout.Rect) string {
	top, rest := r.Top(m.tableHeight(r.H, 2))
	why := m.whyShort()
	if why == "" || m.lower == 1 {
		return layout.Stack(m.drawTable(top.W, top.H), m.lowerPane(rest.W, rest.H))
	}
	rest, last := rest.Bottom(1)
	return layout.Stack(m.drawTable(top.W, top.H), m.lowerPane(rest.W, rest.H), layout.Fit(" "+strings.TrimSpace(why), last.W, last.H))
}

// tiny shows the table, and a pane below it where there is room.
func (m *Model) tiny(r layout.Rect) string {
	need := 2 + 1 + len(m.result.table.Rows) + 1 + len(m.markNotes())
	if r.H-need < 6 {
		return m.drawTable(r.W, r.H)
	}
	top, rest := r.Top(need)
	return layout.Stack(m.drawTable(top.W, top.H), m.lowerPane(rest.W, rest.H))
}
