package results

import (
	"fmt"
	"io"
	"slices"
	"strings"

	"boost-tui/experiment"
	"boost-tui/runner"
	"boost-tui/sweeps"
)

// column of a table of rows.
type column struct {
	heading
	of func(i int, r *Row) string
}

// columns in their order. front says which rows are on the Pareto front.
func (t *Table) columns(front map[int]bool) []column {
	out := []column{{heading{"", true, 95}, func(i int, r *Row) string { return r.signs(front[i]) }}}
	if t.emulated() { // before anything that is measured
		out = append(out, column{linkHeading(), func(_ int, r *Row) string { return orUnknown(r.Link()) }})
	}
	if t.onEmulator() {
		out = append(out, column{emulatorHeading(), func(_ int, r *Row) string { return onOff(r.onEmulator()) }})
	}
	for n, key := range t.shownKeys() {
		worth := 100 - n
		if !slices.Contains(t.Axes, key) {
			worth = 35
		}
		out = append(out, column{heading{key, !t.numeric(key), worth}, func(_ int, r *Row) string { v, _ := r.key(key); return orUnknown(v.Text) }})
	}
	metric := func(name string, worth int) column {
		m, _ := MetricOf(name)
		return column{heading{m.Title, false, worth}, func(_ int, r *Row) string {
			v, known := m.Of(r)
			if !known {
				return unknown
			}
			return m.Show(v)
		}}
	}
	interval := column{heading{"95 % interval", false, 40}, func(_ int, r *Row) string {
		if ci := r.Figures.StepTimeCI; len(ci) == 2 {
			return millis(ci[0]) + " .. " + millis(ci[1])
		}
		return unknown
	}}
	return append(out,
		column{heading{"state", true, 80}, func(_ int, r *Row) string { return r.stateText() }},
		metric(StepTime, 90), interval,
		column{heading{"vs full", false, 89}, func(_ int, r *Row) string { return r.marked(r.VsFull) }},
		column{heading{"vs vanilla", false, 88}, func(_ int, r *Row) string { return r.marked(r.VsVanilla) }},
		metric("loss_last", 70), metric(Loss, 34), metric(PeakMemory, 65), metric("tokens_per_second", 50), metric(TimePerToken, 32),
		metric("comm", 33), metric("comm_bytes_per_step", 31),
		column{heading{"run", true, 30}, func(_ int, r *Row) string { return orUnknown(r.Run) }})
}

// shownKeys are the axes, and what tells schemes apart also where it is no axis. An emulated link has a column of its own.
func (t *Table) shownKeys() []string {
	out := slices.DeleteFunc(slices.Clone(t.Axes), func(key string) bool { return key == "link" && t.emulated() })
	for _, k := range []string{"variant", "scheme", "tp"} {
		if !slices.Contains(out, k) {
			out = append(out, k)
		}
	}
	return out
}

// linkHeading is of the column that goes last, for no figure beside it is this machine's.
func linkHeading() heading { return heading{experiment.EmulatedLink, true, 101} }

// emulated reports whether messages of a row are slowed down to an emulated link.
func (t *Table) emulated() bool {
	return slices.ContainsFunc(t.Rows, func(r *Row) bool { return r.Link() != "" })
}

// emulatorHeading is likewise.
func emulatorHeading() heading { return heading{experiment.EmulatedDevice, true, 101} }

// onEmulator reports whether a row's run is one on the emulated device.
func (t *Table) onEmulator() bool { return slices.ContainsFunc(t.Rows, (*Row).onEmulator) }

// signs stand at the beginning of a row and hold for all of its figures.
func (r *Row) signs(onFront bool) string {
	if r.Figures.ID == "" {
		return signs(Marks{}, onFront)
	}
	return signs(r.Marks(), onFront)
}

func signs(k Marks, onFront bool) string {
	s := ""
	if onFront {
		s = signFront
	}
	if k.Overlapped {
		s += signOverlapped
	}
	if k.Partial {
		s += signPartial
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

func (t *Table) grid() *grid {
	columns := t.columns(t.onFront())
	g := &grid{}
	for _, c := range columns {
		g.heads = append(g.heads, c.heading)
	}
	for i, r := range t.Rows {
		line := make([]string, len(columns))
		for k, c := range columns {
			line[k] = c.of(i, r)
		}
		g.cells = append(g.cells, line)
	}
	g.settle()
	return g
}

// onFront are the rows of the Pareto front.
func (t *Table) onFront() map[int]bool {
	front := map[int]bool{}
	for _, i := range t.Pareto().Points {
		front[i] = true
	}
	return front
}

// numeric reports whether a key's values are numbers.
func (t *Table) numeric(key string) bool {
	return !slices.ContainsFunc(t.Rows, func(r *Row) bool { v, _ := r.key(key); return v.Text != "" && !v.IsNum })
}

// Text writes the table in lines of at most width cells; 0: as wide as it is. Columns that have no room are left out,
// the least important first. Below it stand what went wrong, what was pruned, the best of each size, and what to know.
func (t *Table) Text(w io.Writer, width int) error { return t.write(w, width, t.grid(), t.Notes()) }

// write lays out what a table of the sweep's points begins with, and what stands below it.
func (t *Table) write(w io.Writer, width int, g *grid, notes []string) error {
	var b strings.Builder
	g.fit(width)
	g.line(&b, g.titles(), width)
	for _, cells := range g.cells {
		g.line(&b, cells, width)
	}
	for _, part := range [][]string{t.troubles(), t.prunedLines(), t.bestLines(), notes, {t.Summary()}} {
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
