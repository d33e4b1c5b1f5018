// Package logview shows the end of a log: it follows, scrolls back, searches
// and can show lines of errors only. Only the visible lines are ever painted.
package logview

import (
	"strings"

	"boost-tui/tui/layout"
	"boost-tui/tui/theme"
)

// Limit is the number of lines a view keeps; older ones are dropped.
const Limit = 5000

// View is the state. The zero value is an empty view that follows.
type View struct {
	lines   []string // cleaned
	dropped int      // lines that left at the front
	up      int      // lines scrolled up from the end; 0 follows
	search  string
	errors  bool
	wrap    bool
	height  int
}

// Append adds lines of untrusted text.
func (v *View) Append(lines ...string) {
	for _, line := range lines {
		v.lines = append(v.lines, layout.Clean(line))
	}
	if v.up > 0 {
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
func (v *View) Reset() { v.lines, v.dropped, v.up = nil, 0, 0 }

// Len is the number of lines seen so far, dropped ones included.
func (v *View) Len() int { return v.dropped + len(v.lines) }

// Following reports whether the view stays at the end.
func (v *View) Following() bool { return v.up == 0 }

// Page is the height of the last Draw.
func (v *View) Page() int { return max(1, v.height) }

// Scroll moves by delta lines; reaching the end follows again.
func (v *View) Scroll(delta int) {
	most := max(0, len(v.matching(0))-v.Page())
	v.up = layout.Clamp(v.up-layout.Clamp(delta, -1<<30, 1<<30), 0, most)
}

// Search marks lines that hold the text; "" ends it.
func (v *View) Search(text string) { v.search = strings.ToLower(text) }

// ToggleErrors shows only lines that look like errors, or all again.
func (v *View) ToggleErrors() { v.errors, v.up = !v.errors, 0 }

// ToggleWrap breaks long lines instead of cutting them, or cuts again.
func (v *View) ToggleWrap() { v.wrap = !v.wrap }

// Next scrolls to the next match of the search above (forward false) or below.
func (v *View) Next(forward bool) bool {
	if v.search == "" {
		return false
	}
	at := v.matching(0)
	last := len(at) - 1 - v.up
	step := -1
	if forward {
		step = 1
	}
	for i := last + step; i >= 0 && i < len(at); i += step {
		if strings.Contains(strings.ToLower(v.lines[at[i]]), v.search) {
			v.up = len(at) - 1 - i
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
		parts = append(parts, "/"+v.search)
	}
	if v.up > 0 {
		parts = append(parts, "paused")
	} else {
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
	end := layout.Clamp(len(at)-v.up, 0, len(at))
	var rows []string
	for i := end - 1; i >= 0 && len(rows) < h; i-- {
		pieces := []string{v.lines[at[i]]}
		if v.wrap {
			pieces = wrap(pieces[0], w)
		}
		for j := len(pieces) - 1; j >= 0 && len(rows) < h; j-- {
			rows = append(rows, v.paint(t, layout.Cut(pieces[j], w, t.Glyphs.Ellipsis)))
		}
	}
	for i, j := 0, len(rows)-1; i < j; i, j = i+1, j-1 {
		rows[i], rows[j] = rows[j], rows[i]
	}
	return layout.Fit(strings.Join(rows, "\n"), w, h)
}

func (v *View) paint(t theme.Theme, line string) string {
	switch {
	case v.search != "" && strings.Contains(strings.ToLower(line), v.search):
		return t.Selected.Paint(line)
	case IsError(line):
		return t.Bad.Paint(line)
	}
	return line
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
