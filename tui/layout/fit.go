package layout

import (
	"strings"

	"github.com/charmbracelet/x/ansi"
)

// Width is the number of cells s takes, escape sequences not counted. s is one
// line.
func Width(s string) int {
	for i := 0; i < len(s); i++ {
		if s[i] < 0x20 || s[i] > 0x7e {
			return ansi.StringWidth(s)
		}
	}
	return len(s)
}

// Cut shortens one line to w cells and ends it with tail where it was cut.
func Cut(s string, w int, tail string) string {
	if w <= 0 {
		return ""
	}
	if Width(s) <= w {
		return s
	}
	if Width(tail) > w {
		tail = ""
	}
	return ansi.Truncate(s, w, tail)
}

// Pad makes one line exactly w cells wide: cut or filled with spaces.
func Pad(s string, w int) string {
	if w <= 0 {
		return ""
	}
	n := Width(s)
	if n > w {
		s = Cut(s, w, "")
		n = Width(s)
	}
	return s + spaces(w-n)
}

// PadLeft is Pad with the text at the right edge.
func PadLeft(s string, w int) string {
	if n := Width(s); n < w {
		return spaces(w-n) + s
	}
	return Pad(s, w)
}

// Spread puts left and right at the two ends of a line of w cells. The right
// part goes first when there is no room for both.
func Spread(left, right string, w int) string {
	gap := w - Width(left) - Width(right)
	if gap < 1 {
		return Pad(left, w)
	}
	return left + spaces(gap) + right
}

// Fit makes s exactly w x h cells: every line cut or padded, lines dropped or
// added. It is the last call of every View.
func Fit(s string, w, h int) string {
	if w <= 0 || h <= 0 {
		return ""
	}
	var b strings.Builder
	b.Grow(len(s) + w*h/2)
	for i := 0; i < h; i++ {
		if i > 0 {
			b.WriteByte('\n')
		}
		line, rest, _ := strings.Cut(s, "\n")
		s = rest
		b.WriteString(Pad(line, w))
	}
	return b.String()
}

// Beside joins blocks of equal height side by side; shorter ones are filled
// with nothing, so give blocks that went through Fit.
func Beside(blocks ...string) string {
	var columns [][]string
	height := 0
	for _, block := range blocks {
		if block == "" {
			continue
		}
		lines := strings.Split(block, "\n")
		columns = append(columns, lines)
		height = max(height, len(lines))
	}
	var b strings.Builder
	for i := 0; i < height; i++ {
		if i > 0 {
			b.WriteByte('\n')
		}
		for _, lines := range columns {
			if i < len(lines) {
				b.WriteString(lines[i])
			}
		}
	}
	return b.String()
}

// Stack joins non-empty blocks one under the other.
func Stack(blocks ...string) string {
	kept := blocks[:0:0]
	for _, block := range blocks {
		if block != "" {
			kept = append(kept, block)
		}
	}
	return strings.Join(kept, "\n")
}

// Overlay draws box over the middle of frame; both are made of lines. frame is
// w x h cells.
func Overlay(frame, box string, w, h int) string {
	lines, over := strings.Split(frame, "\n"), strings.Split(box, "\n")
	width := 0
	for _, line := range over {
		width = max(width, Width(line))
	}
	x, y := max(0, (w-width)/2), max(0, (h-len(over))/2)
	for i, line := range over {
		if y+i >= len(lines) {
			break
		}
		base := lines[y+i]
		lines[y+i] = Pad(ansi.Truncate(base, x, ""), x) + Pad(line, min(width, w-x)) + ansi.TruncateLeft(base, x+width, "")
	}
	return strings.Join(lines, "\n")
}

const blank = "                                                                                                                                "

func spaces(n int) string {
	if n <= 0 {
		return ""
	}
	if n <= len(blank) {
		return blank[:n]
	}
	return strings.Repeat(" ", n)
}
