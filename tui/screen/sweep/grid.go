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
	foot := m.countLines(t, w)
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

// gridLines draws h lines around the cursor.
func (m *Model) gridLines(t theme.Theme, w, h int) []string {
	if w <= 0 || h <= 0 {
		return nil
	}
	var all []string
	at := 0
	label := layout.Clamp(w/3, 6, 13)
	for i, l := range m.draft.lines() {
		if l.ruled() {
			all = append(all, t.Border.Paint(strings.Repeat(t.Glyphs.H, w)))
		}
		if i == m.cursor.at {
			at = len(all)
		}
		all = append(all, m.gridLine(t, l, i == m.cursor.at, label, w))
	}
	m.cursor.offset = layout.Clamp(m.cursor.offset, at-h+1, at)
	m.cursor.offset = layout.Clamp(m.cursor.offset, 0, max(0, len(all)-h))
	out := all[m.cursor.offset:min(len(all), m.cursor.offset+h)]
	for len(out) < h {
		out = append(out, "")
	}
	return out
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
		return d.Axes[l.i].name(), m.axisText(t, d.Axes[l.i], focused, room)
	case lineNewAxis:
		return "+ axis: a key with several values", ""
	case lineSet:
		return d.Set[l.i].Key, paintIf(t, focused, "= "+layout.Cut(layout.Clean(d.Set[l.i].Value), room-2, t.Glyphs.Ellipsis))
	case lineNewSet:
		return "+ value of every point", ""
	case lineMust:
		return "only if", paintIf(t, focused, layout.Cut(layout.Clean(d.Constraints[l.i]), room, t.Glyphs.Ellipsis))
	case lineNewMust:
		return "+ constraint: only points that meet it", ""
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
	v := layout.Clean(optionValue(o, d))
	switch {
	case len(o.choices) == 2:
		v = map[bool]string{true: "[x]", false: "[ ]"}[v == "on"]
	case len(o.choices) > 0:
		v = t.Glyphs.Left + " " + v + " " + t.Glyphs.Right
	}
	text := paintIf(t, focused, layout.Cut(v, room, t.Glyphs.Ellipsis))
	if left := room - layout.Width(v) - 2; left >= 12 {
		text += "  " + t.Dim.Paint(layout.Cut(o.help, left, t.Glyphs.Ellipsis))
	}
	return text
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
	cells := make([]string, len(a.Values))
	for i, v := range a.Values {
		cells[i] = map[bool]string{true: "[x]", false: "[ ]"}[a.on(v)] + layout.Clean(valueText(v))
	}
	at := -1
	if focused {
		at = layout.Clamp(m.cursor.value, 0, len(cells)-1)
		cells[at] = t.Glyphs.Cursor + cells[at] // a terminal without colours shows it too
	}
	text := window(t, cells, at, room-layout.Width(when)-min(1, layout.Width(when)))
	if when != "" {
		text += " " + t.Dim.Paint(when)
	}
	return layout.Spread(text, n, room+len(n)+1)
}

// window joins as many cells as fit around the one at; an ellipsis stands for
// those left out at either side.
func window(t theme.Theme, cells []string, at, room int) string {
	from, to := 0, 0
	width := func() int {
		n := max(0, to-from-1)
		for _, c := range cells[from:to] {
			n += layout.Width(c)
		}
		if from > 0 {
			n += 2
		}
		if to < len(cells) {
			n += 2
		}
		return n
	}
	from = max(0, at)
	to = min(len(cells), from+1)
	for grown := true; grown; {
		grown = false
		if to < len(cells) {
			if to++; width() > room {
				to--
			} else {
				grown = true
			}
		}
		if from > 0 {
			if from--; width() > room {
				from++
			} else {
				grown = true
			}
		}
	}
	var b strings.Builder
	if from > 0 {
		b.WriteString(t.Dim.Paint(t.Glyphs.Ellipsis) + " ")
	}
	for i := from; i < to; i++ {
		c := layout.Cut(cells[i], max(1, room-4), t.Glyphs.Ellipsis)
		if i > from {
			b.WriteByte(' ')
		}
		switch {
		case i == at:
			b.WriteString(t.Selected.Paint(c))
		case strings.HasPrefix(c, "[ ]"):
			b.WriteString(t.Dim.Paint(c))
		default:
			b.WriteString(c)
		}
	}
	if to < len(cells) {
		b.WriteString(" " + t.Dim.Paint(t.Glyphs.Ellipsis))
	}
	return b.String()
}
