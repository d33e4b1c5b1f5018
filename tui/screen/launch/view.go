package launch

import (
	"fmt"
	"strings"

	"boost-tui/tui/format"
	"boost-tui/tui/layout"
	"boost-tui/tui/theme"
	"boost-tui/tui/widget/panel"
)

// View draws the screen: the form, at its right what the planner knows, below
// them the command. Panes are dropped where there is no room.
func (m *Model) View(r layout.Rect) string {
	t := m.env.Theme
	switch layout.ClassOf(r.W, r.H+3) {
	case layout.Wide:
		rows := r.Rows(layout.Part{Min: 14, Weight: 1}, layout.Part{Min: layout.Clamp(r.H/3, 8, 13)})
		columns := rows[0].Columns(layout.Part{Min: 58, Weight: 1}, layout.Part{Min: 50, Weight: 1})
		right := columns[1].Rows(layout.Part{Min: 12}, layout.Part{Weight: 1})
		return layout.Fit(layout.Stack(
			layout.Beside(m.formPane(t, columns[0]), layout.Stack(m.memoryPane(t, right[0]), m.needsPane(t, right[1]))),
			m.commandPane(t, rows[1])), r.W, r.H)
	case layout.Narrow:
		columns := r.Columns(layout.Part{Min: 42, Weight: 1}, layout.Part{Min: 36, Weight: 1})
		right := columns[1].Rows(layout.Part{Min: 11}, layout.Part{Weight: 1})
		return layout.Fit(layout.Beside(m.formPane(t, columns[0]), layout.Stack(m.memoryPane(t, right[0]), m.needsPane(t, right[1]))), r.W, r.H)
	}
	return layout.Fit(m.formPane(t, r), r.W, r.H)
}

func (m *Model) formPane(t theme.Theme, r layout.Rect) string {
	title := "Configuration"
	if m.draft.all {
		title = "Configuration, every key"
	}
	w, h := panel.Inner(r.W, r.H)
	return panel.Panel{Title: title, Focused: true}.View(t, m.form.View(t, w, h, true), r.W, r.H)
}

// commandPane is the exact command line, the rules it breaks, and notes.
func (m *Model) commandPane(t theme.Theme, r layout.Rect) string {
	if r.Empty() {
		return ""
	}
	w, h := panel.Inner(r.W, r.H)
	lines := wrap(format.Shell(m.draft.command()), w)
	if len(lines) > 3 {
		lines = append(lines[:2:2], layout.Cut(lines[2]+" "+t.Glyphs.Ellipsis, w, t.Glyphs.Ellipsis))
	}
	for i := range lines {
		lines[i] = t.Accent.Paint(lines[i])
	}
	lines = append(lines, "")
	lines = append(lines, m.paintChecks(t, w)...)
	return panel.Panel{Title: "Command preview (exactly what L runs)"}.View(t, fitLines(lines, h), r.W, r.H)
}

// Status is the line above the hints.
func (m *Model) Status() string {
	t := m.env.Theme
	if m.find != nil {
		return "/" + m.find.View(t, 40)
	}
	if line := m.progressLine(); line != "" {
		return line
	}
	if line := m.preflightLine(); line != "" {
		return line
	}
	if faults := m.draft.obstacles(); len(faults) > 0 {
		more := ""
		if n := len(faults) - 1; n > 0 {
			more = fmt.Sprintf("  (+%d)", n)
		}
		return t.Bad.Paint(t.Glyphs.Cross + " " + faults[0].String() + more)
	}
	return describe(m.draft.resolved) + m.totalNote()
}

// wrap breaks a text at blanks into lines of at most w cells.
func wrap(s string, w int) []string {
	var out []string
	line := ""
	for _, word := range strings.Fields(s) {
		switch {
		case line == "":
			line = word
		case layout.Width(line)+1+layout.Width(word) <= w:
			line += " " + word
		default:
			out = append(out, line)
			line = "  " + word
		}
	}
	return append(out, line)
}
