// Package help is the overlay that lists every binding. It is generated from
// the tables that dispatch, and a few typed letters filter it.
package help

import (
	"strings"

	"boost-tui/tui/keys"
	"boost-tui/tui/layout"
	"boost-tui/tui/theme"
	"boost-tui/tui/widget/input"
	"boost-tui/tui/widget/panel"
)

// Help is the state of an open overlay.
type Help struct {
	bindings []keys.Binding
	readOnly bool
	filter   input.Line
	typing   bool
	offset   int
	page     int
}

// New opens the overlay over the bindings.
func New(bindings []keys.Binding, readOnly bool) Help {
	return Help{bindings: bindings, readOnly: readOnly, page: 10}
}

// Update handles a key; closed is true when the overlay is done.
func (h Help) Update(e keys.Event) (out Help, closed bool) {
	if h.typing {
		switch e.Name {
		case "esc":
			h.typing, h.filter, h.offset = false, input.New(""), 0
		case "enter":
			h.typing = false
		default:
			h.filter, _, _ = h.filter.Update(e)
			h.offset = 0
		}
		return h, false
	}
	if delta, ok := keys.Motion(e, h.page); ok {
		h.offset = layout.Clamp(h.offset+delta, 0, max(0, len(h.lines(theme.Theme{}, 80))-1))
		return h, false
	}
	switch e.Name {
	case "/":
		h.typing = true
	case "esc", "q", "?", "enter":
		return h, true
	}
	return h, false
}

// Hints are the overlay's own keys.
func (h Help) Hints() []keys.Binding {
	if h.typing {
		return []keys.Binding{{Keys: []string{"enter"}, Hint: "keep"}, {Keys: []string{"esc"}, Hint: "show all"}}
	}
	return []keys.Binding{{Keys: []string{"esc"}, Hint: "close"}, {Keys: []string{"/"}, Hint: "filter"}, {Keys: []string{"up", "down"}, Hint: "scroll"}}
}

// View draws the overlay for a screen of w x h cells.
func (h Help) View(t theme.Theme, w, height int) string {
	bw, bh := min(w, 84), min(height, 32)
	iw, ih := panel.Inner(bw, bh)
	lines := h.lines(t, iw)
	body := min(max(0, ih-1), len(lines))
	offset := layout.Clamp(h.offset, 0, len(lines)-body)
	shown := append([]string{}, lines[offset:offset+body]...)
	for len(shown) < ih-1 {
		shown = append(shown, "")
	}
	foot := t.Dim.Paint("/ filter   esc close   shift+drag selects text with the mouse")
	if h.typing {
		foot = "/" + h.filter.View(t, iw-1)
	}
	p := panel.Panel{Title: "Keys", Focused: true, Note: h.filter.Text()}
	return p.View(t, layout.Stack(strings.Join(shown, "\n"), foot), bw, bh)
}

func (h Help) lines(t theme.Theme, w int) []string {
	want := strings.ToLower(h.filter.Text())
	var out []string
	group := ""
	for _, b := range h.bindings {
		if b.Help == "" || !strings.Contains(strings.ToLower(b.Label()+" "+b.Help+" "+b.Group), want) {
			continue
		}
		if b.Group != group {
			group = b.Group
			if len(out) > 0 {
				out = append(out, "")
			}
			out = append(out, t.Title.Paint(group))
		}
		text := "  " + layout.Pad(b.Label(), 14) + " " + b.Help
		if b.Off(h.readOnly) {
			text = t.Dim.Paint(text + " (off: read-only)")
		}
		out = append(out, layout.Cut(text, w, t.Glyphs.Ellipsis))
	}
	if len(out) == 0 {
		out = append(out, t.Dim.Paint("no key matches"))
	}
	return out
}
