package form

import (
	"strings"

	"boost-tui/tui/layout"
	"boost-tui/tui/theme"
)

// picker draws the options around the value, as many as there is room for; an ellipsis stands for those left out.
func picker(t theme.Theme, field Field, focused bool, room int) string {
	options, at := field.choices()
	texts, styles := make([]string, len(options)), make([]theme.Style, len(options))
	for i, o := range options {
		texts[i] = o.Value
		if o.Blocked != "" {
			texts[i], styles[i] = t.Glyphs.Blocked+o.Value, t.Blocked
		}
		if i == at {
			texts[i], styles[i] = t.Glyphs.Cursor+texts[i], t.Accent
			if focused {
				styles[i] = t.Selected
			}
		}
	}
	var b strings.Builder
	b.WriteString(t.Dim.Paint(t.Glyphs.Left) + " ")
	hidden := false
	for i, show := range visible(options, texts, at, room-layout.Width(t.Glyphs.Left+t.Glyphs.Right)-1) {
		if show {
			b.WriteString(styles[i].Paint(texts[i]) + " ")
		} else if !hidden {
			b.WriteString(t.Dim.Paint(t.Glyphs.Ellipsis) + " ")
		}
		hidden = !show
	}
	b.WriteString(t.Dim.Paint(t.Glyphs.Right))
	return b.String()
}

// visible says which options are drawn in room cells: the value always, then the nearest one at each side that works,
// then the others by their distance.
func visible(options []Option, texts []string, at, room int) []bool {
	show := make([]bool, len(options))
	show[at] = true
	try := func(i int) bool {
		if i < 0 || i >= len(show) || show[i] {
			return true
		}
		show[i] = true
		if cells(show, texts) > room {
			show[i] = false
		}
		return show[i]
	}
	for _, way := range []int{1, -1} {
		for i := at + way; i >= 0 && i < len(options); i += way {
			if options[i].Blocked == "" {
				try(i)
				break
			}
		}
	}
	right, left := true, true
	for d := 1; d < len(options) && (left || right); d++ {
		right = right && try(at+d)
		left = left && try(at-d)
	}
	return show
}

// cells is the width of the shown texts and of a mark for each gap, with a blank behind each.
func cells(show []bool, texts []string) int {
	n, hidden := 0, false
	for i, s := range show {
		if s {
			n += layout.Width(texts[i]) + 1
		} else if !hidden {
			n += 2
		}
		hidden = !s
	}
	return n
}
