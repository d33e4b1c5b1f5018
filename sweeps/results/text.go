package results

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/mattn/go-runewidth"

	"boost-tui/runner"
	"boost-tui/sweeps"
)

// column of a table for people.
type column struct {
	title string
	left  bool // flush left
	worth int  // the columns with the least worth are dropped first where there is no room
	of    func(i int, r *Row) string
}

// columns in their order. front says which rows are on the Pareto front.
func (t *Table) columns(front map[int]bool) []column {
	out := []column{{"", true, 95, func(i int, r *Row) string { return r.signs(front[i]) }}}
	shown := slices.Clone(t.Axes)
	for _, k := range []string{"variant", "scheme", "tp"} { // what tells schemes apart, also where it is no axis
		if !slices.Contains(shown, k) {
			shown = append(shown, k)
		}
	}
	for n, key := range shown {
		worth := 100 - n
		if n >= len(t.Axes) {
			worth = 35
		}
		out = append(out, column{key, !t.numeric(key), worth, func(_ int, r *Row) string { v, _ := r.key(key); return orUnknown(v.Text) }})
	}
	metric := func(name string, worth int) column {
		m, _ := MetricOf(name)
		return column{m.Title, false, worth, func(_ int, r *Row) string {
			v, known := m.Of(r)
			if !known {
				return unknown
			}
			return m.Show(v)
		}}
	}
	interval := column{"95 % interval", false, 40, func(_ int, r *Row) string {
		if ci := r.Figures.StepTimeCI; len(ci) == 2 {
			return millis(ci[0]) + " .. " + millis(ci[1])
		}
		return unknown
	}}
	return append(out,
		column{"state", true, 80, func(_ int, r *Row) string { return r.stateText() }},
		metric(StepTime, 90), interval,
		column{"vs full", false, 89, func(_ int, r *Row) string { return r.marked(r.VsFull) }},
		column{"vs vanilla", false, 88, func(_ int, r *Row) string { return r.marked(r.VsVanilla) }},
		metric("loss_last", 70), metric(Loss, 34), metric(PeakMemory, 65), metric("tokens_per_second", 50), metric(TimePerToken, 32),
		metric("comm", 33), metric("comm_bytes_per_step", 31),
		column{"run", true, 30, func(_ int, r *Row) string { return orUnknown(r.Run) }})
}

// signs stand at the beginning of a row and hold for all of its figures.
func (r *Row) signs(onFront bool) string {
	s := ""
	if onFront {
		s = "*"
	}
	if k := r.Marks(); r.Figures.ID != "" {
		if k.Overlapped {
			s += signOverlapped
		}
		if k.Partial {
			s += signPartial
		}
	}
	return s
}

// stateText is the state, with how far a run is that goes on.
func (r *Row) stateText() string {
	if r.Status == sweeps.Running && r.Steps > 0 && r.Figures.ID != "" {
		return fmt.Sprintf("running %d/%d", r.Figures.Steps, r.Steps)
	}
	if r.Status == sweeps.Stopped && r.Rule != "" {
		return "stopped: " + r.Rule
	}
	return string(r.Status)
}

func orUnknown(s string) string {
	if s == "" {
		return unknown
	}
	return s
}

// numeric reports whether a key's values are numbers.
func (t *Table) numeric(key string) bool {
	return !slices.ContainsFunc(t.Rows, func(r *Row) bool { v, _ := r.key(key); return v.Text != "" && !v.IsNum })
}

// grid is a table of cells.
type grid struct {
	columns []column
	cells   [][]string
	widths  []int
}

func (t *Table) grid() *grid {
	front := map[int]bool{}
	for _, i := range t.Pareto().Points {
		front[i] = true
	}
	g := &grid{columns: t.columns(front)}
	for _, c := range g.columns {
		g.widths = append(g.widths, runewidth.StringWidth(c.title))
	}
	for i, r := range t.Rows {
		line := make([]string, len(g.columns))
		for k, c := range g.columns {
			line[k] = runner.Clean(c.of(i, r))
			g.widths[k] = max(g.widths[k], runewidth.StringWidth(line[k]))
		}
		g.cells = append(g.cells, line)
	}
	// A column that says nothing of any row only takes room; one that says the same of all may go early.
	for k := len(g.columns) - 1; k >= 0; k-- {
		if c := &g.columns[k]; c.title == "state" && !slices.ContainsFunc(g.cells, func(l []string) bool { return l[k] != string(sweeps.Finished) }) {
			c.worth = 20
		}
		says := slices.ContainsFunc(g.cells, func(l []string) bool { return l[k] != "" && l[k] != unknown })
		if c := g.columns[k]; !says && (c.worth < 80 || c.title == "") {
			g.drop(k)
		}
	}
	return g
}

func (g *grid) drop(k int) {
	g.columns, g.widths = slices.Delete(g.columns, k, k+1), slices.Delete(g.widths, k, k+1)
	for i := range g.cells {
		g.cells[i] = slices.Delete(g.cells[i], k, k+1)
	}
}

// gap is between columns.
const gap = 2

// fit drops the columns of the least worth until the rest has room; the last ones are cut.
func (g *grid) fit(width int) {
	for width > 0 && len(g.columns) > 1 {
		total := -gap
		least := 0
		for k, c := range g.columns {
			total += g.widths[k] + gap
			if c.worth <= g.columns[least].worth {
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
		if g.columns[k].left {
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
	for _, c := range g.columns {
		out = append(out, c.title)
	}
	return out
}

// Text writes the table in lines of at most width cells; 0: as wide as it is. Columns that have no room are left out,
// the least important first. Below it stand what went wrong, what was pruned, the best of each size, and what to know.
func (t *Table) Text(w io.Writer, width int) error {
	var b strings.Builder
	g := t.grid()
	g.fit(width)
	g.line(&b, g.titles(), width)
	for _, cells := range g.cells {
		g.line(&b, cells, width)
	}
	for _, part := range [][]string{t.troubles(), t.prunedLines(), t.bestLines(), t.Notes(), {t.Summary()}} {
		if len(part) > 0 {
			b.WriteByte('\n')
		}
		for _, l := range part {
			for _, wrapped := range wrap(runner.Clean(l), width) {
				b.WriteString(wrapped)
				b.WriteByte('\n')
			}
		}
	}
	if _, err := io.WriteString(w, b.String()); err != nil {
		return fmt.Errorf("write the sweep's table: %w", err)
	}
	return nil
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
