package live

import (
	"strings"

	"boost-tui/tui/layout"
)

// narrow is the layout of 80x24: ranks above, breakdown over loss at the left,
// step time, and below it the log when that is shown, at the right.
func (m *Model) narrow(r layout.Rect) string {
	need := 2 + 1 + m.topRows() + len(m.notes(r.W-4, false))
	top, rest := r.Top(layout.Clamp(need, 5, max(5, r.H/2)))
	columns := rest.Columns(layout.Part{Weight: 1}, layout.Part{Weight: 1})
	refs, iw := m.references(), max(1, columns[0].W-4)
	bars := 2 + 1 + len(drawn(refs)) + len(m.speedLines(refs, false, iw)) + len(m.shown().parts.Values(m.env.Theme, iw))
	rows := rest.Rows(layout.Part{Min: layout.Clamp(bars, 5, max(5, rest.H-5))}, layout.Part{Weight: 1})
	right := m.pane(paneStep, columns[1].W, rest.H, false)
	if m.showLog {
		parts := rest.Rows(layout.Part{Weight: 1}, layout.Part{Weight: 1})
		right = layout.Stack(m.pane(paneStep, columns[1].W, parts[0].H, false), m.pane(paneLog, columns[1].W, parts[1].H, false))
	}
	left := layout.Stack(m.pane(paneParts, columns[0].W, rows[0].H, false), m.pane(paneLoss, columns[0].W, rows[1].H, false))
	return layout.Stack(m.pane(paneRanks, top.W, top.H, false), layout.Beside(left, right))
}

// tiny shows the focused pane and, where there is room, the breakdown above it;
// why a run ended comes first.
func (m *Model) tiny(r layout.Rect) string {
	cause := ""
	if lines := m.failure(r.W); len(lines) > 0 && m.focus != paneRanks {
		var top layout.Rect
		top, r = r.Top(min(len(lines), max(1, r.H-10)))
		cause = layout.Fit(strings.Join(lines, "\n"), top.W, top.H)
	}
	if r.H < 14 || m.focus == paneParts {
		return layout.Stack(cause, m.pane(m.focus, r.W, r.H, false))
	}
	top, rest := r.Top(6)
	return layout.Stack(cause, m.pane(paneParts, top.W, top.H, false), m.pane(m.focus, rest.W, rest.H, false))
}
