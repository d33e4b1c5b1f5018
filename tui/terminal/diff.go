package terminal

import (
	"strconv"
)

// joinGap is the number of unchanged cells that are cheaper to write again than
// to jump over.
const joinGap = 6

// diff appends to out what turns the screen from one grid into the other. Equal
// grids give nothing. A nil from, or one of another size, stands for a screen
// that was just cleared.
func diff(out []byte, from, to *grid) []byte {
	if from == nil || from.w != to.w || from.h != to.h {
		from = newGrid(to.w, to.h)
	}
	style := ""
	for y := 0; y < to.h; y++ {
		out = diffRow(out, from.row(y), to.row(y), y, &style)
	}
	if style != "" {
		out = append(out, "\x1b[0m"...)
	}
	return out
}

func diffRow(out []byte, from, to []cell, y int, style *string) []byte {
	end := len(to) // from here on the row is blank
	for end > 0 && to[end-1] == blank {
		end--
	}
	for x := 0; x < len(to); {
		if from[x] == to[x] {
			x++
			continue
		}
		start := x
		if to[start].char == 0 && start > 0 {
			start-- // a wide character is written whole
		}
		last := x
		for i := x; i < len(to) && i-last <= joinGap; i++ {
			if from[i] != to[i] {
				last = i
			}
		}
		out = cursorTo(out, start, y)
		stop := last + 1
		clear := stop > end && stop-max(start, end) > 3
		if clear {
			stop = max(start, end)
		}
		out = cells(out, to[start:stop], style)
		if clear {
			// All that is right of here is blank in the new frame.
			out = setStyle(out, style, "")
			return append(out, "\x1b[K"...)
		}
		x = stop
		for x < len(to) && to[x].char == 0 {
			x++
		}
	}
	return out
}

func cursorTo(out []byte, x, y int) []byte {
	out = append(out, "\x1b["...)
	out = strconv.AppendInt(out, int64(y+1), 10)
	if x > 0 {
		out = append(out, ';')
		out = strconv.AppendInt(out, int64(x+1), 10)
	}
	return append(out, 'H')
}

func cells(out []byte, row []cell, style *string) []byte {
	for _, c := range row {
		if c.char == 0 {
			continue
		}
		out = setStyle(out, style, c.style)
		out = append(out, string(c.char)...)
	}
	return out
}

func setStyle(out []byte, style *string, want string) []byte {
	if *style == want {
		return out
	}
	if *style != "" {
		out = append(out, "\x1b[0m"...)
	}
	*style = want
	return append(out, want...)
}
