package results

import (
	"fmt"
	"slices"
	"strings"

	"boost-tui/experiment"
	"boost-tui/sweeps"
	"boost-tui/sweeps/space"
)

// CellState is what is known of a cell of a heat map.
type CellState string

// States of a cell. What points of a cell are decides in this order: a figure is worth more than none, what may still
// come more than what went wrong.
const (
	CellMeasured CellState = "measured" // has a value
	CellRunning  CellState = "running"  // runs, and has no value yet
	CellQueued   CellState = "queued"
	CellFailed   CellState = "failed"  // a run failed, or was stopped or cancelled, and has no such figure
	CellNoValue  CellState = "unknown" // finished, but the figure is unknown (no twin, too few steps)
	CellSkipped  CellState = "skipped" // taken out of the queue
	CellPruned   CellState = "pruned"  // cannot run; Why says for what reason
	CellNone     CellState = "none"    // no point of the sweep
)

// Cell of a heat map.
type Cell struct {
	State  CellState `json:"state"`
	Value  float64   `json:"value,omitempty"` // where State is measured
	Row    int       `json:"row"`             // the row that the value is of, of repeats the one in the middle: an index into Table.Rows; -1: none
	Rows   []int     `json:"rows,omitempty"`  // all rows of the cell
	Points int       `json:"points"`          // configurations that Value is the best of; those that have not done their work only where no other has a value
	Marks            // of the value; Overlapped also where it is of another of the points, which alone may be better
	Pruned int       `json:"pruned,omitempty"`
	Why    string    `json:"why,omitempty"` // the first reason of what was pruned, or the cause of what failed

	repeats bool // one of its configurations has several values
}

// Heat is a metric over two axes.
type Heat struct {
	X       string   `json:"x"`
	Y       string   `json:"y"`
	Metric  string   `json:"metric"`
	XValues []string `json:"x_values"` // ascending; "" last: where the axis means nothing
	YValues []string `json:"y_values"`
	Cells   [][]Cell `json:"cells"` // by y, then x
	// Over are the axes along which points of one cell differ; empty: one configuration in each.
	Over []string `json:"over"`
	// Combined says how several points of a cell became one value.
	Combined string  `json:"combined"`
	Least    float64 `json:"least"` // of all values; 0 where there is none
	Most     float64 `json:"most"`
}

// Heat lays a metric out over two keys. Several repeats of one configuration in a cell are combined by their median,
// several configurations by the best of those that have done their work: a cell is the best that one gets there. Filter
// the table first to see a single configuration. Points without a value and pruned points show in a cell that has none.
func (t *Table) Heat(x, y, metric string) (*Heat, error) {
	m, err := MetricOf(metric)
	if err != nil {
		return nil, fmt.Errorf("heat map: %w", err)
	}
	for _, k := range []string{x, y} {
		if _, ok := experiment.KeyOf(k); !ok {
			return nil, fmt.Errorf("heat map: %q is no key of an experiment; the sweep's axes are %s", k, strings.Join(t.Axes, ", "))
		}
	}
	if x == y {
		return nil, fmt.Errorf("heat map: both axes are %s: name two", x)
	}
	h := &Heat{X: x, Y: y, Metric: m.Name, Over: []string{}}
	g := newHeatGrid(t, x, y)
	h.XValues, h.YValues = g.xs.texts(), g.ys.texts()
	h.Cells = make([][]Cell, len(h.YValues))
	for j := range h.Cells {
		h.Cells[j] = make([]Cell, len(h.XValues))
		for i := range h.Cells[j] {
			h.Cells[j][i] = t.cell(g.rows[[2]int{i, j}], g.pruned[[2]int{i, j}], m)
		}
	}
	h.sum(t, m)
	return h, nil
}

// sum says what is true of all cells.
func (h *Heat) sum(t *Table, m Metric) {
	first, most, repeats := true, 0, false
	for _, line := range h.Cells {
		for _, c := range line {
			if c.State == CellMeasured {
				if first || c.Value < h.Least {
					h.Least = c.Value
				}
				if first || c.Value > h.Most {
					h.Most = c.Value
				}
				first = false
			}
			most = max(most, c.Points)
			repeats = repeats || c.repeats
			h.differ(t, c.Rows)
		}
	}
	best := "lowest"
	if m.Higher {
		best = "highest"
	}
	switch {
	case most > 1:
		h.Combined = fmt.Sprintf("the %s of up to %d configurations in a cell", best, most)
		if len(h.Over) > 0 {
			h.Combined += ", over " + strings.Join(h.Over, ", ")
		}
		if repeats {
			h.Combined += "; repeats by their median"
		}
	case repeats:
		h.Combined = "repeats by their median"
	default:
		h.Combined = "one point in a cell"
	}
}

