package modal

import (
	"fmt"
	"slices"
	"strings"

	"boost-tui/tui/keys"
	"boost-tui/tui/layout"
	"boost-tui/tui/theme"
	"boost-tui/tui/widget/input"
)

// Item is a choice of a menu.
type Item struct {
	Label, Note string
	Words       string // found by these too
	Off         bool   // shown, cannot be chosen
}

// Menu asks for one of some items. Its answer is the index (int), or nil. With
// Find, typing filters.
type Menu struct {
	Title string
	Label string // what is asked, above the items
	Items []Item
	Find  bool
	At    int // the item under the cursor, among those found
	line  input.Line
}

// Update moves, filters and chooses.
func (m Menu) Update(e keys.Event) (Modal, Result) {
	shown := m.shown()
	switch e.Name {
	case "esc":
		return m, Result{Done: true}
	case "enter":
		if m.At < len(shown) && !m.Items[shown[m.At]].Off {
			return m, Result{true, shown[m.At]}
		}
		return m, Result{}
	case "up", "ctrl+p", "shift+tab":
		m.At = max(0, m.At-1)
		return m, Result{}
	case "down", "ctrl+n", "tab":
		m.At = min(max(0, len(shown)-1), m.At+1)
		return m, Result{}
	}
	if m.Find {
		m.line, _, _ = m.line.Update(e)
		m.At = 0
		return m, Result{}
	}
	if delta, ok := keys.Motion(e, 10); ok {
		m.At = layout.Clamp(m.At+delta, 0, max(0, len(shown)-1))
	} else if e.Name == "q" {
		return m, Result{Done: true}
	}
	return m, Result{}
}

// shown lists the items that contain every typed word; one that is called
// exactly so comes first.
func (m Menu) shown() []int {
	words := strings.Fields(strings.ToLower(m.line.Text()))
	var out []int
	for i, item := range m.Items {
		text, all := strings.ToLower(item.Label+" "+item.Note+" "+item.Words), true
		for _, w := range words {
			all = all && strings.Contains(text, w)
		}
		switch {
		case all && len(words) > 0 && strings.EqualFold(item.Label, strings.Join(words, " ")):
			out = slices.Insert(out, 0, i)
		case all:
			out = append(out, i)
		}
	}
	return out
}

// Hints are the dialog's keys.
func (m Menu) Hints() []keys.Binding {
	out := []keys.Binding{hint("choose", "enter"), hint("close", "esc"), hint("move", "up", "down")}
	if m.Find {
		out = append(out, keys.Binding{Keys: []string{"letters"}, Hint: "find"})
	}
	return out
}

// noteLines bounds how many lines tell the note of the item under the cursor
// where the item's own line has no room for it.
const noteLines = 3

// View draws the items around the chosen one.
func (m Menu) View(t theme.Theme, w, h int) string {
	shown := m.shown()
	var head []string
	if m.Label != "" {
		head = layout.Wrap(m.Label, max(1, w-4))
	}
	if m.Find {
		head = append(head, ":"+m.line.View(t, max(1, min(60, w-7))))
	}
	width := 0
	for _, item := range m.Items {
		width = max(width, layout.Width(item.Label))
	}
	note := m.longNote(shown, width, w, h)
	room := max(1, min(h-3-len(head)-len(note), 20))
	first := layout.Clamp(m.At-room/2, 0, max(0, len(shown)-room))
	lines := head
	for i := first; i < min(len(shown), first+room); i++ {
		item := m.Items[shown[i]]
		text := layout.Cut(layout.Pad(item.Label, width)+"  "+item.Note, w-6, t.Glyphs.Ellipsis)
		switch {
		case i == m.At:
			text = t.Selected.Paint(t.Glyphs.Cursor + " " + text)
		case item.Off:
			text = t.Dim.Paint("  " + text)
		default:
			text = "  " + text
		}
		lines = append(lines, text)
	}
	if len(shown) == 0 {
		lines = append(lines, t.Dim.Paint("nothing matches"))
	}
	for _, part := range note {
		lines = append(lines, t.Dim.Paint(part))
	}
	foot := "enter choose   esc close"
	if len(shown) > room {
		foot += fmt.Sprintf("   %d of %d", m.At+1, len(shown))
	}
	return box(t, m.Title, nil, append(lines, t.Dim.Paint(foot)), 0, w, h)
}

// longNote is the note under the cursor, broken, where its line is too short.
func (m Menu) longNote(shown []int, width, w, h int) []string {
	if m.At >= len(shown) || h < 10 {
		return nil
	}
	note := m.Items[shown[m.At]].Note
	if width+2+layout.Width(note) <= w-6 {
		return nil
	}
	parts := layout.Wrap(note, max(1, w-4))
	return parts[:min(len(parts), noteLines)]
}
