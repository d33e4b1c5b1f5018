package sweep

import (
	"slices"

	"boost-tui/tui/layout"
)

// lineKind is what a line of the grid holds.
type lineKind int

const (
	lineAxis lineKind = iota
	lineNewAxis
	lineSet
	lineNewSet
	lineMust // a constraint
	lineNewMust
	lineOption
)

// line is a line of the grid: the i-th of its kind.
type line struct {
	kind lineKind
	i    int
}

// lines lists what the grid shows, in order.
func (d *draft) lines() []line {
	var out []line
	add := func(kind lineKind, n int) {
		for i := range n {
			out = append(out, line{kind, i})
		}
	}
	add(lineAxis, len(d.Axes))
	add(lineNewAxis, 1)
	add(lineSet, len(d.Set))
	add(lineNewSet, 1)
	add(lineMust, len(d.Constraints))
	add(lineNewMust, 1)
	add(lineOption, len(options))
	return out
}

// ruled reports whether a line has a dividing line above.
func (l line) ruled() bool {
	return l.kind == lineOption && options[l.i].rule
}

// cursor is where the keyboard is in the grid.
type cursor struct {
	at     int // index of the line
	value  int // of an axis
	offset int // first line shown
}

// line is the one under the cursor.
func (m *Model) line() line {
	lines := m.draft.lines()
	return lines[layout.Clamp(m.cursor.at, 0, len(lines)-1)]
}

// pointAt puts the cursor on a line, if it is there.
func (m *Model) pointAt(l line) {
	if at := slices.Index(m.draft.lines(), l); at >= 0 {
		m.cursor.at = at
	}
	m.settleCursor()
}

// named is a line by what it says, which stays while lines come and go.
type named struct {
	kind lineKind
	name string
}

func (d *draft) nameOf(l line) named {
	switch l.kind {
	case lineAxis:
		return named{l.kind, d.Axes[l.i].name()}
	case lineSet:
		return named{l.kind, d.Set[l.i].Key}
	case lineMust:
		return named{l.kind, d.Constraints[l.i]}
	case lineOption:
		return named{l.kind, options[l.i].label}
	}
	return named{kind: l.kind}
}

// replace takes another draft; the cursor stays on its line where that has one.
func (m *Model) replace(d draft) {
	at := m.draft.nameOf(m.line())
	m.draft = d
	for _, l := range m.draft.lines() {
		if m.draft.nameOf(l) == at {
			m.pointAt(l)
			return
		}
	}
	m.settleCursor()
}

// moveLine moves the cursor by delta lines and stops at the ends.
func (m *Model) moveLine(delta int) {
	m.cursor.at = layout.Clamp(m.cursor.at+delta, 0, len(m.draft.lines())-1)
	m.settleCursor()
}

// settleCursor keeps the cursor on a line and on a value that are there.
func (m *Model) settleCursor() {
	m.cursor.at = layout.Clamp(m.cursor.at, 0, len(m.draft.lines())-1)
	n := 0
	if l := m.line(); l.kind == lineAxis {
		n = len(m.draft.Axes[l.i].Values)
	}
	m.cursor.value = layout.Clamp(m.cursor.value, 0, max(0, n-1))
}

// historyLimit bounds how many edits u takes back.
const historyLimit = 100

// edited is a draft as it was before an edit, and where that was made.
type edited struct {
	draft  draft
	cursor cursor
}

// edit changes the draft; u takes it back.
func (m *Model) edit(f func(*draft)) {
	m.history = append(m.history, edited{m.draft, m.cursor})
	if len(m.history) > historyLimit {
		m.history = m.history[1:]
	}
	d := m.draft.clone()
	f(&d)
	m.draft = d
	m.settleCursor()
}

// remove takes the line under the cursor away; options cannot be.
func (d *draft) remove(l line) {
	switch l.kind {
	case lineAxis:
		d.Axes = append(d.Axes[:l.i:l.i], d.Axes[l.i+1:]...)
	case lineSet:
		d.Set = append(d.Set[:l.i:l.i], d.Set[l.i+1:]...)
	case lineMust:
		d.Constraints = append(d.Constraints[:l.i:l.i], d.Constraints[l.i+1:]...)
	}
}
