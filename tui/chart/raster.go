package chart

import "math/bits"

// Mode is how a line is drawn.
type Mode int

// The modes: 2x4 dots per cell, half-height blocks, or one character per cell.
const (
	Braille Mode = iota
	Block
	Plain
)

func (m Mode) dots() (x, y int) {
	switch m {
	case Braille:
		return 2, 4
	case Block:
		return 1, 2
	}
	return 1, 1
}

// raster is a grid of dots: per cell a bit mask, and the series that drew there
// last. A cell of several series shows the dots of all in the last one's style.
type raster struct {
	w, h, dx, dy int
	mode         Mode
	mask         []uint8
	owner        []int8
	pattern      []bool       // which dots of a row are drawn, over and over; nil: all
	marks        map[int]int8 // cells that have a sign, by whose point is there
}

func newRaster(w, h int, mode Mode) *raster {
	dx, dy := mode.dots()
	return &raster{w: w, h: h, dx: dx, dy: dy, mode: mode, mask: make([]uint8, w*h), owner: make([]int8, w*h)}
}

var brailleBits = [4][2]uint8{{0x01, 0x08}, {0x02, 0x10}, {0x04, 0x20}, {0x40, 0x80}}

// set draws the dot (x, y); y counts from the top.
func (r *raster) set(x, y int, owner int8) {
	if x < 0 || y < 0 || x >= r.w*r.dx || y >= r.h*r.dy {
		return
	}
	if len(r.pattern) > 0 && !r.pattern[x%len(r.pattern)] {
		return
	}
	cell := y/r.dy*r.w + x/r.dx
	bit := uint8(1)
	switch r.mode {
	case Braille:
		bit = brailleBits[y%4][x%2]
	case Block:
		bit = 1 << (y % 2)
	}
	r.mask[cell] |= bit
	r.owner[cell] = owner
}

// mark puts a sign on the cell of a dot.
func (r *raster) mark(x, y int, owner int8) {
	if x < 0 || y < 0 || x >= r.w*r.dx || y >= r.h*r.dy {
		return
	}
	if r.marks == nil {
		r.marks = map[int]int8{}
	}
	r.marks[y/r.dy*r.w+x/r.dx] = owner
}

// column draws the dots from y0 to y1 of column x.
func (r *raster) column(x, y0, y1 int, owner int8) {
	if y0 > y1 {
		y0, y1 = y1, y0
	}
	for y := max(0, y0); y <= min(y1, r.h*r.dy-1); y++ {
		r.set(x, y, owner)
	}
}

// rune of a cell's mask; 0 when nothing is there.
func (r *raster) rune(cell int) rune {
	m := r.mask[cell]
	if m == 0 {
		return 0
	}
	switch r.mode {
	case Braille:
		return rune(0x2800 + int(m))
	case Block:
		return []rune{0, '▀', '▄', '█'}[m&3]
	}
	if bits.OnesCount8(m) > 0 {
		return '*'
	}
	return 0
}
