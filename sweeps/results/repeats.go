package results

import (
	"slices"
	"strings"

	"boost-tui/profiler/stats"
	"boost-tui/sweeps"
)

// group is a configuration: rows that differ in their seed alone.
type group struct {
	rows []int // indexes into Table.Rows
}

// groups puts rows together by configuration, in the order of their first rows.
func (t *Table) groups(rows []int) []group {
	var out []group
	at := map[configuration]int{}
	for _, i := range rows {
		k := configurationOf(&t.Rows[i].Experiment)
		g, there := at[k]
		if !there {
			g = len(out)
			at[k], out = g, append(out, group{})
		}
		out[g].rows = append(out[g].rows, i)
	}
	return out
}

// finished are the rows whose run did its work.
func (t *Table) finished() []int {
	var out []int
	for i, r := range t.Rows {
		if r.Status == sweeps.Finished {
			out = append(out, i)
		}
	}
	return out
}

// median of a metric over the n of the group's rows that know it.
func (t *Table) median(g group, m Metric) (middle float64, n int) {
	var vs []float64
	for _, i := range g.rows {
		if v, ok := m.Of(t.Rows[i]); ok {
			vs = append(vs, v)
		}
	}
	switch len(vs) {
	case 0:
		return 0, 0
	case 1: // of most points
		return vs[0], 1
	}
	return stats.Median(vs).Value, len(vs)
}

// nearest is the group's row whose metric is nearest to the value: of repeats, the one in the middle.
func (t *Table) nearest(g group, m Metric, value float64) int {
	best, bestOff := -1, 0.0
	for _, i := range g.rows {
		v, ok := m.Of(t.Rows[i])
		if !ok {
			continue
		}
		off := max(v-value, value-v)
		if best < 0 || off < bestOff {
			best, bestOff = i, off
		}
	}
	return best
}

// Front is the points that no other point beats: whatever is better in one of the metrics is worse in another.
type Front struct {
	Metrics []string // step_time_median, or time_per_token where the tokens of a step differ; peak_memory; loss_mean_last_20
	Points  []int    // indexes into Table.Rows, in their order
	Ranked  int      // configurations that were compared
	Left    int      // finished points without one of the figures
}

// Note says in a sentence what the front is.
func (f Front) Note() string {
	titles := map[string]string{StepTime: "step time", TimePerToken: "time per token", PeakMemory: "device memory", Loss: "loss (mean of the last 20 steps)"}
	var of []string
	for _, m := range f.Metrics {
		of = append(of, titles[m])
	}
	return "On the front of " + strings.Join(of, ", ") + ": no other of these points is better in one of them and as good in the others. Repeats count once, by their medians."
}

// Pareto is the front of step time, memory and loss among the finished rows that have all three. Repeats count once,
// with the median of their figures, and are on the front together.
func (t *Table) Pareto() Front {
	f := Front{Metrics: []string{t.speed().Name, PeakMemory, Loss}}
	var ms []Metric
	for _, n := range f.Metrics {
		m, _ := MetricOf(n)
		ms = append(ms, m)
	}
	type ranked struct {
		group
		v []float64
	}
	var all, front []ranked
	for _, g := range t.groups(t.finished()) {
		var v []float64
		for _, m := range ms {
			if x, n := t.median(g, m); n > 0 {
				v = append(v, x)
			}
		}
		if len(v) < len(ms) {
			f.Left += len(g.rows)
			continue
		}
		all = append(all, ranked{g, v})
	}
	f.Ranked = len(all)
	// In this order whatever beats a point comes before it, and so does something on the front that does.
	slices.SortStableFunc(all, func(a, b ranked) int { return slices.Compare(a.v, b.v) })
	for _, r := range all {
		if !slices.ContainsFunc(front, func(o ranked) bool { return dominates(o.v, r.v) }) {
			front = append(front, r)
			f.Points = append(f.Points, r.rows...)
		}
	}
	slices.Sort(f.Points)
	return f
}

// dominates reports whether a is nowhere larger than b and somewhere smaller.
func dominates(a, b []float64) bool {
	smaller := false
	for i := range a {
		if a[i] > b[i] {
			return false
		}
		smaller = smaller || a[i] < b[i]
	}
	return smaller
}

// speed is the metric by which the rows' speeds can be compared: the time of a step where all steps have as many
// tokens, else that of a token.
func (t *Table) speed() Metric {
	name := StepTime
	for _, r := range t.Rows {
		if r.Tokens != t.Rows[0].Tokens {
			name = TimePerToken
		}
	}
	m, _ := MetricOf(name)
	return m
}

// Best is what stands out among the finished points of a size. Indexes are into Table.Rows, -1: none is known. Of
// repeats, whose medians count, it is the one in the middle.
type Best struct {
	Size        string
	Points      int    // finished
	Metric      string // by which the fastest is: as in Front
	Fastest     int
	LowestLoss  int // of loss_mean_last_20
	LeastMemory int // of peak_memory
}

// BestPerSize names the best of each size, in the order in which the sizes first stand in the table.
func (t *Table) BestPerSize() []Best {
	speed := t.speed()
	loss, _ := MetricOf(Loss)
	memory, _ := MetricOf(PeakMemory)
	var out []Best
	sizes, of := t.sizes()
	for _, size := range sizes {
		gs := t.groups(of[size])
		b := Best{Size: size, Points: len(of[size]), Metric: speed.Name, Fastest: t.best(gs, speed), LowestLoss: t.best(gs, loss), LeastMemory: t.best(gs, memory)}
		if b.Points > 0 {
			out = append(out, b)
		}
	}
	return out
}

// sizes are those of all rows in their order, with the finished rows of each.
func (t *Table) sizes() (sizes []string, finished map[string][]int) {
	finished = map[string][]int{}
	for i, r := range t.Rows {
		of, there := finished[r.Size]
		if !there {
			sizes = append(sizes, r.Size)
		}
		if r.Status == sweeps.Finished {
			of = append(of, i)
		}
		finished[r.Size] = of
	}
	return sizes, finished
}

// best is the row in the middle of the best group; of equals, the first.
func (t *Table) best(gs []group, m Metric) int {
	at, top := -1, 0.0
	for _, g := range gs {
		if v, n := t.median(g, m); n > 0 && (at < 0 || m.Better(v, top)) {
			at, top = t.nearest(g, m, v), v
		}
	}
	return at
}
