// Package input edits one line of text. It is pure: events go in, a view comes
// out.
package input

import (
	"strings"

	"boost-tui/tui/keys"
	"boost-tui/tui/layout"
	"boost-tui/tui/theme"
)

// Max is the longest text a line takes, in runes.
const Max = 4096

// Line is an editable line. The zero value is an empty one.
type Line struct {
	text  []rune
	at    int
	whole bool // all of it is selected: what is typed takes its place
}

// New makes a line that holds text with all of it selected: what is typed first
// takes its place, and a key that moves or deletes edits it from its end.
func New(text string) Line {
	r := []rune(layout.Clean(text))
	if len(r) > Max {
		r = r[:Max]
	}
	return Line{r, len(r), len(r) > 0}
}

// Selected reports whether what is typed next takes the place of the text.
func (l Line) Selected() bool { return l.whole }

// Text is what the line holds.
func (l Line) Text() string { return string(l.text) }

// Update edits the line. changed tells whether the text is another now; used
// is false for keys that a line has no use for (enter, esc, tab, up, down, …).
func (l Line) Update(e keys.Event) (out Line, changed, used bool) {
	if out, changed, used = l.edited(e); used {
		out.whole = false
	}
	return out, changed, used
}

func (l Line) edited(e keys.Event) (out Line, changed, used bool) {
	switch e.Name {
	case "left", "ctrl+b":
		l.at = max(0, l.at-1)
		return l, false, true
	case "right", "ctrl+f":
		l.at = min(len(l.text), l.at+1)
		return l, false, true
	case "home", "ctrl+a":
		l.at = 0
		return l, false, true
	case "end", "ctrl+e":
		l.at = len(l.text)
		return l, false, true
	case "backspace", "ctrl+h":
		return l.remove(l.at-1, l.at)
	case "delete":
		return l.remove(l.at, l.at+1)
	case "ctrl+u":
		return l.remove(0, l.at)
	case "ctrl+k":
		return l.remove(l.at, len(l.text))
	case "ctrl+w":
		return l.remove(l.wordStart(), l.at)
	}
	if e.Text == "" {
		return l, false, false
	}
	insert := []rune(layout.Clean(e.Text))
	if len(insert) > 0 && l.whole {
		l.text, l.at = nil, 0
	}
	insert = insert[:min(len(insert), Max-len(l.text))]
	if len(insert) == 0 {
		return l, false, true
	}
	text := make([]rune, 0, len(l.text)+len(insert))
	text = append(append(append(text, l.text[:l.at]...), insert...), l.text[l.at:]...)
	return Line{text: text, at: l.at + len(insert)}, true, true
}

func (l Line) remove(from, to int) (Line, bool, bool) {
	from, to = max(0, from), min(to, len(l.text))
	if from >= to {
		return l, false, true
	}
	text := append(append(make([]rune, 0, len(l.text)), l.text[:from]...), l.text[to:]...)
	return Line{text: text, at: from}, true, true
}

func (l Line) wordStart() int {
	i := l.at
	for i > 0 && l.text[i-1] == ' ' {
		i--
	}
	for i > 0 && l.text[i-1] != ' ' {
		i--
	}
	return i
}

// View draws the line in w cells with its cursor, scrolled so that the cursor
// is visible. Selected text is in reverse video, or in marks where there is none.
func (l Line) View(t theme.Theme, w int) string {
	if w <= 0 {
		return ""
	}
	if l.whole {
		return l.selected(t, w)
	}
	before, under, after := string(l.text[:l.at]), " ", ""
	if l.at < len(l.text) {
		under, after = string(l.text[l.at]), string(l.text[l.at+1:])
	}
	for layout.Width(before)+layout.Width(under) > w && before != "" {
		_, before, _ = cutRune(before)
	}
	mark := t.Selected.Paint(under)
	switch {
	case mark == under && under == " ":
		mark = t.Glyphs.Caret
	case mark == under: // no reverse video: the caret stands before the character
		mark = t.Glyphs.Caret + under
	}
	return layout.Pad(before+mark+after, w)
}

func (l Line) selected(t theme.Theme, w int) string {
	open, end := "", ""
	if t.Selected.Paint("x") == "x" {
		open, end = t.Glyphs.Left, t.Glyphs.Right
	}
	text := string(l.text)
	for room := w - layout.Width(open+end+t.Glyphs.Caret); layout.Width(text) > room && text != ""; {
		_, text, _ = cutRune(text)
	}
	return layout.Pad(open+t.Selected.Paint(text)+end+t.Glyphs.Caret, w)
}

func cutRune(s string) (first, rest string, ok bool) {
	for i := range s {
		if i > 0 {
			return s[:i], s[i:], true
		}
	}
	return s, "", strings.TrimSpace(s) != ""
}
