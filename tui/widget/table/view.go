package table

import (
	"strings"

	"boost-tui/tui/layout"
	"boost-tui/tui/theme"
)

// Gutter is the room before the first column: cursor, mark, sign and a blank.
const Gutter = 4

// View draws heading and rows in exactly w x h cells.
func (t *Table) View(th theme.Theme, w, h int, focused bool) string {
	if w <= 0 || h <= 0 {
		return ""
	}
	t.height = max(1, h-1)
	t.clamp()
	widths := t.widths(w)
	lines := make([]string, 0, h)
	if h > 1 {
		lines = append(lines, th.Dim.Paint(t.heading(th, widths)))
	}
	if len(t.rows) == 0 && t.Empty != "" {
		lines = append(lines, th.Dim.Paint(strings.Repeat(" ", min(w, Gutter))+t.Empty))
	}
	for i := t.offset; i < len(t.rows) && len(lines) < h; i++ {
		lines = append(lines, t.line(th, i, widths, w, focused))
	}
	return layout.Fit(strings.Join(lines, "\n"), w, h)
}

// widths gives each column its cells on the present sheet; 0 leaves a column
// out.
func (t *Table) widths(w int) []int {
	sheets := t.sheets(w)
	return sheets[layout.Clamp(t.Sheet, 0, len(sheets)-1)]
}

// Sheets is how many sheets of columns a table of w cells has.
func (t *Table) Sheets(w int) int { return len(t.sheets(w)) }

// sheets lays the columns out until each that fits beside the first is on one of
// them. The first column is on all.
func (t *Table) sheets(w int) (out [][]int) {
	done := make([]bool, len(t.Columns))
	for i := 1; i < len(done); i++ {
		done[i] = t.least(0)+1+t.least(i) > w-Gutter // it will never fit
	}
	for first := true; ; first = false {
		widths, more := t.sheet(w, done, first), false
		fresh := false
		for i := 1; i < len(widths); i++ {
			if widths[i] > 0 && !done[i] {
				fresh, done[i] = true, true
			}
			more = more || !done[i]
		}
		if !first && !fresh {
			return out
		}
		out = append(out, widths)
		if !more {
			return out
		}
	}
}

// least is the least width of a column.
func (t *Table) least(i int) int {
	if i >= len(t.Columns) {
		return 0
	}
	return max(t.Columns[i].Width, layout.Width(t.Columns[i].Title))
}

// sheet lays out the columns that are not done, and those that are kept.
func (t *Table) sheet(w int, done []bool, first bool) []int {
	out := make([]int, len(t.Columns))
	for i, c := range t.Columns {
		if i == 0 || !done[i] || c.Keep && t.least(0)+1+t.least(i) <= w-Gutter {
			out[i] = t.least(i)
		}
	}
	room := w - Gutter
	for t.sum(out) > room {
		i := t.worst(out, done, first)
		if i < 0 {
			break
		}
		out[i] = 0
	}
	t.flex(out, room)
	return out
}

// worst is the column that gives way next; -1: none. On the first sheet those
// that must stay go last. On the later ones the last new one stays, or the sheet
// would show nothing.
func (t *Table) worst(out []int, done []bool, first bool) int {
	worst, fresh, last, kept := -1, 0, -1, -1
	for i, c := range t.Columns {
		switch {
		case i == 0 || out[i] == 0:
		case done[i]:
			kept = i
		default:
			fresh, last = fresh+1, i
			if (c.Drop > 0 || !first) && (worst < 0 || c.Drop >= t.Columns[worst].Drop) {
				worst = i
			}
		}
	}
	switch {
	case worst >= 0 && (first || fresh > 1):
		return worst
	case kept >= 0:
		return kept
	}
	return last
}

// flex gives the columns what is left of the room.
func (t *Table) flex(out []int, room int) {
	flex := 0
	for i, c := range t.Columns {
		if out[i] > 0 {
			flex += c.Flex
		}
	}
	left := room - t.sum(out)
	for i, c := range t.Columns {
		if out[i] > 0 && c.Flex > 0 && left > 0 {
			share := left * c.Flex / flex
			out[i] += share
			left, flex = left-share, flex-c.Flex
		}
	}
}

// sum is the width of all shown columns with one blank between them.
func (t *Table) sum(widths []int) int {
	n := -1
	for _, w := range widths {
		if w > 0 {
			n += w + 1
		}
	}
	return max(0, n)
}

func (t *Table) heading(th theme.Theme, widths []int) string {
	var b strings.Builder
	b.WriteString(strings.Repeat(" ", Gutter))
	for i, c := range t.Columns {
		if widths[i] == 0 {
			continue
		}
		title := c.Title
		if c.ID == t.Sort && c.ID != "" {
			arrow := th.Glyphs.Up
			if t.Down {
				arrow = th.Glyphs.Down
			}
			title = layout.Cut(title, widths[i]-1, "") + arrow
		}
		b.WriteString(align(title, widths[i], c.Right))
		b.WriteByte(' ')
	}
	return b.String()
}

func (t *Table) line(th theme.Theme, i int, widths []int, w int, focused bool) string {
	row, g := t.whole(i), th.Glyphs
	cursor, mark, sign := " ", " ", layout.Pad(row.Sign, 1)
	at := i == t.cursor
	if at {
		cursor = g.Cursor
	}
	if t.marks[row.ID] {
		mark = g.Mark
	}
	lead := cursor + mark
	if at && focused {
		// The whole row in reverse video: inner styles would end it.
		text := lead + sign + " "
		for j := range t.Columns {
			if widths[j] > 0 {
				text += align(layout.Cut(t.text(row, j), widths[j], g.Ellipsis), widths[j], t.Columns[j].Right) + " "
			}
		}
		return th.Selected.Paint(layout.Pad(text, w))
	}
	var b strings.Builder
	b.WriteString(th.Accent.Paint(lead) + row.Style.Paint(sign) + " ")
	for j := range t.Columns {
		if widths[j] == 0 {
			continue
		}
		text := align(layout.Cut(t.text(row, j), widths[j], g.Ellipsis), widths[j], t.Columns[j].Right)
		style := row.Style
		if j < len(row.Cells) && row.Cells[j].Style != (theme.Style{}) {
			style = row.Cells[j].Style
		}
		b.WriteString(style.Paint(text))
		b.WriteByte(' ')
	}
	return b.String()
}

func (t *Table) text(row Row, j int) string {
	if j < len(row.Cells) {
		return row.Cells[j].Text
	}
	return ""
}

func align(s string, w int, right bool) string {
	if right {
		return layout.PadLeft(s, w)
	}
	return layout.Pad(s, w)
}
