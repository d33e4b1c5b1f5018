package live

import "boost-tui/tui/layout"

// wide is the layout from 110x32 on: ranks over the whole width, below them
// breakdown and step time, then loss and, unless it is hidden, log.
func (m *Model) wide(r layout.Rect) string {
	top, rest := r.Top(m.ranksHeight(r.W, r.H))
	rows := rest.Rows(layout.Part{Weight: 1}, layout.Part{Weight: 1})
	columns := rest.Columns(layout.Part{Weight: 1}, layout.Part{Weight: 1})
	w1, w2 := columns[0].W, columns[1].W
	bottom := func() string {
		if m.noLog {
			return m.pane(paneLoss, rest.W, rows[1].H, true)
		}
		return layout.Beside(m.pane(paneLoss, w1, rows[1].H, true), m.pane(paneLog, w2, rows[1].H, true))
	}
	return layout.Stack(
		m.pane(paneRanks, top.W, top.H, true),
		layout.Beside(m.pane(paneParts, w1, rows[0].H, true), m.pane(paneStep, w2, rows[0].H, true)),
		bottom())
}

// ranksHeight is what the list of ranks needs: a heading, a page of ranks, and
// what is said below, with its frame.
func (m *Model) ranksHeight(w, h int) int {
	need := 2 + 1 + m.topRows() + len(m.notes(w-4, !m.byHost()))
	return layout.Clamp(need, 5, max(5, h/2))
}

// topRows is how many lines the list of ranks or hosts would like.
func (m *Model) topRows() int {
	if m.byHost() {
		return layout.Clamp(m.hosts.table.Len(), 2, openLines+2)
	}
	return min(pageRanks, max(1, m.world()))
}
