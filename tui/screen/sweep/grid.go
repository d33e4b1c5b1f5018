package sweep

import (
	"fmt"
	"strconv"
	"strings"

	"boost-tui/tui/layout"
	"boost-tui/tui/theme"
	"boost-tui/tui/widget/panel"
)

// gridPane draws the grid: its lines, and below them what they come to.
func (m *Model) gridPane(t theme.Theme, r layout.Rect) string {
	w, h := panel.Inner(r.W, r.H)
	if m.unread() {
		lines := []string{t.Dim.Paint("reading the sweep " + t.Glyphs.Ellipsis)}
		err := m.shown.err
		if v := m.shown.view; v != nil {
			lines, err = nil, v.FileErr
		}
		if err != nil {
			lines = append(layout.Wrap(t.Glyphs.Cross+" "+layout.Clean(err.Error()), w), "", "s chooses another sweep, or the new one")
		}
		return panel.Panel{Title: "Grid", Focused: m.focus == paneGrid}.View(t, strings.Join(lines, "\n"), r.W, r.H)
	}
	foot := append(m.lineHelp(t, w, h), m.countLines(t, w, max(3, h/3))...)
	if len(foot) > h-2 { // two lines of the grid stay whatever its size
		foot = foot[:max(0, h-2)]
	}
	body := m.gridLines(t, w, h-len(foot))
	body = append(body, foot...)
	return panel.Panel{Title: m.gridTitle(r.W), Note: m.gridNote(), Focused: m.focus == paneGrid}.View(t, strings.Join(body, "\n"), r.W, r.H)
}

func (m *Model) gridTitle(w int) string {
	switch {
	case m.shown.id == "":
		return "Grid  new sweep"
	case m.changed() && w < 60:
		return "Grid  grown: R adds"
	case m.changed():
		return "Grid  grown: R adds what is new to the sweep"
	}
	return "Grid"
}

func (m *Model) gridNote() string {
	if m.focus != paneGrid {
		return ""
	}
	return fmt.Sprintf("%d of %d", m.cursor.at+1, len(m.draft.lines()))
}

// lineHelp is the help of the option under the cursor where its line has no room
// for all of it.
func (m *Model) lineHelp(t theme.Theme, w, h int) []string {
	l := m.line()
	if l.kind != lineOption || m.focus != paneGrid || h < 12 {
		return nil
	}
	o := options[l.i]
	if optionRoom(t, o, &m.draft, w-labelCells(w)-2) >= layout.Width(o.help) {
		return nil
	}
	out := []string{rule(t, w)}
	for _, part := range layout.Wrap(o.label+": "+o.help, w) {
		out = append(out, t.Dim.Paint(part))
	}
	return out
}

// labelCells is the width of the labels in a pane of w cells.
func labelCells(w int) int { return layout.Clamp(w*2/5, 6, 13) }

// gridLines draws h lines around the cursor.
func (m *Model) gridLines(t theme.Theme, w, h int) []string {
	if w <= 0 || h <= 0 {
		return nil
	}
	var all []string
	at := 0
	label := labelCells(w)
	for i, l := range m.draft.lines() {
		if l.ruled() {
			all = append(all, rule(t, w))
		}
		if i == m.cursor.at {
			at = len(all)
		}
		all = append(all, m.gridLine(t, l, i == m.cursor.at, label, w))
	}
	m.cursor.offset = layout.Clamp(m.cursor.offset, at-h+1, at)
	m.cursor.offset = layout.Clamp(m.cursor.offset, 0, max(0, len(all)-h))
	out := all[m.cursor.offset:min(len(all), m.cursor.offset+h)]
	out = append([]string{}, out...)
	if n := len(out); n > 0 && n == h && ruledAt(all, m.cursor.offset+n-1, t, w) {
		out[n-1] = "" // another one follows
	}
	for len(out) < h {
		out = append(out, "")
	}
	return out
}

func ruledAt(lines []string, i int, t theme.Theme, w int) bool { return lines[i] == rule(t, w) }

func rule(t theme.Theme, w int) string {
	return t.Border.Paint(strings.Repeat(t.Glyphs.H, max(0, w)))
}

// gridLine draws one line in w cells.
func (m *Model) gridLine(t theme.Theme, l line, at bool, label, w int) string {
	focused := at && m.focus == paneGrid
	lead := " "
	if at {
		lead = t.Glyphs.Cursor
	}
	name, value := m.lineTexts(t, l, focused, w-label-2)
	name = layout.Pad(layout.Cut(name, label, t.Glyphs.Ellipsis), label)
	if at {
		name = t.Accent.Paint(name)
	}
	if focused {
		lead = t.Accent.Paint(lead)
	}
	if value == "" { // "+ an axis" needs no second column
		name, _ = m.lineTexts(t, l, focused, 0)
		name = layout.Cut(name, w-1, t.Glyphs.Ellipsis)
		switch {
		case focused:
			name = t.Selected.Paint(name)
		default:
			name = t.Dim.Paint(name)
		}
	}
	return layout.Pad(lead+name+" "+value, w)
}

