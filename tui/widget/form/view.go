package form

import (
	"strconv"
	"strings"

	"boost-tui/tui/layout"
	"boost-tui/tui/theme"
)

// View draws the fields in exactly w x h cells and keeps the cursor visible.
// With little width a picker shows its value only.
func (f *Form) View(t theme.Theme, w, h int, focused bool) string {
	if w <= 0 || h <= 0 {
		return ""
	}
	label := 8
	for _, field := range f.fields {
		label = max(label, layout.Width(field.Label))
	}
	label = min(label, max(6, w/3))
	var lines []string
	at := 0
	for i, field := range f.fields {
		if field.Rule {
			lines = append(lines, t.Border.Paint(strings.Repeat(t.Glyphs.H, w)))
		}
		if i == f.at {
			at = len(lines)
		}
		lines = append(lines, f.row(t, field, i == f.at, focused, label, w))
	}
	f.height = h
	room := h
	if len(lines) > h {
		room = h - 1 // the last row says how much is below or above
	}
	f.offset = layout.Clamp(f.offset, at-room+1, at)
	f.offset = layout.Clamp(f.offset, 0, max(0, len(lines)-room))
	shown := append([]string{}, lines[f.offset:min(len(lines), f.offset+room)]...)
	if len(lines) > h && h > 1 {
		shown = append(shown, t.Dim.Paint(more(t, f.offset, len(lines)-f.offset-room)))
	}
	return layout.Fit(strings.Join(shown, "\n"), w, h)
}

func more(t theme.Theme, above, below int) string {
	var parts []string
	if above > 0 {
		parts = append(parts, t.Glyphs.Up+" "+strconv.Itoa(above)+" above")
	}
	if below > 0 {
		parts = append(parts, t.Glyphs.Down+" "+strconv.Itoa(below)+" more")
	}
	return strings.Join(parts, "  ")
}

func (f *Form) row(t theme.Theme, field Field, at, focused bool, label, w int) string {
	lead, name := " ", layout.Pad(field.Label, label)
	if at {
		lead = t.Glyphs.Cursor
		name = t.Accent.Paint(name)
		if focused {
			lead = t.Accent.Paint(lead)
		}
	}
	room := w - label - 3
	var value string
	switch {
	case at && f.typing:
		value = "[" + f.line.View(t, layout.Clamp(room-2, 1, 40)) + "]"
	case len(field.Options) > 0:
		value = picker(t, field, at && focused, optionRoom(field, at, room))
	default:
		value = field.Value
		if value == "" {
			value = t.Dim.Paint(t.Glyphs.Dash)
		}
	}
	note, style := field.Note, t.Dim
	if field.Problem != "" {
		note, style = t.Glyphs.Cross+" "+field.Problem, t.Bad
	} else if at {
		if why := blockedOf(field); why != "" {
			note, style = t.Glyphs.Cross+" "+why, t.Bad
		}
	}
	if left := room - layout.Width(value) - 2; note != "" && left >= 10 {
		value += "  " + style.Paint(layout.Cut(note, left, t.Glyphs.Ellipsis))
	} else if field.Problem != "" {
		value = t.Bad.Paint(t.Glyphs.Cross) + " " + value
	}
	return layout.Cut(lead+name+"  "+value, w, t.Glyphs.Ellipsis)
}

// optionRoom is the width for a picker: a reason why its value does not work is
// worth some of it, other notes get what is left.
func optionRoom(field Field, at bool, room int) int {
	if field.Problem == "" && (!at || blockedOf(field) == "") {
		return room
	}
	return max(min(room, 16), room*3/5)
}

func blockedOf(field Field) string {
	for _, o := range field.Options {
		if o.Value == field.Value {
			return o.Blocked
		}
	}
	return ""
}
