package compare

import (
	"cmp"
	"math"
	"slices"
	"strconv"

	profile "boost-tui/profiler/compare"
	"boost-tui/profiler/stats"
	"boost-tui/tui/format"
	"boost-tui/tui/layout"
	"boost-tui/tui/pick"
	"boost-tui/tui/widget/stepbar"
	"boost-tui/tui/widget/table"
)

// columns of the table; those with the largest Drop go first where room is
// short. The details (enter) have everything. That of the mark is there where a
// run has one, and gives way last.
func columns(marked bool) []table.Column {
	all := []table.Column{
		{ID: "run", Title: "run", Width: 6}, {ID: "emulated", Title: pick.EmulatedTitle, Keep: true}, {ID: "variant", Title: "variant", Width: 7}, {ID: "scheme", Title: "scheme", Width: 9},
		{ID: "tp", Title: "tp", Width: 2, Right: true, Drop: 5}, {ID: "rank", Title: "r", Width: 4, Right: true, Drop: 6},
		{ID: "step", Title: "step ms", Width: 7, Right: true}, {ID: "ci", Title: "95 % interval", Width: 14, Drop: 4}, {ID: "p95", Title: "p95", Width: 7, Right: true, Drop: 7},
		{ID: "tokens", Title: "tok/s", Width: 7, Right: true, Drop: 3}, {ID: "full", Title: "vs full", Width: 8, Right: true}, {ID: "fullci", Title: "interval", Width: 12, Drop: 9},
		{ID: "vanilla", Title: "vs van", Width: 8, Right: true}, {ID: "vanillaci", Title: "interval", Width: 12, Drop: 8}, {ID: "exposed", Title: "exp.comm", Width: 8, Right: true, Drop: 1},
		{ID: "bytes", Title: "bytes", Width: 8, Right: true, Drop: 2}, {ID: "memory", Title: "memory", Width: 8, Right: true, Drop: 2}, {ID: "loss", Title: "loss", Width: 7, Right: true, Drop: 2},
		{ID: "n", Title: "n", Width: 4, Right: true, Drop: 10},
	}
	if !marked {
		all = slices.Delete(all, 1, 2)
	}
	return all
}

// sorts are what the rows can be ordered by; the first keeps references first.
var sorts = []struct {
	name, column string
	of           func(*profile.Row) float64
}{
	{"references first", "", nil},
	{"step time", "step", func(r *profile.Row) float64 { return number(r.StepTimeMedian) }},
	{"mean tokens per second", "tokens", func(r *profile.Row) float64 { return number(r.TokensPerSecond) }},
	{"speed-up over the baseline", "full", func(r *profile.Row) float64 { return ratio(r.VsFull) }},
	{"speed-up over the vanilla reference", "vanilla", func(r *profile.Row) float64 { return ratio(r.VsVanilla) }},
	{"exposed communication", "exposed", exposedShare},
	{"bytes per step", "bytes", func(r *profile.Row) float64 { return integer(r.CommBytesPerStep) }},
	{"memory", "memory", func(r *profile.Row) float64 { return integer(r.PeakMemory) }},
	{"loss", "loss", func(r *profile.Row) float64 { return number(r.LossLast) }},
}

// number is a figure or NaN.
func number(v *float64) float64 {
	if v == nil {
		return math.NaN()
	}
	return *v
}

func integer(v *int64) float64 {
	if v == nil {
		return math.NaN()
	}
	return float64(*v)
}

func ratio(s *profile.Speedup) float64 {
	if s == nil {
		return math.NaN()
	}
	return s.Ratio
}

// exposedShare is the exposed communication as a share of the mean step.
func exposedShare(r *profile.Row) float64 {
	p := stepbar.Of(r.Breakdown)
	if sum := p.Sum(); sum > 0 {
		return p.Exposed / sum
	}
	return math.NaN()
}

// rebuild puts the result's rows into the table, in order.
func (m *Model) rebuild() {
	rows := slices.Clone(m.result.table.Rows)
	m.order(rows)
	out := make([]table.Row, len(rows))
	for i := range rows {
		out[i] = m.tableRow(&rows[i])
	}
	m.table.Columns = columns(len(m.marked()) > 0)
	for i := range rows {
		m.table.Columns[0].Width = max(m.table.Columns[0].Width, min(20, layout.Width(m.label(rows[i].ID))+2))
	}
	for i := range m.table.Columns {
		for role, id := range [2]string{"full", "vanilla"} {
			if c := &m.table.Columns[i]; c.ID == id {
				_, _, head, _ := m.reference(pick.Role(role))
				c.Title = "vs " + head
			}
		}
	}
	m.table.Sort, m.table.Down = sorts[m.sort].column, m.down
	m.table.SetRows(out)
}

