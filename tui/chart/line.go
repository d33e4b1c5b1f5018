package chart

import (
	"math"
	"strings"

	"boost-tui/tui/layout"
	"boost-tui/tui/theme"
)

// Series is one line of a chart. Later series are drawn over earlier ones.
type Series struct {
	Points Points
	Style  theme.Style
	// Pattern tells lines apart without colours: dashes of dots, or in Plain
	// mode a character of its own. It counts from 0, the solid line.
	Pattern int
	// Marks puts a sign on every point: a few measured values, between which the line only guesses.
	Marks bool
}

// Reference is a horizontal dashed line with a label, such as another run's
// median.
type Reference struct {
	Y     float64
	Label string
	Style theme.Style
}

// Line describes a line chart. The zero value of every option is sensible.
type Line struct {
	Series     []Series
	References []Reference
	Low, High  float64 // X range; both 0: the data's
	Top        float64 // largest Y of the scale, larger values touch the upper edge; 0: the data's
	Log        bool    // logarithmic Y
	Mode       Mode
	Cursor     float64 // X of the cursor line; NaN or outside the range: none
	NoCursor   bool    // ignore Cursor
	Theme      theme.Theme
	XName      string // beside the largest X label
}

// ModeOf is the mode a theme's terminal can show.
func ModeOf(t theme.Theme) Mode {
	if t.ASCII {
		return Plain
	}
	return Braille
}

// Draw returns exactly h lines of w cells: the plot, the Y labels at its left,
// the X axis and its labels below. Undrawable values break their line and put
// a flag on the axis. Too little room drops labels before the plot.
func (l Line) Draw(w, h int) []string {
	if w <= 0 || h <= 0 {
		return nil
	}
	f := l.frame(w, h)
	rows := make([]string, 0, h)
	r := newRaster(f.plotW, f.plotH, l.Mode)
	flag := math.NaN()
	for i := len(l.References) - 1; i >= 0; i-- {
		f.reference(r, l.References[i].Y, int8(-1-i))
	}
	for i, s := range l.Series {
		r.pattern = patternOf(s.Pattern, l.Mode)
		if x, bad := f.series(r, s.Points, int8(min(i, 126)+1)); bad && !(flag <= x) {
			flag = x
		}
		if s.Marks {
			f.mark(r, s.Points, int8(min(i, 126)+1))
		}
	}
	r.pattern = nil
	cursor, labels := f.cursorCell(l), f.labels(l, r.dy)
	for y := 0; y < f.plotH; y++ {
		rows = append(rows, f.label(l, y)+l.row(r, y, cursor, labels))
	}
	rows = append(rows, f.xAxis(l, flag, cursor)...)
	return strings.Split(layout.Fit(strings.Join(rows, "\n"), w, h), "\n")
}

// frame is where everything goes, and the two scales.
type frame struct {
	plotW, plotH, labelW int
	axisRows             int // 0, 1 (line) or 2 (line and labels)
	dotsX, dotsY         int
	x0, x1, y0, y1       float64 // y in scaled (maybe log) units
	log                  bool
	yTicks               map[int]string // by plot row
}

func (l Line) frame(w, h int) frame {
	f := frame{log: l.Log, x0: l.Low, x1: l.High}
	if f.x0 == 0 && f.x1 == 0 {
		f.x0, f.x1 = l.dataRange()
	}
	if !(f.x1 > f.x0) {
		f.x1 = f.x0
	}
	f.axisRows = layout.Clamp(h-2, 0, 2)
	f.plotH = max(1, h-f.axisRows)
	f.yRange(l)
	f.ticks(w)
	f.plotW = max(1, w-f.labelW)
	dx, dy := l.Mode.dots()
	f.dotsX, f.dotsY = f.plotW*dx, f.plotH*dy
	return f
}

func (l Line) dataRange() (low, high float64) {
	low, high = math.Inf(1), math.Inf(-1)
	for _, s := range l.Series {
		if n := s.Points.Len(); n > 0 {
			low, high = min(low, s.Points.X[0]), max(high, s.Points.X[n-1])
		}
	}
	if !Finite(low) || !Finite(high) {
		return 0, 1
	}
	return Clean(low), Clean(high)
}

