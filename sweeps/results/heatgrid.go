package results

import (
	"cmp"
	"slices"

	"boost-tui/experiment"
	"boost-tui/sweeps"
	"boost-tui/sweeps/space"
)

// ticks are the values along an axis.
type ticks struct {
	values []Value
	places map[string]int // by text
}

func (k *ticks) add(v Value) {
	if k.places == nil {
		k.places = map[string]int{}
	}
	if _, there := k.places[v.Text]; !there {
		k.places[v.Text] = len(k.values)
		k.values = append(k.values, v)
	}
}

// sort puts numbers in ascending order, texts in the order in which they came, nothing last.
func (k *ticks) sort() {
	slices.SortStableFunc(k.values, func(a, b Value) int {
		if c := cmp.Compare(one(a.Text == ""), one(b.Text == "")); c != 0 || !a.IsNum || !b.IsNum {
			return c
		}
		return cmp.Compare(a.Number, b.Number)
	})
	for i, v := range k.values {
		k.places[v.Text] = i
	}
}

func (k *ticks) texts() []string {
	out := make([]string, len(k.values))
	for i, v := range k.values {
		out[i] = v.Text
	}
	return out
}

// heatGrid says what stands in which cell, by the places of its x and y among the ticks.
type heatGrid struct {
	xs, ys ticks
	rows   map[[2]int][]int
	pruned map[[2]int][]space.Pruned
}

func newHeatGrid(t *Table, x, y string) *heatGrid {
	g := &heatGrid{rows: map[[2]int][]int{}, pruned: map[[2]int][]space.Pruned{}}
	px, py := newPrunedKey(t.base, x), newPrunedKey(t.base, y)
	var vx, vy []Value
	for _, r := range t.Rows {
		a, _ := r.key(x)
		b, _ := r.key(y)
		vx, vy = append(vx, a), append(vy, b)
	}
	for _, p := range t.Pruned {
		vx, vy = append(vx, px.of(p)), append(vy, py.of(p))
	}
	for i := range vx {
		g.xs.add(vx[i])
		g.ys.add(vy[i])
	}
	g.xs.sort()
	g.ys.sort()
	for i := range vx {
		at := [2]int{g.xs.places[vx[i].Text], g.ys.places[vy[i].Text]}
		if i < len(t.Rows) {
			g.rows[at] = append(g.rows[at], i)
		} else {
			g.pruned[at] = append(g.pruned[at], t.Pruned[i-len(t.Rows)])
		}
	}
	return g
}

// prunedKey reads a key of pruned points, of which there may be many more than rows: mostly what the point sets.
type prunedKey struct {
	base experiment.Experiment
	key  experiment.Key
	seen map[string]Value // by the text that is set
}

func newPrunedKey(base experiment.Experiment, name string) *prunedKey {
	k, _ := experiment.KeyOf(name)
	return &prunedKey{base, k, map[string]Value{}}
}

func (k *prunedKey) of(p space.Pruned) Value {
	for _, s := range slices.Backward(p.Set) {
		if s.Key != k.key.Name {
			continue
		}
		v, ok := k.seen[s.Value]
		if !ok {
			e := k.base
			if err := e.Set(s.Key, s.Value); err != nil {
				v = Value{Text: s.Value} // what is wrong with it, the point's reason says
			} else {
				v = valueOf(k.key, &e)
			}
			k.seen[s.Value] = v
		}
		return v
	}
	v, _ := prunedRow(k.base, p).key(k.key.Name)
	return v
}

// prunedRow is a pruned point as a row that has no run. What is wrong with it, its reason says.
func prunedRow(base experiment.Experiment, p space.Pruned) *Row {
	r := &Row{Label: p.Point, Status: statusPruned, Cause: p.Reason}
	for _, s := range p.Set {
		_ = base.Set(s.Key, s.Value) // what cannot be set is open
	}
	e, err := base.Resolve()
	if err != nil {
		e = base
	}
	r.describe(e)
	return r
}

// statusPruned is what filters see of a point that never became one of the queue.
const statusPruned sweeps.Status = "pruned"

// passes reports whether one of the pruned points of a cell passes the filters of the table; of many, it looks at the first.
func (t *Table) passes(pruned []space.Pruned) bool {
	const looked = 8
	return len(t.keep) == 0 || slices.ContainsFunc(pruned[:min(len(pruned), looked)], func(p space.Pruned) bool {
		r := prunedRow(t.base, p)
		r.axes = t.Axes
		return !slices.ContainsFunc(t.keep, func(keep func(*Row) bool) bool { return !keep(r) })
	})
}