// lineTexts are the name of a line and its value in room cells.
func (m *Model) lineTexts(t theme.Theme, l line, focused bool, room int) (name, value string) {
	d := &m.draft
	switch l.kind {
	case lineAxis:
		return layout.Clean(d.Axes[l.i].name()), m.axisText(t, d.Axes[l.i], focused, room)
	case lineNewAxis:
		return "+ axis: a key with several values", ""
	case lineSet:
		return layout.Clean(d.Set[l.i].Key), paintIf(t, focused, "= "+layout.Cut(layout.Clean(d.Set[l.i].Value), room-2, t.Glyphs.Ellipsis))
	case lineNewSet:
		return "+ value of every point", ""
	case lineMust:
		return "only if", paintIf(t, focused, layout.Cut(layout.Clean(d.Constraints[l.i]), room, t.Glyphs.Ellipsis))
	case lineNewMust:
		return "+ constraint: all points meet it", ""
	}
	o := options[l.i]
	return o.label, optionText(t, o, d, focused, room)
}

func paintIf(t theme.Theme, focused bool, s string) string {
	if focused {
		return t.Selected.Paint(s)
	}
	return s
}

// optionText draws an option: a box for on and off, the choices where there is
// room, else the value.
func optionText(t theme.Theme, o option, d *draft, focused bool, room int) string {
	text := paintIf(t, focused, layout.Cut(optionSign(t, o, d), room, t.Glyphs.Ellipsis))
	if left := optionRoom(t, o, d, room); left >= 12 {
		text += "  " + t.Dim.Paint(layout.Cut(o.help, left, t.Glyphs.Ellipsis))
	}
	return text
}

func optionSign(t theme.Theme, o option, d *draft) string {
	v := layout.Clean(optionValue(o, d))
	switch {
	case len(o.choices) == 2:
		return map[bool]string{true: "[x]", false: "[ ]"}[v == "on"]
	case len(o.choices) > 0:
		return t.Glyphs.Left + " " + v + " " + t.Glyphs.Right
	}
	return v
}

// optionRoom is what an option leaves of room for its help.
func optionRoom(t theme.Theme, o option, d *draft, room int) int {
	return room - layout.Width(optionSign(t, o, d)) - 2
}

// axisText draws the values of an axis with their boxes around the one under
// the cursor, its condition where there is room, and how many are on.
func (m *Model) axisText(t theme.Theme, a axis, focused bool, room int) string {
	n := strconv.Itoa(a.count())
	room -= len(n) + 1
	if room < 4 {
		return n
	}
	when := ""
	if a.When != "" {
		when = "if " + layout.Clean(a.When)
		if layout.Width(when) > room/2 {
			when = layout.Cut(when, max(3, room/2), t.Glyphs.Ellipsis)
		}
	}
	at := -1
	if focused {
		at = layout.Clamp(m.cursor.value, 0, len(a.Values)-1)
	}
	text := window(t, len(a.Values), at, room-layout.Width(when)-min(1, layout.Width(when)), func(i int) string {
		cell := map[bool]string{true: "[x]", false: "[ ]"}[a.on(a.Values[i])] + layout.Clean(valueText(a.Values[i]))
		if i == at {
			cell = t.Glyphs.Cursor + cell // a terminal without colours shows it too
		}
		return cell
	})
	if when != "" {
		text += " " + t.Dim.Paint(when)
	}
	return layout.Spread(text, n, room+len(n)+1)
}

// window joins as many of n cells as fit around the one at; an ellipsis stands
// for those left out at either side.
func window(t theme.Theme, n, at, room int, cell func(int) string) string {
	if n == 0 {
		return ""
	}
	from := max(0, at)
	to := from
	var cells []string // from from to to
	used := 0
	fits := func(width, from, to int) bool {
		if from > 0 {
			width += 2
		}
		if to < n {
			width += 2
		}
		return width <= room
	}
	for right, left := true, true; right || left; {
		if right = right && to < n; right {
			c := layout.Cut(cell(to), max(1, room-4), t.Glyphs.Ellipsis)
			width := used + layout.Width(c) + min(1, len(cells))
			if right = fits(width, from, to+1) || len(cells) == 0; right {
				cells, used, to = append(cells, c), width, to+1
			}
		}
		if left = left && from > 0; left {
			c := layout.Cut(cell(from-1), max(1, room-4), t.Glyphs.Ellipsis)
			width := used + layout.Width(c) + min(1, len(cells))
			if left = fits(width, from-1, to); left {
				cells, used, from = append([]string{c}, cells...), width, from-1
			}
		}
	}
	for i, c := range cells {
		switch {
		case from+i == at:
			cells[i] = t.Selected.Paint(c)
		case strings.HasPrefix(c, "[ ]"):
			cells[i] = t.Dim.Paint(c)
		}
	}
	if from > 0 {
		cells = append([]string{t.Dim.Paint(t.Glyphs.Ellipsis)}, cells...)
	}
	if to < n {
		cells = append(cells, t.Dim.Paint(t.Glyphs.Ellipsis))
	}
	return strings.Join(cells, " ")
}
