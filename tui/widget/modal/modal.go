// Package modal holds the dialogs: confirm, prompt, menu, text. They are pure:
// events go in, an answer comes out when the dialog is done.
package modal

import (
	"fmt"
	"strings"

	"boost-tui/tui/keys"
	"boost-tui/tui/layout"
	"boost-tui/tui/theme"
	"boost-tui/tui/widget/panel"
)

// Result is what an event did to a dialog.
type Result struct {
	Done   bool
	Answer any // nil: dismissed; else what the dialog's doc says
}

// Modal is an open dialog. View draws a box no larger than w x h.
type Modal interface {
	Update(keys.Event) (Modal, Result)
	View(t theme.Theme, w, h int) string
}

// Hints are the keys of a dialog for the line at the bottom of the screen.
func Hints(m Modal) []keys.Binding {
	if h, ok := m.(interface{ Hints() []keys.Binding }); ok {
		return h.Hints()
	}
	return []keys.Binding{hint("close", "esc")}
}

func hint(what string, names ...string) keys.Binding { return keys.Binding{Keys: names, Hint: what} }

// box frames lines in a box that is as large as they need, within w x h. Long
// lines of the body are broken; the foot always stays, whatever the size. Where
// the body does not fit its blank lines go, then it is shown from line at on.
func box(t theme.Theme, title string, body, foot []string, at, w, h int) string {
	width := layout.Width(title) + 4
	var lines []string
	for _, line := range body {
		for _, part := range layout.Wrap(line, max(1, w-4)) {
			lines, width = append(lines, part), max(width, layout.Width(part))
		}
	}
	for _, line := range foot {
		width = max(width, layout.Width(line))
	}
	note := ""
	if room := h - 2 - len(foot); len(lines) > room {
		lines = withoutBlanks(lines)
		if len(lines) > room {
			from := layout.Clamp(at, 0, len(lines)-max(0, room))
			note = fmt.Sprintf("%s%s %d of %d", t.Glyphs.Up, t.Glyphs.Down, from+max(0, room), len(lines))
			lines = lines[from : from+max(0, room)]
		}
	}
	width = max(width, layout.Width(title)+layout.Width(note)+8)
	lines = append(append([]string{}, lines...), foot...)
	return panel.Panel{Title: title, Note: note, Focused: true}.View(t, strings.Join(lines, "\n"), min(w, max(32, width+4)), min(h, len(lines)+2))
}

// brokenLines is into how many a line may have been broken, for the end of scrolling.
const brokenLines = 3

func withoutBlanks(lines []string) []string {
	var out []string
	for _, line := range lines {
		if strings.TrimSpace(line) != "" {
			out = append(out, line)
		}
	}
	return out
}

// firstFit is the first text of at most w cells, else the last one.
func firstFit(w int, texts ...string) string {
	for _, s := range texts {
		if layout.Width(s) <= w {
			return s
		}
	}
	return texts[len(texts)-1]
}
