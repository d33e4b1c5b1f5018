// Package logview shows the end of a log: it follows, scrolls back, searches
// and can show lines of errors only. Only the visible lines are ever painted.
package logview

import (
	"fmt"
	"strings"

	"boost-tui/tui/format"
	"boost-tui/tui/keys"
	"boost-tui/tui/layout"
	"boost-tui/tui/theme"
	"boost-tui/tui/widget/input"
)

// Limit is the number of lines a view keeps; older ones are dropped.
const Limit = 5000

// View is the state. The zero value is an empty view that follows.
type View struct {
	lines   []string // cleaned
	dropped int      // lines that left at the front
	up      int      // lines scrolled up from the end; 0 follows
	search  string
	match   int // 1 + number of the line that the search stands at, dropped ones counted; 0: none
	errors  bool
	wrap    bool
	height  int
}

// Append adds lines of untrusted text.
func (v *View) Append(lines ...string) {
	for _, line := range lines {
		v.lines = append(v.lines, layout.Clean(line))
	}
	if v.up > 0 || v.match > 0 {
		v.up += len(v.matching(len(v.lines) - len(lines)))
	}
	if n := len(v.lines) - Limit; n > 0 {
		v.lines = append(v.lines[:0:0], v.lines[n:]...)
		v.dropped += n
	}
}

// Drop notes n lines that the source left out.
func (v *View) Drop(n int) { v.dropped += n }

// Reset empties the view for another log; search and filter stay.
func (v *View) Reset() { v.lines, v.dropped, v.up, v.match = nil, 0, 0, 0 }

// Len is the number of lines seen so far, dropped ones included.
func (v *View) Len() int { return v.dropped + len(v.lines) }

// Following reports whether the view stays at the end.
func (v *View) Following() bool { return v.up == 0 && v.match == 0 }

// Page is the height of the last Draw.
func (v *View) Page() int { return max(1, v.height) }

// Scroll moves by delta lines; reaching the end follows again.
func (v *View) Scroll(delta int) {
	most := max(0, len(v.matching(0))-v.Page())
	if v.up = layout.Clamp(v.up-layout.Clamp(delta, -1<<30, 1<<30), 0, most); v.up == 0 {
		v.match = 0
	}
}

// Search marks lines that hold the text; "" ends it.
func (v *View) Search(text string) { v.search, v.match = strings.ToLower(text), 0 }

// Prompt takes a key of the line that a search is typed on, and returns the line; nil when it is closed: by enter,
// which goes to a match, or by esc, which ends the search.
func (v *View) Prompt(line *input.Line, e keys.Event) *input.Line {
	switch e.Name {
	case "esc":
		v.Search("")
		return nil
	case "enter":
		v.Next(false)
		return nil
	}
	edited, _, _ := line.Update(e)
	v.Search(edited.Text())
	return &edited
}

// Searching reports whether lines are marked.
func (v *View) Searching() bool { return v.search != "" }

// matches reports whether a line holds the text that is searched for.
func (v *View) matches(line string) bool {
	return v.search != "" && strings.Contains(strings.ToLower(line), v.search)
}

// Matches counts the lines that match, and tells which of them the search
// stands at, from 1; 0 where it stands at none.
func (v *View) Matches() (at, all int) {
	for _, i := range v.matching(0) {
		if v.matches(v.lines[i]) {
			all++
			if v.dropped+i+1 == v.match {
				at = all
			}
		}
	}
	return at, all
}

// ToggleErrors shows only lines that look like errors, or all again.
func (v *View) ToggleErrors() { v.errors, v.up = !v.errors, 0 }

// ToggleWrap breaks long lines instead of cutting them, or cuts again.
func (v *View) ToggleWrap() { v.wrap = !v.wrap }

