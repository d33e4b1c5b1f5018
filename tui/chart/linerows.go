package chart

import (
	"math"
	"strings"

	"boost-tui/tui/layout"
	"boost-tui/tui/theme"
)

// label is the Y label of plot row y with the axis sign.
func (f *frame) label(l Line, y int) string {
	if f.labelW == 0 {
		return ""
	}
	g := l.Theme.Glyphs
	if text, ok := f.yTicks[y]; ok {
		return l.Theme.Dim.Paint(layout.PadLeft(text, f.labelW-1) + or(g.AxisTick, "|"))
	}
	return l.Theme.Dim.Paint(layout.PadLeft("", f.labelW-1) + or(g.AxisV, "|"))
}

// row paints one row of the plot, one escape sequence per run of equal style.
func (l Line) row(r *raster, y, cursor int, labels map[int]refLabel) string {
	var b strings.Builder
	var pending strings.Builder
	owner := int8(0)
	flush := func() {
		b.WriteString(l.styleOf(owner).Paint(pending.String()))
		pending.Reset()
	}
	refAt, refText := labelOf(labels, y, r.w)
	for x := 0; x < r.w; x++ {
		cell := y*r.w + x
		c := r.rune(cell)
		o := r.owner[cell]
		if i := x - refAt; refText != nil && i >= 0 && i < len(refText) {
			c, o = refText[i], labels[y].owner
		} else if c == '*' && l.Mode == Plain {
			c = l.plainGlyph(o)
		}
		if owner, ok := r.marks[cell]; ok {
			c, o = []rune(or(l.Theme.Glyphs.Mark, "*"))[0], owner
		}
		if c == 0 {
			c, o = ' ', 0
			if x == cursor {
				c = []rune(or(l.Theme.Glyphs.CursorV, ":"))[0]
			}
		}
		if o != owner && c != ' ' {
			flush()
			owner = o
		}
		pending.WriteRune(c)
	}
	flush()
	return b.String()
}

func (l Line) plainGlyph(owner int8) rune {
	if owner < 0 {
		return '-'
	}
	if i := int(owner) - 1; i >= 0 && i < len(l.Series) {
		return plainGlyph(l.Series[i].Pattern)
	}
	return plainGlyphs[0]
}

func (l Line) styleOf(owner int8) theme.Style {
	if i := int(owner) - 1; i >= 0 && i < len(l.Series) {
		return l.Series[i].Style
	}
	if i := -1 - int(owner); owner < 0 && i < len(l.References) {
		return l.References[i].Style
	}
	return theme.Style{}
}

// refLabel is the label of a reference line.
type refLabel struct {
	text  []rune
	owner int8
}

// labels puts the references' labels on rows of their own, next to their lines
// where two are too close.
func (f *frame) labels(l Line, dy int) map[int]refLabel {
	out := map[int]refLabel{}
	for i, ref := range l.References {
		if ref.Label == "" || !Finite(ref.Y) || f.log && ref.Y <= 0 {
			continue
		}
		at := f.dotY(Clean(ref.Y)) / dy
		for _, row := range []int{at, at - 1, at + 1, at - 2, at + 2} {
			if _, taken := out[row]; !taken && row >= 0 && row < f.plotH {
				out[row] = refLabel{[]rune(" " + ref.Label + " "), int8(-1 - i)}
				break
			}
		}
	}
	return out
}

// labelOf is the label of a row, drawn at the right of w cells.
func labelOf(labels map[int]refLabel, y, w int) (at int, text []rune) {
	label, ok := labels[y]
	if !ok || len(label.text) > w*3/4 {
		return 0, nil
	}
	return w - len(label.text) - 1, label.text
}

// cursorCell is the column of the cursor, -1 for none.
func (f *frame) cursorCell(l Line) int {
	if l.NoCursor || !Finite(l.Cursor) || l.Cursor < f.x0 || l.Cursor > f.x1 || f.x1 <= f.x0 {
		return -1
	}
	return int(math.Round((l.Cursor - f.x0) / (f.x1 - f.x0) * float64(f.plotW-1)))
}

// xAxis is the line below the plot and its labels: the two ends, and in the
// middle the cursor's X or the flag of an undrawable value.
func (f *frame) xAxis(l Line, flag float64, cursor int) []string {
	if f.axisRows == 0 {
		return nil
	}
	g := l.Theme.Glyphs
	lead := ""
	if f.labelW > 0 {
		lead = layout.PadLeft("", f.labelW-1) + or(g.AxisCorner, "+")
	}
	line := []rune(strings.Repeat(or(g.AxisH, "-"), f.plotW))
	if cursor >= 0 && cursor < len(line) {
		line[cursor] = []rune(or(g.CursorV, ":"))[0]
	}
	axis := l.Theme.Dim.Paint(lead + string(line))
	if Finite(flag) {
		at := 0
		if f.x1 > f.x0 {
			at = int((flag - f.x0) / (f.x1 - f.x0) * float64(f.plotW-1))
		}
		text := or(g.Warn, "!") + "NaN @ " + Label(math.Round(flag), 1)
		if len(text) > f.plotW {
			text = or(g.Warn, "!")
		}
		at = layout.Clamp(at, 0, f.plotW-len(text))
		axis = l.Theme.Dim.Paint(lead+string(line[:at])) + l.Theme.Bad.Paint(text) + l.Theme.Dim.Paint(string(line[at+len(text):]))
	}
	if f.axisRows == 1 {
		return []string{axis}
	}
	left, right := Label(f.x0, 1), strings.TrimSpace(l.XName+" "+Label(f.x1, 1))
	return []string{axis, l.Theme.Dim.Paint(layout.PadLeft("", f.labelW) + layout.Spread(left, right, f.plotW))}
}

func or(s, fallback string) string {
	if s == "" {
		return fallback
	}
	return s
}
