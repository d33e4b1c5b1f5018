package table

import (
	"slices"
	"strings"

	"boost-tui/tui/layout"
	"boost-tui/tui/theme"
)

// gutter is the room before the first column: cursor, mark, sign and a blank.
const gutter = 4

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
		lines = append(lines, th.Dim.Paint(strings.Repeat(" ", min(w, gutter))+t.Empty))
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

// sheets lays the columns out until each that fits at all is on one of them.
// The first column is on all.
func (t *Table) sheets(w int) (out [][]int) {
	done := make([]bool, len(t.Columns))
	for {
		widths, more := t.sheet(w, done), false
		fresh := false
		for i := range widths {
			if i > 0 && widths[i] > 0 {
				fresh, done[i] = true, true
			}
		}
		if len(out) > 0 && !fresh {
			return out
		}
		out = append(out, widths)
		for i := 1; i < len(done); i++ {
			more = more || !done[i]
		}
		if !more {
			return out
		}
	}
}

// sheet lays out the columns that are not done.
func (t *Table) sheet(w int, done []bool) []int {
	out := make([]int, len(t.Columns))
	first := !slices.Contains(done, true)
	for i, c := range t.Columns {
		if i == 0 || !done[i] {
			out[i] = max(c.Width, layout.Width(c.Title))
		}
	}
	room := w - gutter
	for t.sum(out) > room {
		worst := -1
		for i, c := range t.Columns {
			// On later sheets nothing but the first column must stay.
			if out[i] > 0 && i > 0 && (c.Drop > 0 || !first) && (worst < 0 || c.Drop >= t.Columns[worst].Drop) {
				worst = i
			}
		}
		if worst < 0 {
			break
		}
		out[worst] = 0
	}
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
	return out
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
	b.WriteString(strings.Repeat(" ", gutter))
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
	row, g := t.rows[i], th.Glyphs
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
