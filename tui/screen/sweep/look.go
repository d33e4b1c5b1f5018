package sweep

import (
	"slices"

	"boost-tui/sweeps/results"
	"boost-tui/tui/layout"

	tea "github.com/charmbracelet/bubbletea"
)

// look is how the results are looked at: filter, order, and the heat map's axes.
type look struct {
	Filter string `json:"filter,omitempty"`
	Sort   string `json:"sort,omitempty"` // a field; "": in planned order
	Down   bool   `json:"down,omitempty"`
	Only   string `json:"only,omitempty"` // onlyFront, onlyBest, or "" for all
	X      string `json:"x,omitempty"`    // of the heat map; "": chosen for the sweep
	Y      string `json:"y,omitempty"`
	Metric string `json:"metric,omitempty"`
}

// What the table can be reduced to.
const (
	onlyFront = "pareto"
	onlyBest  = "best"
)

// looked is a table looked at in one way. Nothing in it changes afterwards.
type looked struct {
	gen    uint64
	look   look           // with what was chosen
	rows   []*results.Row // that pass the filter, in order
	all    int            // rows before it
	passed int            // rows that pass the filter
	fault  string         // what of the filter makes no sense

	grid   *results.Heat // nil: the sweep has no two axes with several values
	from   *results.Table
	unsure [][]unsure // by cell: why its figure may change
	err    error      // why there is no heat map
}

// relook works out what the results show, in a Cmd: a sweep may have many rows.
func (m *Model) relook() tea.Cmd {
	t := m.table()
	if t == nil {
		m.seen = looked{}
		m.rebuildResults()
		return nil
	}
	gen, d, l := m.glance.Start(), m.shown.digest, m.look.or(m.shown.chosen)
	return func() tea.Msg {
		out := l.at(t, d)
		out.gen = gen
		return out
	}
}

// at looks at a table.
func (l look) at(t *results.Table, d *digest) looked {
	out := looked{look: l, all: len(t.Rows)}
	keep, err := t.Where(l.Filter)
	if err != nil {
		out.fault = layout.Clean(err.Error())
	}
	passed := t.Filter(keep)
	out.passed = len(passed.Rows)
	shown := passed.Filter(func(r *results.Row) bool {
		return (l.Only != onlyFront || d.front[r.Point]) && (l.Only != onlyBest || d.best[r.Point])
	})
	if l.Sort != "" && shown.Sort(l.Sort, l.Down) != nil {
		out.look.Sort = "" // of an earlier session
	}
	out.rows = shown.Rows
	out.heat(passed, d)
	return out
}

// heat lays the map out.
func (o *looked) heat(t *results.Table, d *digest) {
	if len(d.axes) < 2 {
		return
	}
	if !slices.Contains(d.axes, o.look.X) || !slices.Contains(d.axes, o.look.Y) || o.look.X == o.look.Y {
		o.look.X, o.look.Y = defaultAxes(d.axes, d.own)
	}
	if _, err := results.MetricOf(o.look.Metric); err != nil {
		o.look.Metric = results.StepTime
		if d.twins {
			o.look.Metric = results.VsFull
		}
	}
	o.from = t
	if o.grid, o.err = t.Heat(o.look.X, o.look.Y, o.look.Metric); o.err == nil {
		o.unsure = unsureOf(o.grid, t, d)
	}
}

// or is the look with what its user has not chosen as it was chosen before: the
// map of a sweep does not change its figure or its axes by itself.
func (l look) or(chosen look) look {
	if l.X == "" && l.Y == "" {
		l.X, l.Y = chosen.X, chosen.Y
	}
	if l.Metric == "" {
		l.Metric = chosen.Metric
	}
	return l
}

// defaultAxes are rank over tp where they are there, else the last two of the
// sweep's own, which come first.
func defaultAxes(axes []string, own int) (x, y string) {
	if slices.Contains(axes, "rank") && slices.Contains(axes, "tp") {
		return "rank", "tp"
	}
	axes = axes[:max(2, own)]
	return axes[len(axes)-1], axes[len(axes)-2]
}

// glanced shows what a look found, unless another one was begun since.
func (m *Model) glanced(in looked) (news bool) {
	if !m.glance.Mine(m.glance.Source, in.gen) {
		return false
	}
	m.seen = in
	if in.grid != nil {
		m.shown.chosen = look{X: in.look.X, Y: in.look.Y, Metric: in.look.Metric}
	}
	m.heat.settle(in.grid)
	m.rebuildResults()
	return true
}
