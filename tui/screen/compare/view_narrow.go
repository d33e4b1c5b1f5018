package compare

import (
	"strings"

	"boost-tui/tui/layout"
)

// lowerPanes is how many panes the t key walks through below the table.
const lowerPanes = 4

// lowerPane draws the pane that t has chosen.
func (m *Model) lowerPane(w, h int) string {
	switch m.lower {
	case 1:
		return m.drawSpeed(w, h)
	case 2:
		return m.drawCurves(w, h)
	case 3:
		return m.drawDiff(w, h)
	}
	return m.drawBars(w, h)
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
	need := 2 + 1 + len(m.result.table.Rows) + 1
	if r.H-need < 6 {
		return m.drawTable(r.W, r.H)
	}
	top, rest := r.Top(need)
	return layout.Stack(m.drawTable(top.W, top.H), m.lowerPane(rest.W, rest.H))
}
