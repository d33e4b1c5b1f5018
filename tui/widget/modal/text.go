package modal

import (
	"boost-tui/tui/keys"
	"boost-tui/tui/layout"
	"boost-tui/tui/theme"
)

// Text shows lines to read; any of esc, enter, q closes it.
type Text struct {
	Title string
	Lines []string
	at    int
}

// Update scrolls or closes.
func (x Text) Update(e keys.Event) (Modal, Result) {
	if delta, ok := keys.Motion(e, 10); ok {
		x.at = layout.Clamp(x.at+delta, 0, max(0, brokenLines*len(x.Lines)-1))
		return x, Result{}
	}
	switch e.Name {
	case "esc", "enter", "q", "space":
		return x, Result{Done: true}
	}
	return x, Result{}
}

// Hints are the dialog's keys.
func (x Text) Hints() []keys.Binding {
	return []keys.Binding{hint("close", "esc"), hint("scroll", "up", "down")}
}

// View draws the lines from the scroll position on.
func (x Text) View(t theme.Theme, w, h int) string {
	return box(t, x.Title, x.Lines, []string{t.Dim.Paint(firstFit(w-4, "esc close   arrows scroll", "esc close"))}, x.at, w, h)
}
