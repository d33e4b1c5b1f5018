package runs

import (
	"fmt"
	"strings"

	"boost-tui/tui/format"
	"boost-tui/tui/layout"
	"boost-tui/tui/theme"
	"boost-tui/tui/widget/panel"
)

// View draws the list with the detail of the run under the cursor: beside it
// where there is room, else below, else not at all. The log pane takes the
// place of both.
func (m *Model) View(r layout.Rect) string {
	t := m.env.Theme
	class := layout.ClassOf(r.W, r.H+3)
	switch {
	case m.logs.open:
		return layout.Fit(m.logs.pane(t, r), r.W, r.H)
	case class == layout.Wide && !m.zoom:
		columns := r.Columns(layout.Part{Min: 70, Weight: 1}, layout.Part{Min: layout.Clamp(r.W/3, 38, 64)})
		return layout.Fit(layout.Beside(m.listPane(t, columns[0]), m.detailPane(t, columns[1])), r.W, r.H)
	case class == layout.Narrow && !m.zoom:
		rows := r.Rows(layout.Part{Min: 8, Weight: 1}, layout.Part{Min: 7})
		return layout.Fit(layout.Stack(m.listPane(t, rows[0]), m.detailPane(t, rows[1])), r.W, r.H)
	}
	return layout.Fit(m.listPane(t, r), r.W, r.H)
}

func (m *Model) listPane(t theme.Theme, r layout.Rect) string {
	w, h := panel.Inner(r.W, r.H)
	arrow := t.Glyphs.Up
	if m.down {
		arrow = t.Glyphs.Down
	}
	note := "sort: " + m.sortBy + " " + arrow
	if n := len(m.table.Marked()); n > 0 {
		note = fmt.Sprintf("%d marked%s  ", n, m.markedDisk()) + note
	}
	title := "Runs" + m.hidden.title()
	return panel.Panel{Title: title, Note: note, Focused: true}.View(t, m.table.View(t, w, h, true), r.W, r.H)
}

func (m *Model) detailPane(t theme.Theme, r layout.Rect) string {
	if r.Empty() {
		return ""
	}
	w, h := panel.Inner(r.W, r.H)
	selected, ok := m.Selected()
	if !ok {
		return panel.Panel{Title: "Run"}.View(t, t.Dim.Paint("nothing selected"), r.W, r.H)
	}
	lines := m.detail(t, selected, w, h < 12)
	return panel.Panel{Title: Short(selected.ID)}.View(t, strings.Join(lines, "\n"), r.W, r.H)
}

// Status is the filter line, or what the last listing could not read.
func (m *Model) Status() string {
	t := m.env.Theme
	count := format.Count(int64(len(m.shown))) + " of " + format.Many(len(m.all), "run")
	switch {
	case m.logs.line != nil:
		return "/" + m.logs.line.View(t, 48)
	case m.logs.open:
		return fmt.Sprintf("%s lines", format.Count(int64(m.logs.view.Len())))
	case m.line != nil:
		fault := ""
		if m.fault != "" {
			fault = "  " + t.Bad.Paint(m.fault)
		}
		return "/" + m.line.View(t, max(24, min(48, layout.Width(m.line.Text())+2))) + "  " + count + fault
	case !m.listed:
		return t.Dim.Paint(m.emptyText())
	case m.text != "":
		return "/" + m.text + "  " + count
	case len(m.errs) > 0:
		return t.Warn.Paint(t.Glyphs.Warn+" ") + layout.Clean(m.errs[0].Error()) + more(len(m.errs)-1) + "  " + count
	}
	return count
}

func more(n int) string {
	if n <= 0 {
		return ""
	}
	return fmt.Sprintf(" (+%d)", n)
}