// yRange finds the scale: the visible data and the references, with a margin
// where all are equal.
func (f *frame) yRange(l Line) {
	low, high, any := math.Inf(1), math.Inf(-1), false
	for _, s := range l.Series {
		p := s.Points.Window(f.x0, f.x1)
		if a, b, ok := Extent(p.Y, l.Log); ok {
			low, high, any = min(low, a), max(high, b), true
		}
	}
	for _, ref := range l.References {
		if Finite(ref.Y) && (!l.Log || ref.Y > 0) {
			low, high, any = min(low, Clean(ref.Y)), max(high, Clean(ref.Y)), true
		}
	}
	if !any {
		low, high = 0, 1
		if l.Log {
			low, high = 1, 10
		}
	}
	if l.Top > low && l.Top < high {
		high = Clean(l.Top)
	}
	if l.Log {
		low, high = math.Log10(low), math.Log10(high)
	}
	if high-low <= math.Abs(high)*1e-9 {
		pad := max(math.Abs(high)*0.05, 1e-9)
		low, high = low-pad, high+pad
	}
	f.y0, f.y1 = low, high
}

// ticks places Y labels on plot rows, at most every third row.
func (f *frame) ticks(w int) {
	f.yTicks = map[int]string{}
	values := Ticks(f.y0, f.y1, max(1, f.plotH/3))
	step := f.y1 - f.y0
	if len(values) > 1 {
		step = values[1] - values[0]
	}
	for _, v := range values {
		row := f.plotH - 1
		if f.y1 > f.y0 && f.plotH > 1 {
			row = int(math.Round((f.y1 - v) / (f.y1 - f.y0) * float64(f.plotH-1)))
		}
		text := Label(v, step)
		if f.log {
			text = Value(math.Pow(10, v))
		}
		f.yTicks[layout.Clamp(row, 0, f.plotH-1)] = text
	}
	for _, text := range f.yTicks {
		f.labelW = max(f.labelW, len(text)+1)
	}
	if f.labelW > w/2 || w < 12 {
		f.labelW, f.yTicks = 0, nil
	}
}

// dotY maps a value to a row of dots; 0 is the top.
func (f *frame) dotY(y float64) int {
	if f.log {
		y = math.Log10(y)
	}
	t := (f.y1 - y) / (f.y1 - f.y0)
	return layout.Clamp(int(math.Round(t*float64(f.dotsY-1))), 0, f.dotsY-1)
}

// series draws one line and returns the X of its first undrawable point.
func (f *frame) series(r *raster, p Points, owner int8) (x float64, bad bool) {
	buckets := Decimate(p.Window(f.x0, f.x1), f.x0, f.x1, f.dotsX, f.log)
	previous, last := -1, 0
	for i, b := range buckets {
		if b.Broken && !bad {
			bad, x = true, b.BrokenAt
		}
		if b.Used {
			first := f.dotY(b.First)
			if previous >= 0 && !b.Start {
				f.join(r, previous, last, i, first, owner)
			}
			r.column(i, f.dotY(b.Max), f.dotY(b.Min), owner)
			previous, last = i, f.dotY(b.Last)
		}
		if b.End {
			previous = -1
		}
	}
	return x, bad
}

// join draws the columns strictly between two points, and meets the second.
func (f *frame) join(r *raster, x0, y0, x1, y1 int, owner int8) {
	from := y0
	for x := x0 + 1; x <= x1; x++ {
		to := y0 + (y1-y0)*(x-x0)/(x1-x0)
		if step := sign(to - from); step != 0 && x <= x1 {
			r.column(x, from+step, to, owner)
		} else {
			r.set(x, to, owner)
		}
		from = to
	}
}

// mark notes the cells of the points that can be drawn.
func (f *frame) mark(r *raster, p Points, owner int8) {
	p = p.Window(f.x0, f.x1)
	for i, x := range p.X {
		if y := p.Y[i]; Finite(y) && (!f.log || y > 0) && f.x1 > f.x0 && x >= f.x0 && x <= f.x1 {
			r.mark(int((x-f.x0)/(f.x1-f.x0)*float64(f.dotsX-1)), f.dotY(Clean(y)), owner)
		}
	}
}

func sign(v int) int {
	switch {
	case v < 0:
		return -1
	case v > 0:
		return 1
	}
	return 0
}

// reference draws a dashed line.
func (f *frame) reference(r *raster, y float64, owner int8) {
	if !Finite(y) || (f.log && y <= 0) {
		return
	}
	row := f.dotY(Clean(y))
	for x := 0; x < f.dotsX; x++ {
		if x/r.dx%2 == 0 {
			r.set(x, row, owner)
		}
	}
}
