package compare

import "boost-tui/tui/layout"

// wide is the layout from 110x32 on: the table, below it bars and speed-ups,
// then curves and differences.
func (m *Model) wide(r layout.Rect) string {
	if m.alone {
		return m.drawTable(r.W, r.H)
	}
	top, rest := r.Top(m.tableHeight(r.H, 4))
	columns := rest.Columns(layout.Part{Weight: 3}, layout.Part{Min: 40, Weight: 1})
	why := 2 + len(m.result.table.Rows) + 1 + len(m.whyLines(true))
	rows := rest.Rows(layout.Part{Min: layout.Clamp(why, 6, max(6, rest.H*2/3))}, layout.Part{Weight: 1})
	left, right := columns[0].W, columns[1].W
	return layout.Stack(m.drawTable(top.W, top.H),
		layout.Beside(m.drawBars(left, rows[0].H), m.drawSpeed(right, rows[0].H)),
		layout.Beside(m.drawCurves(left, rows[1].H), m.drawDiff(right, rows[1].H)))
}
