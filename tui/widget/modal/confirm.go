package modal

import (
	"strings"

	"boost-tui/tui/keys"
	"boost-tui/tui/layout"
	"boost-tui/tui/theme"
)

// Alternative is the answer of a Confirm whose Alt was chosen.
const Alternative = "alternative"

// maxConfirm is the width of a question at most: longer lines are hard to read.
const maxConfirm = 92

// Confirm asks a question whose default is No. Its answer is true, Alternative,
// or nil.
type Confirm struct {
	Title string
	Lines []string // what will happen, naming the run
	Yes   string   // label of the dangerous choice: "cancel the run"
	Alt   string   // label of another way, "wait for #a1"; "" for none. Its key is w
	at    int      // 0: no, 1: yes, 2: the other way
	line  int      // first one shown
}

// Update handles y, n, w, left, right, tab, enter, esc, and scrolls.
func (c Confirm) Update(e keys.Event) (Modal, Result) {
	n := 2
	if c.Alt != "" {
		n = 3
	}
	switch e.Name {
	case "y", "Y":
		return c, Result{true, true}
	case "w":
		if c.Alt != "" {
			return c, Result{true, Alternative}
		}
	case "n", "N", "esc", "q":
		return c, Result{Done: true}
	case "right", "tab", "l":
		c.at = (c.at + 1) % n
	case "left", "shift+tab", "h":
		c.at = (c.at + n - 1) % n
	case "up", "k":
		c.line = max(0, c.line-1)
	case "down", "j":
		c.line = min(c.line+1, brokenLines*len(c.Lines))
	case "enter":
		return c, Result{true, []any{nil, true, Alternative}[c.at]}
	}
	return c, Result{}
}

// Hints are the dialog's keys.
func (c Confirm) Hints() []keys.Binding {
	out := []keys.Binding{hint("yes, "+c.Yes, "y"), hint("no", "n", "esc")}
	if c.Alt != "" {
		out = append(out, hint(c.Alt, "w"))
	}
	return append(out, hint("other choice", "tab"), hint("take [ ]", "enter"))
}

// View draws the question with its choices and the dialog's keys, both at any
// size.
func (c Confirm) View(t theme.Theme, w, h int) string {
	w = min(w, maxConfirm)
	names := []string{"No", "Yes, " + c.Yes}
	help := []string{"y yes   n or esc no   tab other choice   enter takes [ ]", "y yes  n no  tab other  enter takes [ ]", "y yes  n no  tab other"}
	if c.Alt != "" {
		names = append(names, c.Alt)
		word, _, _ := strings.Cut(c.Alt, " ")
		help = []string{"y yes   w " + c.Alt + "   n or esc no   enter takes [ ]", "y yes  w " + word + "  n no  tab other", "y yes  w " + word + "  n no"}
	}
	iw := max(1, w-4)
	rows := []string{""}
	for i, name := range names {
		name = " " + layout.Cut(name, iw-4, t.Glyphs.Ellipsis) + " "
		if i == c.at {
			name = t.Selected.Paint("[" + name + "]")
		} else {
			name = " " + name + " "
		}
		if last := rows[len(rows)-1]; last != "" && layout.Width(last)+2+layout.Width(name) > iw {
			rows = append(rows, name)
		} else {
			rows[len(rows)-1] = strings.TrimPrefix(last+"  "+name, "  ")
		}
	}
	foot := append(rows, t.Dim.Paint(firstFit(iw, help...)))
	if h >= len(c.Lines)+len(rows)+5 {
		foot = append(append([]string{""}, rows...), "", foot[len(foot)-1])
	}
	return box(t, c.Title, c.Lines, foot, c.line, w, h)
}
