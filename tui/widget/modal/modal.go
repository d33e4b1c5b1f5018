// Package modal holds the dialogs: confirm, prompt, menu, text. They are pure:
// events go in, an answer comes out when the dialog is done.
package modal

import (
	"strings"

	"boost-tui/tui/keys"
	"boost-tui/tui/layout"
	"boost-tui/tui/theme"
	"boost-tui/tui/widget/input"
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

// Confirm asks a question whose default is No. Its answer is true, or nil.
type Confirm struct {
	Title string
	Lines []string // what will happen, naming the run
	Yes   string   // label of the dangerous choice: "cancel the run"
	yes   bool
}

// Update handles y, n, left, right, tab, enter and esc.
func (c Confirm) Update(e keys.Event) (Modal, Result) {
	switch e.Name {
	case "y", "Y":
		return c, Result{true, true}
	case "n", "N", "esc", "q":
		return c, Result{Done: true}
	case "left", "right", "tab", "shift+tab", "h", "l":
		c.yes = !c.yes
	case "enter":
		if c.yes {
			return c, Result{true, true}
		}
		return c, Result{Done: true}
	}
	return c, Result{}
}

// View draws the question with both choices and the dialog's keys.
func (c Confirm) View(t theme.Theme, w, h int) string {
	no, yes := " No ", " Yes, "+c.Yes+" "
	if c.yes {
		yes = t.Selected.Paint("[" + yes + "]")
		no = " " + no + " "
	} else {
		no = t.Selected.Paint("[" + no + "]")
		yes = " " + yes + " "
	}
	lines := append(append([]string{}, c.Lines...), "", no+"  "+yes, "", t.Dim.Paint("y yes   n or esc no   tab other choice   enter takes [ ]"))
	return Box(t, c.Title, lines, w, h)
}

// Prompt asks for a line of text. Its answer is the string, or nil.
type Prompt struct {
	Title, Label string
	Line         input.Line
	Check        func(string) error // nil: anything goes
	fault        string
}

// Update edits the line; enter answers, esc dismisses.
func (p Prompt) Update(e keys.Event) (Modal, Result) {
	switch e.Name {
	case "esc":
		return p, Result{Done: true}
	case "enter":
		if p.Check != nil {
			if err := p.Check(p.Line.Text()); err != nil {
				p.fault = layout.Clean(err.Error())
				return p, Result{}
			}
		}
		return p, Result{true, p.Line.Text()}
	}
	p.Line, _, _ = p.Line.Update(e)
	p.fault = ""
	return p, Result{}
}

// View draws the label over the line.
func (p Prompt) View(t theme.Theme, w, h int) string {
	return Box(t, p.Title, []string{p.Label, "", p.Line.View(t, min(64, w-6)), t.Bad.Paint(p.fault), t.Dim.Paint("enter accept   esc leave as it was")}, w, h)
}

// Item is a choice of a menu.
type Item struct {
	Label, Note string
	Off         bool // shown, cannot be chosen
}

// Menu asks for one of some items. Its answer is the index (int), or nil. With
// Find, typing filters.
type Menu struct {
	Title string
	Items []Item
	Find  bool
	line  input.Line
	at    int
}

// Update moves, filters and chooses.
func (m Menu) Update(e keys.Event) (Modal, Result) {
	shown := m.shown()
	switch e.Name {
	case "esc":
		return m, Result{Done: true}
	case "enter":
		if m.at < len(shown) && !m.Items[shown[m.at]].Off {
			return m, Result{true, shown[m.at]}
		}
		return m, Result{}
	case "up", "ctrl+p", "shift+tab":
		m.at = max(0, m.at-1)
		return m, Result{}
	case "down", "ctrl+n", "tab":
		m.at = min(max(0, len(shown)-1), m.at+1)
		return m, Result{}
	}
	if m.Find {
		m.line, _, _ = m.line.Update(e)
		m.at = 0
		return m, Result{}
	}
	if delta, ok := keys.Motion(e, 10); ok {
		m.at = layout.Clamp(m.at+delta, 0, max(0, len(shown)-1))
	} else if e.Name == "q" {
		return m, Result{Done: true}
	}
	return m, Result{}
}

// shown lists the items that contain every typed word.
func (m Menu) shown() []int {
	words := strings.Fields(strings.ToLower(m.line.Text()))
	var out []int
	for i, item := range m.Items {
		text, all := strings.ToLower(item.Label+" "+item.Note), true
		for _, w := range words {
			all = all && strings.Contains(text, w)
		}
		if all {
			out = append(out, i)
		}
	}
	return out
}

// View draws the items around the chosen one.
func (m Menu) View(t theme.Theme, w, h int) string {
	shown := m.shown()
	room := max(1, min(h-6, 20))
	first := layout.Clamp(m.at-room/2, 0, max(0, len(shown)-room))
	width := 0
	for _, item := range m.Items {
		width = max(width, layout.Width(item.Label))
	}
	var lines []string
	if m.Find {
		lines = append(lines, ":"+m.line.View(t, min(60, w-7)), "")
	}
	for i := first; i < min(len(shown), first+room); i++ {
		item := m.Items[shown[i]]
		text := layout.Pad(item.Label, width) + "  " + item.Note
		switch {
		case i == m.at:
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
	lines = append(lines, t.Dim.Paint("enter choose   esc close"))
	return Box(t, m.Title, lines, w, h)
}

// Text shows lines to read; any of esc, enter, q closes it.
type Text struct {
	Title string
	Lines []string
	at    int
}

// Update scrolls or closes.
func (x Text) Update(e keys.Event) (Modal, Result) {
	if delta, ok := keys.Motion(e, 10); ok {
		x.at = layout.Clamp(x.at+delta, 0, max(0, len(x.Lines)-1))
		return x, Result{}
	}
	switch e.Name {
	case "esc", "enter", "q", "space":
		return x, Result{Done: true}
	}
	return x, Result{}
}

// View draws the lines from the scroll position on.
func (x Text) View(t theme.Theme, w, h int) string {
	room := max(1, h-4)
	first := layout.Clamp(x.at, 0, max(0, len(x.Lines)-room))
	lines := append([]string{}, x.Lines[first:min(len(x.Lines), first+room)]...)
	return Box(t, x.Title, append(lines, t.Dim.Paint("esc close")), w, h)
}

// Box frames lines in a box that is as large as they need, within w x h.
func Box(t theme.Theme, title string, lines []string, w, h int) string {
	width := layout.Width(title) + 4
	for _, line := range lines {
		width = max(width, layout.Width(line))
	}
	return panel.Panel{Title: title, Focused: true}.View(t, strings.Join(lines, "\n"), min(w, max(32, width+4)), min(h, len(lines)+2))
}
