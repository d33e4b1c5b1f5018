package results

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"boost-tui/profiler/stats"
)

// keySeed is the key in which repeats differ.
const keySeed = "seed"

// Configuration is one way of computing over its repeats: points that differ in their seed alone. Its figures are the
// medians of those that have done their work; where none has, of the others.
type Configuration struct {
	Rows    []*Row // its points, in the table's order
	Counted []*Row // of those, the ones that its figures rest on
	Marks          // of any of those

	// Spread is the least and the most of the step times of the counted runs; nil: there are fewer than two.
	Spread []float64
	// VsFull and VsVanilla are those that its repeats share where they are pooled; else the middle of theirs, without an
	// interval where there are several. Their P is the largest of the repeats', and their Verdict what all repeats say: ~ where
	// they differ.
	VsFull, VsVanilla *Versus

	part *Table // of its rows
}

// Configurations is a table with a row for each configuration.
type Configurations struct {
	table *Table
	Rows  []*Configuration // in the order of their first rows; see Sort
}

// Configurations puts the rows together that differ in their seed alone.
func (t *Table) Configurations() *Configurations {
	out := &Configurations{table: t}
	all := make([]int, len(t.Rows))
	for i := range all {
		all[i] = i
	}
	for _, g := range t.groups(all) {
		rows := make([]*Row, len(g.rows))
		for k, i := range g.rows {
			rows[k] = t.Rows[i]
		}
		out.Rows = append(out.Rows, newConfiguration(rows))
	}
	return out
}

// Repeats are the rows of the same configuration as row i, itself included.
func (t *Table) Repeats(i int) []int {
	var out []int
	k := configurationOf(&t.Rows[i].Experiment)
	for j, r := range t.Rows {
		if configurationOf(&r.Experiment) == k {
			out = append(out, j)
		}
	}
	return out
}

func newConfiguration(rows []*Row) *Configuration {
	c := &Configuration{Rows: rows, part: &Table{Rows: rows}}
	measured := func(whole bool) []*Row {
		return slices.DeleteFunc(slices.Clone(rows), func(r *Row) bool { return r.Figures.ID == "" || whole && r.Partial })
	}
	if c.Counted = measured(true); len(c.Counted) == 0 {
		c.Counted = measured(false)
	}
	var times []float64
	for _, r := range c.Counted {
		c.Marks = c.Marks.or(r.Marks())
		if t := r.Figures.StepTimeMedian; t != nil {
			times = append(times, *t)
		}
	}
	if len(times) > 1 {
		c.Spread = []float64{slices.Min(times), slices.Max(times)}
	}
	c.VsFull = pooled(c.Counted, func(r *Row) *Versus { return r.VsFull })
	c.VsVanilla = pooled(c.Counted, func(r *Row) *Versus { return r.VsVanilla })
	return c
}

// Value is the configuration's figure; false: unknown.
func (c *Configuration) Value(m Metric) (float64, bool) {
	v := c.VsFull
	switch m.Name {
	case VsFull:
	case VsVanilla:
		v = c.VsVanilla
	default:
		x := c.part.middle(c.all(), m)
		return x.value, x.n > 0
	}
	if v == nil {
		return 0, false
	}
	return v.Ratio, true
}

func (c *Configuration) all() group {
	g := group{rows: make([]int, len(c.Rows))}
	for i := range g.rows {
		g.rows[i] = i
	}
	return g
}

// Field is what the configuration says under a name: a metric, an axis but for seed, or another key of the experiment.
// false: there is no such name, or its points differ in it.
func (c *Configuration) Field(name string) (Value, bool) {
	if name == keySeed || slices.Contains(plainFields, name) {
		return Value{}, false
	}
	r := c.Rows[0]
	if m := metricNamed(name); m != nil {
		return c.field(m), true
	}
	if v, ok := r.key(name); ok {
		return v, true
	}
	if m := metricTitled(name); m != nil {
		return c.field(m), true
	}
	return Value{}, false
}

func (c *Configuration) field(m *Metric) Value {
	v, known := c.Value(*m)
	if !known {
		return Value{}
	}
	return Value{Text: float(v), Number: v, IsNum: true}
}

// pooled is the speed-up of several rows. Those that have a verdict coming count, the others only where there is none of them.
func pooled(rows []*Row, of func(*Row) *Versus) *Versus {
	var vs []*Versus
	for _, partial := range []bool{false, true} {
		for _, r := range rows {
			if v := of(r); v != nil && v.Partial == partial && len(vs) < len(rows) {
				vs = append(vs, v)
			}
		}
		if len(vs) > 0 {
			break
		}
	}
	if len(vs) == 0 {
		return nil
	}
	out := *vs[0]
	if len(vs) == 1 {
		return &out
	}
	ratios := make([]float64, len(vs))
	shared := true
	var twins []string
	for i, v := range vs {
		ratios[i] = v.Ratio
		shared = shared && v.Ratio == out.Ratio && slices.Equal(v.CI, vs[0].CI) && v.Pooled == out.Pooled
		out.add(v)
		if !slices.Contains(twins, v.Run) {
			twins = append(twins, v.Run)
		}
	}
	if len(twins) > 1 {
		out.Run = ""
	}
	if !shared {
		out.Ratio, out.CI, out.Pooled = stats.Median(ratios).Value, nil, [2]int{len(twins), len(vs)}
	}
	return &out
}

// add takes over what must be said of a speed-up that rests on another one too.
func (v *Versus) add(o *Versus) {
	v.Comparable, v.LossMatches, v.Marks = v.Comparable && o.Comparable, v.LossMatches && o.LossMatches, v.Marks.or(o.Marks)
	for _, d := range o.Differs {
		if !slices.Contains(v.Differs, d) {
			v.Differs = append(slices.Clip(v.Differs), d)
		}
	}
	if v.P != nil && o.P != nil {
		p := math.Max(*v.P, *o.P)
		v.P = &p
	} else {
		v.P = nil
	}
	switch {
	case v.Verdict == "" || o.Verdict == "":
		v.Verdict = ""
	case v.Verdict != o.Verdict:
		v.Verdict = "~"
	}
}

// Sort orders the configurations by an axis, a key or a metric, as Table.Sort does rows.
func (c *Configurations) Sort(by string, desc bool) error {
	if _, ok := newConfiguration([]*Row{{}}).Field(by); !ok {
		names := slices.DeleteFunc(c.table.Fields(), func(f string) bool { return f == keySeed || slices.Contains(plainFields, f) })
		return fmt.Errorf("sort: %q is not what configurations have; there are %s", by, strings.Join(names, ", "))
	}
	sortBy(c.Rows, desc, func(r *Configuration) Value { v, _ := r.Field(by); return v })
	return nil
}

// axes are the table's but for the seed.
func (c *Configurations) axes() []string {
	return slices.DeleteFunc(slices.Clone(c.table.Axes), func(a string) bool { return a == keySeed })
}
