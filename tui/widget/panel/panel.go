// Package panel draws the frame around a pane.
package panel

import (
	"strings"

	"boost-tui/tui/layout"
	"boost-tui/tui/theme"
)

// Panel is a frame with a title at its left and a note at its right.
type Panel struct {
	Title, Note string
	Focused     bool
}

// Inner is the room inside a frame of w x h cells: one column of blank at
// either side.
func Inner(w, h int) (int, int) { return max(0, w-4), max(0, h-2) }

// View draws body inside a frame of exactly w x h cells; that of the focused
// pane has lines of another form, seen without colours too. A frame that is too
// small for its border shows the body alone.
func (p Panel) View(t theme.Theme, body string, w, h int) string {
	if w < 5 || h < 3 {
		return layout.Fit(body, w, h)
	}
	g, border := t.Glyphs, t.Border
	if p.Focused {
		border = t.BorderFocus
	}
	iw, ih := Inner(w, h)
	frame := g.Frame(p.Focused)
	side := border.Paint(frame.V)
	var b strings.Builder
	b.WriteString(p.top(t, border, w))
	lines := strings.Split(layout.Fit(body, iw, ih), "\n")
	whole := strings.Split(body, "\n")
	for i, line := range lines {
		if i < len(whole) && layout.Width(whole[i]) > iw {
			line = layout.Pad(layout.Cut(whole[i], iw, g.Ellipsis), iw)
		}
		b.WriteByte('\n')
		b.WriteString(side + " " + line + " " + side)
	}
	b.WriteByte('\n')
	b.WriteString(border.Paint(frame.BottomLeft + strings.Repeat(frame.H, w-2) + frame.BottomRight))
	return b.String()
}

func (p Panel) top(t theme.Theme, border theme.Style, w int) string {
	g, frame := t.Glyphs, t.Glyphs.Frame(p.Focused)
	room := w - 2
	title, note := "", ""
	if p.Title != "" && room > 4 {
		title = " " + layout.Cut(p.Title, room-4, g.Ellipsis) + " "
	}
	rest := room - 1 - layout.Width(title)
	if p.Note != "" && rest > layout.Width(p.Note)+4 {
		note = " " + p.Note + " "
	}
	style := t.Title
	if p.Focused {
		style = t.Accent
	}
	line := max(0, rest-layout.Width(note)-1)
	end := frame.TopRight
	if rest >= 1 {
		end = frame.H + frame.TopRight
	}
	return border.Paint(frame.TopLeft+frame.H) + style.Paint(title) + border.Paint(strings.Repeat(frame.H, line)) + t.Dim.Paint(note) + border.Paint(end)
}
