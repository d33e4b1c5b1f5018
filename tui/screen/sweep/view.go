package sweep

import (
	"fmt"
	"strings"

	"boost-tui/sweeps"
	"boost-tui/tui/format"
	"boost-tui/tui/layout"
	"boost-tui/tui/theme"
)

// View draws the screen; the drawing is kept until something changes.
func (m *Model) View(r layout.Rect) string {
	if m.cache != "" && m.drawn == r {
		return m.cache
	}
	m.drawn = r
	m.cache = layout.Fit(m.draw(m.env.Theme, r), r.W, r.H)
	return m.cache
}

// draw lays the panes out: grid and queue above results and heat map; in a
// small terminal results or heat map; in a tiny one the focused pane alone.
func (m *Model) draw(t theme.Theme, r layout.Rect) string {
	class := m.class(r)
	switch {
	case m.full || class == layout.Tiny || class == layout.TooSmall:
		return m.pane(t, m.focus, r)
	case m.shown.id == "":
		columns := r.Columns(layout.Part{Min: 38, Weight: 1}, layout.Part{Min: 34, Weight: 1})
		return layout.Beside(m.pane(t, paneGrid, columns[0]), m.pane(t, paneQueue, columns[1]))
	case class == layout.Wide:
		rows := r.Rows(layout.Part{Min: 14, Weight: 1}, layout.Part{Min: 12, Weight: 1})
		above := rows[0].Columns(layout.Part{Min: 46, Weight: 1}, layout.Part{Min: 62, Weight: 3})
		below := rows[1].Columns(layout.Part{Min: 64, Weight: 2}, layout.Part{Min: 42, Weight: 1})
		return layout.Stack(
			layout.Beside(m.pane(t, paneGrid, above[0]), m.pane(t, paneQueue, above[1])),
			layout.Beside(m.pane(t, paneResults, below[0]), m.pane(t, paneHeat, below[1])))
	}
	rows := r.Rows(layout.Part{Min: 10, Weight: 1}, layout.Part{Min: 9, Weight: 1})
	above := rows[0].Columns(layout.Part{Min: 36, Weight: 1}, layout.Part{Min: 36, Weight: 1})
	lower := paneResults
	if m.mapped {
		lower = paneHeat
	}
	return layout.Stack(layout.Beside(m.pane(t, paneGrid, above[0]), m.pane(t, paneQueue, above[1])), m.pane(t, lower, rows[1]))
}

// pane draws one pane.
func (m *Model) pane(t theme.Theme, p pane, r layout.Rect) string {
	switch p {
	case paneQueue:
		return m.queuePane(t, r)
	case paneResults:
		return m.resultsPane(t, r)
	case paneHeat:
		return m.heatPane(t, r)
	}
	return m.gridPane(t, r)
}

// Status is the line above the hints: the filter while it is typed, what is
// being done, what went wrong, else how far the sweep is.
func (m *Model) Status() string {
	t := m.env.Theme
	switch {
	case m.typed != nil:
		return m.filterLine(t)
	case m.busy != "":
		return m.busy + " " + t.Glyphs.Ellipsis
	case m.asked:
		return "counting the points; then R asks " + t.Glyphs.Ellipsis
	case m.failure != "":
		return t.Bad.Paint(t.Glyphs.Cross + " " + m.failure)
	case m.shown.err != nil:
		return t.Bad.Paint(t.Glyphs.Cross + " " + layout.Clean(m.shown.err.Error()))
	case m.shown.id == "":
		return m.newStatus()
	}
	st := m.shown.state()
	if st == nil {
		return "reading the sweep " + t.Glyphs.Ellipsis
	}
	return m.progress(t, st)
}

func (m *Model) newStatus() string {
	if x := m.count.x; x != nil && m.count.err == nil && len(x.Points) > 0 {
		return "a new sweep of " + format.Many(len(x.Points), "run") + ": R starts it"
	}
	return "a new sweep: a adds an axis, s chooses among the sweeps that there are"
}

// progress says how far the sweep is and what is to be expected.
func (m *Model) progress(t theme.Theme, st *sweeps.State) string {
	over, running, queued, failed, total := m.shown.counts()
	parts := []string{m.sweepName() + " " + phaseText(t, st.Phase)}
	if text := m.filterText(filterCells); text != "" {
		parts = append(parts, t.Warn.Paint(text))
	}
	parts = append(parts, fmt.Sprintf("%d of %d done", over, total))
	if running > 0 {
		parts = append(parts, fmt.Sprintf("%d running", running))
	}
	if queued > 0 {
		parts = append(parts, fmt.Sprintf("%d waiting", queued))
	}
	if failed > 0 {
		parts = append(parts, fmt.Sprintf("%d failed", failed))
	}
	if st.Phase != sweeps.PhaseRunning && st.Cause != "" && st.Phase != sweeps.PhaseFinished {
		parts = append(parts, layout.Clean(st.Cause))
	}
	if queued+running > 0 {
		parts = append(parts, m.leftText())
	}
	used := format.Digits(st.DeviceHours) + " device hours"
	if st.Options.MaxDeviceHours > 0 {
		used = format.Digits(st.DeviceHours) + " of " + deviceHours(st.Options.MaxDeviceHours)
	}
	if st.DeviceHours > 0 {
		parts = append(parts, used)
	}
	if st.BadLines > 0 {
		parts = append(parts, t.Warn.Paint(t.Glyphs.Warn+" "+format.Many(st.BadLines, "unreadable line")+" in its journal"))
	}
	for len(parts) > 2 && layout.Width(strings.Join(parts, "  ")) > m.drawn.W-2 {
		parts = parts[:len(parts)-1]
	}
	return strings.Join(parts, "  ")
}

// phaseText names a phase with a sign, for terminals without colours.
func phaseText(t theme.Theme, p sweeps.Phase) string {
	switch p {
	case sweeps.PhaseRunning:
		return t.Accent.Paint(t.Glyphs.Running + " running")
	case sweeps.PhaseFinished:
		return t.Good.Paint(t.Glyphs.Finished + " finished")
	case sweeps.PhasePaused:
		return t.Warn.Paint(t.Glyphs.Pending + " paused")
	}
	return t.Warn.Paint(t.Glyphs.Warn + " " + string(p))
}
