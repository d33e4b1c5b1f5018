package results

import (
	"slices"
	"strings"

	"github.com/mattn/go-runewidth"

	"boost-tui/runner"
	"boost-tui/sweeps"
)

// heading of a column of a table for people.
type heading struct {
	title string
	left  bool // flush left
	worth int  // the columns with the least worth are dropped first where there is no room
}

// grid is a table of cells.
type grid struct {
	heads  []heading
	cells  [][]string
	widths []int
}

// settle makes the cells safe for a terminal, measures them, and drops columns that say nothing of any row and only take
// room; one that says the same of all may go early.
func (g *grid) settle() {
	for _, h := range g.heads {
		g.widths = append(g.widths, runewidth.StringWidth(h.title))
	}
	for _, line := range g.cells {
		for k := range line {
			line[k] = runner.Clean(line[k])
			g.widths[k] = max(g.widths[k], runewidth.StringWidth(line[k]))
		}
	}
	for k := len(g.heads) - 1; k >= 0; k-- {
		h := &g.heads[k]
		if h.title == "state" && !slices.ContainsFunc(g.cells, func(l []string) bool { return l[k] != string(sweeps.Finished) }) {
			h.worth = 20
		}
		says := slices.ContainsFunc(g.cells, func(l []string) bool { return l[k] != "" && l[k] != unknown })
		if !says && (h.worth < 80 || h.title == "") {
			g.drop(k)
		}
	}
}

func (g *grid) drop(k int) {
	g.heads, g.widths = slices.Delete(g.heads, k, k+1), slices.Delete(g.widths, k, k+1)
	for i := range g.cells {
		g.cells[i] = slices.Delete(g.cells[i], k, k+1)
	}
}

// gap is between columns.
const gap = 2

// fit drops the columns of the least worth until the rest has room; the last ones are cut.
func (g *grid) fit(width int) {
	for width > 0 && len(g.heads) > 1 {
		total := -gap
		least := 0
		for k, c := range g.heads {
			total += g.widths[k] + gap
			if c.worth <= g.heads[least].worth {
				least = k
			}
		}
		if total <= width {
			return
		}
		g.drop(least)
	}
}

func (g *grid) line(b *strings.Builder, cells []string, width int) {
	var l strings.Builder
	for k, c := range cells {
		pad := strings.Repeat(" ", max(0, g.widths[k]-runewidth.StringWidth(c)))
		if k > 0 {
			l.WriteString(strings.Repeat(" ", gap))
		}
		if g.heads[k].left {
			l.WriteString(c + pad)
		} else {
			l.WriteString(pad + c)
		}
	}
	b.WriteString(cut(strings.TrimRight(l.String(), " "), width))
	b.WriteByte('\n')
}

func cut(s string, width int) string {
	if width <= 0 {
		return s
	}
	return runewidth.Truncate(s, width, "…")
}

func (g *grid) titles() []string {
	var out []string
	for _, c := range g.heads {
		out = append(out, c.title)
	}
	return out
}

// wrap breaks a line at spaces; a word that is too long is cut.
func wrap(s string, width int) []string {
	if width <= 0 || runewidth.StringWidth(s) <= width {
		return []string{s}
	}
	var out []string
	line := ""
	for _, word := range strings.Fields(s) {
		switch {
		case line == "":
			line = word
		case runewidth.StringWidth(line)+1+runewidth.StringWidth(word) <= width:
			line += " " + word
		default:
			out, line = append(out, cut(line, width)), "  "+word
		}
	}
	return append(out, cut(line, width))
}
