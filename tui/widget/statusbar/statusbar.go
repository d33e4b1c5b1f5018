// Package statusbar draws the three lines around every screen: tabs at the
// top, status and hints at the bottom.
package statusbar

import (
	"strings"

	"boost-tui/tui/keys"
	"boost-tui/tui/layout"
	"boost-tui/tui/theme"
)

// Tab is a screen's place in the first line.
type Tab struct {
	Key, Title string
	Off        bool // not in this version
}

// Tabs draws the tab line: the active one in brackets, so that it is told
// apart without colours, and right at the other end.
func Tabs(t theme.Theme, tabs []Tab, active int, right string, w int) string {
	var b strings.Builder
	for _, short := range []bool{false, true} {
		b.Reset()
		for i, tab := range tabs {
			label := tab.Key + " " + tab.Title
			if short {
				label = tab.Key
				if i == active {
					label = tab.Key + " " + tab.Title
				}
			}
			switch {
			case i == active:
				b.WriteString(t.Tab.Paint("[" + label + "]"))
			case tab.Off:
				b.WriteString(t.Dim.Paint("(" + label + ")"))
			default:
				b.WriteString(" " + label + " ")
			}
		}
		if layout.Width(b.String()) <= w {
			break
		}
	}
	return layout.Spread(b.String(), t.Dim.Paint(right), w)
}

// Hints draws the bindings that have a hint, as many as fit whole; the last
// ones go first.
func Hints(t theme.Theme, bindings []keys.Binding, w int) string {
	var b strings.Builder
	used := 0
	for _, k := range bindings {
		if k.Hint == "" {
			continue
		}
		label := k.Label()
		n := layout.Width(label) + 1 + layout.Width(k.Hint)
		if used > 0 {
			n += 2
		}
		if used+n > w-1 {
			break
		}
		if used > 0 {
			b.WriteString("  ")
		} else {
			b.WriteByte(' ')
		}
		used += n
		b.WriteString(t.Strong.Paint(label) + " " + t.Dim.Paint(k.Hint))
	}
	return layout.Pad(b.String(), w)
}
