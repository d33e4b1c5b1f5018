package results

import (
	"cmp"
	"slices"

	"boost-tui/experiment"
	"boost-tui/sweeps/space"
)

// ticks are the values along an axis.
type ticks struct{ values []Value }

func (k *ticks) add(v Value) {
	if !slices.ContainsFunc(k.values, func(o Value) bool { return o.Text == v.Text }) {
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
}

func (k *ticks) texts() []string {
	out := make([]string, len(k.values))
	for i, v := range k.values {
		out[i] = v.Text
	}
	return out
}

func (k *ticks) at(v Value) int {
	return slices.IndexFunc(k.values, func(o Value) bool { return o.Text == v.Text })
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
		at := [2]int{g.xs.at(vx[i]), g.ys.at(vy[i])}
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
				v = valueOf(k.key, e)
			}
			k.seen[s.Value] = v
		}
		return v
	}
	e, _ := spell(k.base, p.Set)
	r := &Row{}
	r.describe(e)
	v, _ := r.key(k.key.Name)
	return v
}
