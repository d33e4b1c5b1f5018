package results

import (
	"slices"

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

// middle is a metric of a configuration: the median over its repeats. Those that have not done their work count only
// where no other does.
type middle struct {
	Marks
	value float64
	n     int // runs that it rests on; 0: nothing is known
	row   int // the one whose figure is nearest: an index into Table.Rows
}

func (t *Table) middle(g group, m Metric) middle {
	var vs []float64
	var rows []int
	out := middle{Marks: Marks{Partial: true}, row: -1}
	for _, i := range g.rows {
		v, ok := m.Of(t.Rows[i])
		k := m.Marks(t.Rows[i])
		if !ok || k.Partial && !out.Partial {
			continue
		}
		if out.Partial && !k.Partial {
			vs, rows, out.Marks = vs[:0], rows[:0], Marks{}
		}
		vs, rows, out.Marks = append(vs, v), append(rows, i), out.or(k)
	}
	out.n = len(vs)
	switch out.n {
	case 0:
		return middle{row: -1}
	case 1: // of most points
		out.value, out.row = vs[0], rows[0]
		return out
	}
	out.value = stats.Median(vs).Value
	out.row = rows[nearest(vs, out.value)]
	return out
}

// nearest is the place of the value that is nearest to another one; of equals, the first.
func nearest(vs []float64, to float64) int {
	best := 0
	for i, v := range vs {
		if max(v-to, to-v) < max(vs[best]-to, to-vs[best]) {
			best = i
		}
	}
	return best
}

// bestOf finds the best values of a metric: best are those that count as equal to the best of all, in their order, and of
// are those that were considered. What has not done its work is considered only where nothing else is there.
func bestOf(all []middle, m Metric) (best, of []middle) {
	of = slices.DeleteFunc(slices.Clone(all), func(x middle) bool { return x.Partial })
	if len(of) == 0 {
		of = all
	}
	var top float64
	for i, x := range of {
		if i == 0 || m.Higher && x.value > top || !m.Higher && x.value < top {
			top = x.value
		}
	}
	for _, x := range of {
		if !m.Better(top, x.value) {
			best = append(best, x)
		}
	}
	return best, of
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
	LowestLoss  int   // of loss_mean_last_20; of those within LossTie of the lowest, the first
	LossTies    []int // the others of those
	LeastMemory int   // of peak_memory
	// Disturbed counts the finished points that another run slowed: alone they may be faster than the fastest.
	Disturbed int
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
		b := Best{Size: size, Points: len(of[size]), Metric: speed.Name}
		b.Fastest, _ = t.best(gs, speed)
		b.LowestLoss, b.LossTies = t.best(gs, loss)
		b.LeastMemory, _ = t.best(gs, memory)
		for _, i := range of[size] {
			b.Disturbed += one(len(t.Rows[i].Overlapped) > 0)
		}
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

// best is the row in the middle of the best group; of equals, the first. The others come with it.
func (t *Table) best(gs []group, m Metric) (at int, equals []int) {
	var all []middle
	for _, g := range gs {
		if x := t.middle(g, m); x.n > 0 {
			all = append(all, x)
		}
	}
	at = -1
	best, _ := bestOf(all, m)
	for i, x := range best {
		if i == 0 {
			at = x.row
		} else {
			equals = append(equals, x.row)
		}
	}
	return at, equals
}