// order sorts rows; what is not known goes last.
func (m *Model) order(rows []profile.Row) {
	of := sorts[m.sort].of
	slices.SortStableFunc(rows, func(a, b profile.Row) int {
		if of == nil {
			return cmp.Compare(m.place(a.ID), m.place(b.ID))
		}
		x, y := of(&a), of(&b)
		switch {
		case math.IsNaN(x) && math.IsNaN(y):
			return 0
		case math.IsNaN(x):
			return 1
		case math.IsNaN(y):
			return -1
		case m.down:
			x, y = y, x
		}
		return cmp.Compare(x, y)
	})
}

// place orders the references before the others.
func (m *Model) place(id string) int {
	switch id {
	case m.result.table.Baseline:
		return 0
	case m.result.table.Vanilla:
		return 1
	}
	return 2
}

// label names a run in a few cells: by its name where no other row has it,
// else by the ending of its id, which tells runs apart.
func (m *Model) label(id string) string {
	if in, ok := m.info(id); ok && in.Run.Name != "" && m.named(in.Run.Name) == 1 {
		return layout.Clean(in.Run.Name)
	}
	return pick.Short(id)
}

// reference is the run of a role, how it is called, and the head of its column.
func (m *Model) reference(role pick.Role) (ref profile.Row, name, head string, ok bool) {
	id := m.result.table.Baseline
	if role == pick.Vanilla {
		id = m.result.table.Vanilla
	}
	if ref, ok = m.find(id); !ok {
		return ref, "", pick.Head(role, [2]string{"full-rank", "vanilla"}[role]), false
	}
	return ref, pick.Against(role, ref.Scheme, m.label(id)), pick.Head(role, ref.Scheme), true
}

// named counts the rows with a name.
func (m *Model) named(name string) (n int) {
	for i := range m.result.table.Rows {
		if m.result.table.Rows[i].Name == name {
			n++
		}
	}
	return n
}

// weak reports whether a run's figures are too few for a verdict.
func weak(r *profile.Row) bool { return r.Short || r.Kept < stats.VerdictSteps }

func (m *Model) tableRow(r *profile.Row) table.Row {
	t := m.env.Theme
	doubt := weak(r) || beside(r) || !r.Comparable
	in, _ := m.info(r.ID)
	rank := t.Glyphs.Dash
	if k := in.Run.Experiment.Model.Rank; k > 0 {
		rank = strconv.Itoa(k)
	}
	cell := func(s string) table.Cell { return table.Cell{Text: s} }
	grey := func(s string, dim bool) table.Cell {
		if !dim {
			return cell(s)
		}
		return table.Cell{Text: s, Style: t.Dim}
	}
	full, fullSure := m.speedup(r, pick.Baseline)
	vanilla, vanillaSure := m.speedup(r, pick.Vanilla)
	step := format.Millis(number(r.StepTimeMedian))
	if beside(r) {
		step = t.Glyphs.Warn + step
	}
	name := m.label(r.ID)
	if !in.State.Over() && in.ID != "" {
		name += " " + t.Glyphs.Running
	}
	cells := []table.Cell{cell(name), cell(layout.Clean(r.Variant)), cell(layout.Clean(r.Scheme)), cell(strconv.Itoa(r.TP)), cell(rank),
		cell(step), grey(interval(r.CI, 1e3, 1), doubt), cell(format.Millis(number(r.StepTimeP95))), cell(tokens(r)),
		grey(full, !fullSure), grey(speedupCI(r.VsFull), !fullSure), grey(vanilla, !vanillaSure), grey(speedupCI(r.VsVanilla), !vanillaSure),
		cell(percent(exposedShare(r))), cell(size(r.CommBytesPerStep)), cell(size(r.PeakMemory)), cell(m.loss(r)), cell(strconv.Itoa(r.Kept) + m.shortMark(r))}
	if len(m.marked()) > 0 {
		cells = slices.Insert(cells, 1, table.Cell{Text: pick.EmulatedCell(r.EmulatedMark()), Style: t.Warn})
	}
	return table.Row{ID: r.ID, Sign: m.sign(r), Cells: cells}
}

// beside reports whether other runs of the host ran at the same time, so that
// they slowed each other.
func beside(r *profile.Row) bool { return len(r.Overlapped) > 0 }

// sign is B or V for a reference, ≠ for a run that cannot be compared, ! for
// one that other runs slowed, ~ for a short one.
func (m *Model) sign(r *profile.Row) string {
	g := m.env.Theme.Glyphs
	switch {
	case !r.Comparable && m.env.Theme.ASCII:
		return g.Warn
	case !r.Comparable:
		return "≠"
	case r.ID == m.result.table.Baseline:
		return g.Baseline
	case r.ID == m.result.table.Vanilla:
		return g.Vanilla
	case beside(r):
		return g.Warn
	case weak(r):
		return "~"
	}
	return " "
}

func (m *Model) shortMark(r *profile.Row) string {
	if weak(r) {
		return "~"
	}
	return ""
}
