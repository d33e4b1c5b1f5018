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
	width    int // of a line when it was last drawn
}

// maxWidth is that of the overlay at most: longer lines are hard to read.
const maxWidth = 84

// New opens the overlay over the bindings.
func New(bindings []keys.Binding, readOnly bool) Help {
	return Help{bindings: bindings, readOnly: readOnly, page: 10, width: maxWidth - 4}
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
		h.offset = layout.Clamp(h.offset+delta, 0, max(0, len(h.lines(theme.Theme{}, h.width))-h.page))
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
func (h *Help) View(t theme.Theme, w, height int) string {
	bw, bh := min(w, maxWidth), min(height, 32)
	iw, ih := panel.Inner(bw, bh)
	h.width, h.page = iw, max(1, ih-1)
	lines := h.lines(t, iw)
	body := min(max(0, ih-1), len(lines))
	offset := layout.Clamp(h.offset, 0, len(lines)-body)
	shown := append([]string{}, lines[offset:offset+body]...)
	for len(shown) < ih-1 {
		shown = append(shown, "")
	}
	foot := "/ filter   esc close   shift+drag selects text with the mouse"
	if layout.Width(foot) > iw {
		foot = "/ filter   esc close"
	}
	foot = t.Dim.Paint(foot)
	if h.typing {
		foot = "/" + h.filter.View(t, iw-1)
	}
	p := panel.Panel{Title: "Keys", Focused: true, Note: h.filter.Text()}
	return p.View(t, layout.Stack(strings.Join(shown, "\n"), foot), bw, bh)
}

func (h Help) lines(t theme.Theme, w int) []string {
	want := strings.ToLower(h.filter.Text())
	var groups []string // in the order of their first bindings
	of := map[string][]string{}
	for _, b := range h.bindings {
		if b.Help == "" || !strings.Contains(strings.ToLower(b.Label()+" "+b.Help+" "+b.Group), want) {
			continue
		}
		if of[b.Group] == nil {
			groups = append(groups, b.Group)
		}
		of[b.Group] = append(of[b.Group], h.binding(t, b, w)...)
	}
	var out []string
	for i, group := range groups {
		if i > 0 {
			out = append(out, "")
		}
		out = append(append(out, t.Title.Paint(group)), of[group]...)
	}
	if len(out) == 0 {
		out = append(out, t.Dim.Paint("no key matches"))
	}
	return out
}

// keyWidth is the room for the keys before what they do.
const keyWidth = 14

// binding writes one of them; what it does is broken, never cut.
func (h Help) binding(t theme.Theme, b keys.Binding, w int) []string {
	text, style := b.Help, theme.Style{}
	if b.Off(h.readOnly) {
		text, style = text+" (off: read-only)", t.Dim
	}
	lead := "  " + layout.Pad(b.Label(), keyWidth) + " "
	var out []string
	for _, part := range layout.Wrap(text, max(10, w-layout.Width(lead))) {
		out = append(out, style.Paint(lead+part))
		lead = strings.Repeat(" ", layout.Width(lead))
	}
	return out
}
