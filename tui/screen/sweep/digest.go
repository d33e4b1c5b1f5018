package sweep

import (
	"cmp"
	"slices"

	"boost-tui/sweeps"
	"boost-tui/sweeps/results"
	"boost-tui/tui/screen"
	widget "boost-tui/tui/widget/table"
)

// digest is what follows from a view alone. It is worked out in the Cmd that
// read the view, for a sweep may have many points.
type digest struct {
	index   map[string]*sweeps.PointState // points by id
	ids     map[string]bool
	order   []*sweeps.PointState    // as in the queue pane
	names   *names                  // how points are called there
	rows    map[string]*results.Row // by point
	front   map[string]bool         // points of the Pareto front
	best    map[string]bool         // the fastest point of each size
	axes    []string                // that a heat map can have, the sweep's own first
	own     int                     // how many those are
	columns []widget.Column         // of the results
	notes   []string                // what to know to trust the figures
	twins   bool                    // points are held against a full-rank twin, now or when both have run
}

// digestOf works it out; what the one before has and cannot have changed is taken
// from there.
func digestOf(view *screen.SweepView, before *digest) *digest {
	d := &digest{index: make(map[string]*sweeps.PointState, len(view.State.Points)), ids: make(map[string]bool, len(view.State.Points)), order: queuePoints(view.State), rows: map[string]*results.Row{}}
	for _, p := range view.State.Points {
		d.index[p.ID], d.ids[p.ID] = p, true
		d.twins = d.twins || p.Full != "" && p.Full != p.ID
	}
	if before != nil && len(before.index) == len(d.index) { // points come, and never go or get other labels
		d.names = before.names
	} else {
		d.names = namesOf(view.State.Points)
	}
	t := view.Table
	if t == nil {
		return d
	}
	for _, r := range t.Rows {
		d.rows[r.Point] = r
	}
	d.front, d.best = map[string]bool{}, map[string]bool{}
	front := t.Pareto()
	for _, i := range front.Points {
		d.front[t.Rows[i].Point] = true
	}
	for _, b := range t.BestPerSize() {
		if b.Fastest >= 0 {
			d.best[t.Rows[b.Fastest].Point] = true
		}
	}
	d.axes, d.own = heatAxes(t)
	d.columns, d.notes = resultColumns(t, front), t.Notes()
	return d
}

// statusOrder of the rows: what moves first, then what waits, then what went wrong.
var statusOrder = map[sweeps.Status]int{sweeps.Running: 0, sweeps.Queued: 1, sweeps.Failed: 2, sweeps.Stopped: 3, sweeps.Cancelled: 4, sweeps.Skipped: 5, sweeps.Finished: 6}

// queuePoints are the points in the order of the queue pane.
func queuePoints(st *sweeps.State) []*sweeps.PointState {
	place := make(map[string]int, len(st.Queue))
	for i, p := range st.Queue {
		place[p.ID] = i
	}
	out := slices.Clone(st.Points)
	slices.SortStableFunc(out, func(a, b *sweeps.PointState) int {
		return cmp.Or(cmp.Compare(statusOrder[a.Status], statusOrder[b.Status]), cmp.Compare(place[a.ID], place[b.ID]))
	})
	return out
}

// heatAxes are the axes that a map can have: those of the sweep, own of them, and
// what every experiment has, with several values.
func heatAxes(t *results.Table) (axes []string, own int) {
	for i, name := range append(slices.Clone(t.Axes), "scheme", "variant", "tp", "rank", "size") {
		if name != "seed" && !slices.Contains(axes, name) && several(t, name) {
			axes = append(axes, name)
		}
		if i < len(t.Axes) {
			own = len(axes)
		}
	}
	return axes, own
}

func several(t *results.Table, name string) bool {
	first := ""
	for _, r := range t.Rows {
		if v, _ := r.Field(name); v.Text != "" && first != "" && v.Text != first {
			return true
		} else if first == "" {
			first = v.Text
		}
	}
	return false
}