// Next goes to the next match of the search below (forward) or above the one
// it stands at, and from the end to the beginning; the first time, to the last
// match that can be seen or is above.
func (v *View) Next(forward bool) bool {
	at := v.matching(0)
	if v.search == "" || len(at) == 0 {
		return false
	}
	step, from := -1, len(at)-v.up // just below what is seen
	if forward {
		step = 1
	}
	if v.match == 0 {
		step = -1
	}
	for i := range at {
		if v.dropped+at[i]+1 == v.match {
			from = i
		}
	}
	for n := 1; n <= len(at); n++ {
		i := ((from+step*n)%len(at) + len(at)) % len(at)
		if v.matches(v.lines[at[i]]) {
			v.match = v.dropped + at[i] + 1
			if i < len(at)-v.up-v.Page() || i >= len(at)-v.up {
				v.up = layout.Clamp(len(at)-1-i-v.Page()/2, 0, max(0, len(at)-v.Page()))
			}
			return true
		}
	}
	return false
}

// State is a note for the frame: what is shown, and how much.
func (v *View) State() string {
	var parts []string
	if v.errors {
		parts = append(parts, "errors only")
	}
	if v.search != "" {
		at, all := v.Matches()
		note := fmt.Sprintf("/%s %d of %d", v.search, at, all)
		if at == 0 {
			note = "/" + v.search + " " + format.Many(all, "line")
		}
		parts = append(parts, note)
	}
	switch {
	case v.match > 0: // it stays where it is
	case v.up > 0:
		parts = append(parts, "paused")
	default:
		parts = append(parts, "follow")
	}
	return strings.Join(parts, " ")
}

// matching lists the indices from start on that pass the filter.
func (v *View) matching(start int) []int {
	out := make([]int, 0, len(v.lines)-start)
	for i := start; i < len(v.lines); i++ {
		if !v.errors || IsError(v.lines[i]) {
			out = append(out, i)
		}
	}
	return out
}

// IsError reports whether a line looks like an error.
func IsError(line string) bool {
	line = strings.ToLower(line)
	for _, word := range []string{"error", "panic", "fatal", "fail", "killed", "signal", "nan", "exception", "traceback"} {
		if strings.Contains(line, word) {
			return true
		}
	}
	return false
}

// Draw paints the visible lines in exactly w x h cells.
func (v *View) Draw(t theme.Theme, w, h int) string {
	if w <= 0 || h <= 0 {
		return ""
	}
	v.height = h
	at := v.matching(0)
	if v.errors && len(at) == 0 {
		return layout.Fit(t.Dim.Paint("no line looks like an error; e shows all"), w, h)
	}
	gutter := 0
	if v.search != "" && w > 4 {
		gutter = 1
	}
	end := layout.Clamp(len(at)-v.up, 0, len(at))
	var rows []string
	for i := end - 1; i >= 0 && len(rows) < h; i-- {
		pieces := []string{v.lines[at[i]]}
		if v.wrap {
			pieces = wrap(pieces[0], w-gutter)
		}
		for j := len(pieces) - 1; j >= 0 && len(rows) < h; j-- {
			rows = append(rows, v.paint(t, at[i], layout.Cut(pieces[j], w-gutter, t.Glyphs.Ellipsis), gutter))
		}
	}
	for i, j := 0, len(rows)-1; i < j; i, j = i+1, j-1 {
		rows[i], rows[j] = rows[j], rows[i]
	}
	return layout.Fit(strings.Join(rows, "\n"), w, h)
}

// paint styles a piece of line i; while something is searched, a sign before
// it tells matches, and the one that the search stands at.
func (v *View) paint(t theme.Theme, i int, text string, gutter int) string {
	lead := strings.Repeat(" ", gutter)
	switch {
	case v.matches(v.lines[i]) && v.dropped+i+1 == v.match:
		return t.Accent.Paint(strings.Repeat(t.Glyphs.Cursor, gutter)) + t.Selected.Paint(text)
	case v.matches(v.lines[i]):
		return t.Accent.Paint(strings.Repeat(t.Glyphs.Dot, gutter) + text)
	case IsError(v.lines[i]):
		return lead + t.Bad.Paint(text)
	}
	return lead + text
}

// wrap breaks a line into pieces of at most w cells.
func wrap(line string, w int) []string {
	var out []string
	for layout.Width(line) > w && w > 0 {
		head := layout.Cut(line, w, "")
		if head == "" {
			break
		}
		out = append(out, head)
		line = line[len(head):]
	}
	return append(out, line)
}
