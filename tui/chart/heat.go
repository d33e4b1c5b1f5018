package chart

import (
	"strings"

	"boost-tui/tui/layout"
	"boost-tui/tui/theme"
)

// HeatCell is one cell of a heat map: a number for its shade (NaN: none) and
// the text to read.
type HeatCell struct {
	Value float64
	Text  string
}

// HeatMap is a table of numbers that are shaded by how good they are, the best
// darkest: rows down the left, columns along the top. Cells has a row for each of
// Rows.
type HeatMap struct {
	Corner     string // names the rows
	Rows, Cols []string
	Cells      [][]HeatCell
	Row, Col   int // the cursor
	Focused    bool
	Lower      bool                 // the lowest number is the best, else the highest
	Show       func(float64) string // writes a number in the legend; nil: Value
}

// heatGap stands between two columns, and holds the brackets of the cursor.
const heatGap = 1

// Heat draws the map in at most h lines of w cells, scrolled so that the cursor
// is visible; a line with what the shades mean comes last where there is room.
func Heat(t theme.Theme, m HeatMap, w, h int) []string {
	if w <= 0 || h <= 0 || len(m.Rows) == 0 || len(m.Cols) == 0 {
		return nil
	}
	m.Row, m.Col = clampInt(m.Row, 0, len(m.Rows)-1), clampInt(m.Col, 0, len(m.Cols)-1)
	label, cell := m.widths(w)
	worst, best, ok := Extent(m.values(), false)
	if m.Lower {
		worst, best = best, worst
	}
	fits := max(1, (w-label)/(cell+heatGap))
	from := clampInt(m.Col-fits/2, 0, max(0, len(m.Cols)-fits))
	to := min(len(m.Cols), from+fits)
	lines := []string{m.head(t, from, to, label, cell, w)}
	room := h - 1
	legend := ok && room > min(len(m.Rows), 2)
	if legend {
		room--
	}
	first := clampInt(m.Row-room/2, 0, max(0, len(m.Rows)-room))
	for y := first; y < min(len(m.Rows), first+room); y++ {
		lines = append(lines, layout.Pad(m.row(t, y, from, to, label, cell, worst, best), w))
	}
	if legend {
		lines = append(lines, layout.Pad(m.legend(t, worst, best, w), w))
	}
	return lines[:min(len(lines), h)]
}

// widths are those of the labels of the rows and of a cell.
func (m HeatMap) widths(w int) (label, cell int) {
	label, cell = layout.Width(m.Corner), 1
	for _, s := range m.Rows {
		label = max(label, layout.Width(s))
	}
	label = min(label, max(4, w/3)) + 1
	for _, s := range m.Cols {
		cell = max(cell, layout.Width(s))
	}
	for _, row := range m.Cells {
		for _, c := range row {
			cell = max(cell, 1+layout.Width(c.Text))
		}
	}
	return label, min(cell, max(3, w-label-heatGap)) + 1
}

func (m HeatMap) values() (out []float64) {
	for _, row := range m.Cells {
		for _, c := range row {
			out = append(out, c.Value)
		}
	}
	return out
}

func (m HeatMap) head(t theme.Theme, from, to, label, cell, w int) string {
	var b strings.Builder
	b.WriteString(layout.Pad(layout.Cut(m.Corner, label-1, t.Glyphs.Ellipsis), label))
	for x := from; x < to; x++ {
		b.WriteString(layout.PadLeft(layout.Cut(m.Cols[x], cell, t.Glyphs.Ellipsis), cell) + " ")
	}
	line := b.String()
	if to-from < len(m.Cols) && layout.Width(line) >= 2 {
		mark := t.Glyphs.Ellipsis
		line = layout.Pad(line, w-1) + mark
	}
	return t.Dim.Paint(layout.Pad(line, w))
}

func (m HeatMap) row(t theme.Theme, y, from, to, label, cell int, worst, best float64) string {
	var b strings.Builder
	b.WriteString(layout.Pad(layout.Cut(m.Rows[y], label-1, t.Glyphs.Ellipsis), label))
	for x := from; x < to; x++ {
		var c HeatCell
		known := false
		if y < len(m.Cells) && x < len(m.Cells[y]) {
			c = m.Cells[y][x]
			known = Finite(c.Value)
		}
		shade, style := t.Glyphs.Dot, t.Dim
		switch {
		case known:
			shade, style = heatShade(t, heatLevel(c.Value, worst, best))
		case c.Text != "":
			shade = "" // the text says why there is no number
		}
		text := layout.Cut(c.Text, cell-2, t.Glyphs.Ellipsis)
		if m.Row == y && m.Col == x {
			// Brackets show the cursor where there are no colours.
			whole := layout.PadLeft("["+shade+text, cell) + "]"
			if m.Focused {
				b.WriteString(t.Selected.Paint(whole))
			} else {
				b.WriteString(t.Accent.Paint(whole))
			}
			continue
		}
		b.WriteString(layout.PadLeft(style.Paint(shade)+text, cell) + " ")
	}
	return b.String()
}

// heatLevels is the number of shades.
const heatLevels = 4

// heatLevel is the shade of a value, 0 for the worst.
func heatLevel(v, worst, best float64) int {
	if worst == best {
		return heatLevels - 1
	}
	return clampInt(int((Clean(v)-worst)/(best-worst)*heatLevels), 0, heatLevels-1)
}

func heatShade(t theme.Theme, level int) (string, theme.Style) {
	g := t.Glyphs
	switch level {
	case 0:
		return g.Memory, t.Idle
	case 1:
		return g.Exposed, t.Exposed
	case 2:
		return g.Overlap, t.Overlap
	}
	return g.Compute, t.Compute
}

// legend says what the shades mean: from which number on each stands, and which
// numbers are good. With little room the shades between the ends go.
func (m HeatMap) legend(t theme.Theme, worst, best float64, w int) string {
	show := m.Show
	if show == nil {
		show = Value
	}
	way := t.Dim.Paint("higher is better")
	if m.Lower {
		way = t.Dim.Paint("lower is better")
	}
	shade := func(i int, v float64) string {
		glyph, style := heatShade(t, i)
		return style.Paint(glyph) + " " + t.Dim.Paint(show(v))
	}
	all, ends := shade(heatLevels-1, best), shade(heatLevels-1, best)
	if worst != best {
		all = ""
		for i := range heatLevels {
			all += shade(i, worst+(best-worst)*float64(i)/heatLevels) + " "
		}
		all += t.Dim.Paint(t.Glyphs.Dash + " " + show(best))
		ends = shade(0, worst) + " " + t.Dim.Paint(t.Glyphs.Ellipsis) + " " + ends
	}
	none := t.Dim.Paint("  " + t.Glyphs.Dot + " none")
	for _, line := range []string{all + "  " + way + none, all + "  " + way, ends + "  " + way + none, ends + "  " + way} {
		if layout.Width(line) <= w {
			return line
		}
	}
	return layout.Cut(way, w, t.Glyphs.Ellipsis)
}
