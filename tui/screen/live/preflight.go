package live

import (
	"strings"

	"boost-tui/runner"
	"boost-tui/tui/layout"
	"boost-tui/tui/screen"
	"boost-tui/tui/widget/panel"
)

// lookAt draws a run that looks at its machines: its ranks or hosts, and what it found; in the place of that the log, while
// that has the focus.
func (m *Model) lookAt(r layout.Rect, class layout.Class) string {
	wide := class == layout.Wide
	if m.full || class == layout.Tiny && m.focus == paneRanks {
		return m.pane(m.focus, r.W, r.H, wide)
	}
	top, rest := r.Top(layout.Clamp(3+m.topRows()+len(m.notes(r.W-4, wide && !m.byHost())), 5, max(5, r.H/2)))
	if class == layout.Tiny {
		top, rest = layout.Rect{}, r
	}
	below := m.drawLook(rest.W, rest.H)
	if m.focus == paneLog {
		below = m.pane(paneLog, rest.W, rest.H, wide)
	}
	return layout.Stack(m.pane(paneRanks, top.W, top.H, wide), below)
}

// drawLook is what was found.
func (m *Model) drawLook(w, h int) string {
	iw, ih := panel.Inner(w, h)
	t, found := m.env.Theme, m.shown().look
	var lines []string
	switch {
	case found != nil:
		for _, line := range screen.PreflightLines(t, *found) {
			lines = append(lines, layout.Cut(line, iw, t.Glyphs.Ellipsis))
		}
	case m.run.State == runner.Pending:
		lines = []string{t.Dim.Paint("it has not begun")}
	case m.live():
		lines = []string{t.Dim.Paint("it takes a minute at most" + t.Glyphs.Ellipsis)}
	default:
		lines = []string{t.Dim.Paint("nothing was written down")}
	}
	return m.frame(paneParts, "Preflight", "", strings.Join(lines[:min(len(lines), max(0, ih))], "\n"), w, h)
}
