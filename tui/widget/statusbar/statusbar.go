// Package statusbar draws the three lines around every screen: tabs at the
// top, status and hints at the bottom.
package statusbar

import (
	"slices"
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

// labels are the tabs' texts, all of one form: whole titles, or numbers alone
// but for the active one where w cells are too few.
func labels(tabs []Tab, active, w int) []string {
	out := make([]string, len(tabs))
	for _, short := range []bool{false, true} {
		sum := 0
		for i, tab := range tabs {
			label := tab.Key
			if !short || i == active {
				label += " " + tab.Title
			}
			switch {
			case i == active:
				out[i] = "[" + label + "]"
			case tab.Off:
				out[i] = "(" + label + ")"
			default:
				out[i] = " " + label + " "
			}
			sum += layout.Width(out[i])
		}
		if sum <= w {
			break
		}
	}
	return out
}

// Tabs draws the tab line: the active one in brackets and later ones in
// parentheses, so that they are told apart without colours; right stands at
// the other end.
func Tabs(t theme.Theme, tabs []Tab, active int, right string, w int) string {
	var b strings.Builder
	for i, label := range labels(tabs, active, w-layout.Width(right)) {
		switch {
		case i == active:
			b.WriteString(t.Tab.Paint(label))
		case tabs[i].Off:
			b.WriteString(t.Dim.Paint(label))
		default:
			b.WriteString(label)
		}
	}
	return layout.Spread(b.String(), t.Dim.Paint(right), w)
}

// TabAt is the key of the tab that Tabs draws at column x with w cells for the
// tabs, "" for none.
func TabAt(tabs []Tab, active, w, x int) string {
	at := 0
	for i, label := range labels(tabs, active, w) {
		if n := layout.Width(label); x >= at && x < at+n {
			return tabs[i].Key
		} else {
			at += n
		}
	}
	return ""
}

// kept are the keys whose hints stay whatever else has to go: how to learn
// more, and how to leave.
var kept = []string{"?", "q"}

// Hints draws the bindings that have a hint, the most important ones first; of
// those that do not fit whole, the last go first. The kept ones stay, at the
// end of the line.
func Hints(t theme.Theme, bindings []keys.Binding, w int) string {
	var rest, last []keys.Binding
	room := w - 1
	for _, k := range bindings {
		switch {
		case k.Hint == "":
		case len(k.Keys) > 0 && slices.Contains(kept, k.Keys[0]):
			last = append(last, k)
			room -= hintWidth(k)
		default:
			rest = append(rest, k)
		}
	}
	var b strings.Builder
	write := func(k keys.Binding) {
		if b.Len() > 0 {
			b.WriteByte(' ')
		}
		b.WriteString(" " + t.Strong.Paint(k.HintLabel()) + " " + t.Dim.Paint(k.Hint))
	}
	for _, k := range rest {
		if room -= hintWidth(k); room < 0 {
			break
		}
		write(k)
	}
	for _, k := range last {
		write(k)
	}
	return layout.Pad(b.String(), w)
}

// hintWidth is the room of a hint with the two blanks before it.
func hintWidth(k keys.Binding) int {
	return 2 + layout.Width(k.HintLabel()) + 1 + layout.Width(k.Hint)
}
