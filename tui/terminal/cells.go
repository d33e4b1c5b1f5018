package terminal

import (
	"strings"
	"unicode/utf8"

	"github.com/charmbracelet/x/ansi"
)

// cell is one character of the screen. The right half of a wide character has
// char 0.
type cell struct {
	char  rune
	style string // escape sequences since the last reset; "" is plain
}

var blank = cell{char: ' '}

// grid is a painted frame.
type grid struct {
	w, h  int
	cells []cell
}

func newGrid(w, h int) *grid {
	g := &grid{w: max(0, w), h: max(0, h)}
	g.cells = make([]cell, g.w*g.h)
	for i := range g.cells {
		g.cells[i] = blank
	}
	return g
}

func (g *grid) row(y int) []cell { return g.cells[y*g.w : (y+1)*g.w] }

// parse draws a frame of lines into a grid. Only SGR sequences mean anything;
// other escape sequences and control characters are dropped, and what is
// outside the grid is not drawn.
func parse(frame string, w, h int) *grid {
	g := newGrid(w, h)
	for y := 0; y < g.h; y++ {
		line, rest, more := strings.Cut(frame, "\n")
		parseLine(line, g.row(y))
		if frame = rest; !more {
			break
		}
	}
	return g
}

func parseLine(s string, row []cell) {
	style, x := "", 0
	for i := 0; i < len(s) && x < len(row); {
		c := s[i]
		switch {
		case c == 0x1b:
			n, sgr := escape(s[i:])
			if sgr {
				style = apply(style, s[i:i+n])
			}
			i += n
		case c < 0x20 || c == 0x7f:
			i++
		case c < 0x7f:
			row[x] = cell{rune(c), style}
			x, i = x+1, i+1
		default:
			r, n := utf8.DecodeRuneInString(s[i:])
			i += n
			switch width(r) {
			case 1:
				row[x] = cell{r, style}
				x++
			case 2:
				if x+1 < len(row) {
					row[x], row[x+1] = cell{r, style}, cell{0, style}
				}
				x += 2
			}
		}
	}
}

// escape is the length of the sequence at the start of s, and whether it is SGR.
func escape(s string) (n int, sgr bool) {
	if len(s) < 2 || s[1] != '[' {
		return min(2, len(s)), false
	}
	for i := 2; i < len(s); i++ {
		if s[i] >= 0x40 && s[i] <= 0x7e {
			return i + 1, s[i] == 'm'
		}
	}
	return len(s), false
}

func apply(style, sequence string) string {
	switch {
	case sequence == "\x1b[0m" || sequence == "\x1b[m":
		return ""
	case style == "":
		return sequence
	}
	return style + sequence
}

func width(r rune) int {
	if r >= 0x2500 && r < 0x25a0 || r >= 0x2800 && r < 0x2900 {
		return 1
	}
	return ansi.StringWidth(string(r))
}