// Notes say what the marks of cells mean, a sentence each; Combined stands beside them.
func (h *Heat) Notes() []string {
	var goesOn, ended, overlapped, emulated, onEmulator bool
	for _, line := range h.Cells {
		for _, c := range line {
			goesOn = goesOn || c.Partial && !c.Unfinished
			ended = ended || c.Unfinished
			overlapped = overlapped || c.Overlapped
			emulated = emulated || c.Emulated
			onEmulator = onEmulator || c.EmulatedDevice
		}
	}
	var out []string
	switch {
	case goesOn && ended:
		out = append(out, signPartial+" A run goes on, or failed, was stopped or was cancelled: the value until then. No finished run of the cell has one.")
	case goesOn:
		out = append(out, signPartial+" A run goes on: the value so far. No finished run of the cell has one.")
	case ended:
		out = append(out, signPartial+" A run failed, was stopped or was cancelled: the value until then. No finished run of the cell has one.")
	}
	if overlapped {
		out = append(out, signOverlapped+" Another run was at work on the machine beside one of the cell's, or beside its twin: times are too long.")
	}
	if onEmulator {
		out = append(out, experiment.EmulatedDevice+": the processor ran the CUDA kernels thread by thread, and the times say nothing about a GPU.")
	}
	if emulated {
		out = append(out, experiment.EmulatedLink+": messages were slowed down, and the times are not this machine's.")
	}
	return out
}

// differ notes axes in which rows of one cell differ.
func (h *Heat) differ(t *Table, rows []int) {
	for _, a := range t.Axes {
		if a == h.X || a == h.Y || a == keySeed || slices.Contains(h.Over, a) {
			continue
		}
		for _, i := range rows {
			v, _ := t.Rows[i].key(a)
			w, _ := t.Rows[rows[0]].key(a)
			if v.Text != w.Text {
				h.Over = append(h.Over, a)
				break
			}
		}
	}
}

func (t *Table) cell(rows []int, pruned []space.Pruned, m Metric) Cell {
	c := Cell{State: CellNone, Row: -1, Rows: rows, Pruned: len(pruned)}
	if len(pruned) > 0 && (len(rows) > 0 || t.passes(pruned)) {
		c.State, c.Why = CellPruned, pruned[0].Reason
	}
	var all []middle
	for _, g := range t.groups(rows) {
		if x := t.middle(g, m); x.n > 0 {
			all = append(all, x)
		}
	}
	best, of := bestOf(all, m)
	if len(best) > 0 {
		x := best[0]
		c.State, c.Value, c.Row, c.Why, c.Points, c.Marks = CellMeasured, x.value, x.row, "", len(of), x.Marks
	}
	for _, x := range of {
		c.repeats = c.repeats || x.n > 1
		c.Overlapped = c.Overlapped || x.Overlapped
	}
	if c.Points == 0 && len(rows) > 0 {
		t.withoutValue(&c)
	}
	return c
}

// withoutValue finds the state of a cell none of whose points has a value.
func (t *Table) withoutValue(c *Cell) {
	order := []CellState{CellRunning, CellQueued, CellFailed, CellNoValue, CellSkipped}
	best := len(order)
	for _, i := range c.Rows {
		if at := slices.Index(order, cellState(t.Rows[i].Status)); at < best {
			best, c.State, c.Row, c.Why = at, order[at], i, t.Rows[i].Cause
		}
	}
}

func cellState(s sweeps.Status) CellState {
	switch s {
	case sweeps.Running:
		return CellRunning
	case sweeps.Queued:
		return CellQueued
	case sweeps.Failed, sweeps.Stopped, sweeps.Cancelled:
		return CellFailed
	case sweeps.Skipped:
		return CellSkipped
	}
	return CellNoValue
}
