package results

import (
	"fmt"
	"slices"
	"strconv"
	"strings"
)

// Front is the points that no other point beats: whatever is better in one of the metrics is worse in another. Losses
// within LossTie are equal. A point that another run slowed is on it whatever it measured, for alone it may be faster
// than what seems to beat it.
type Front struct {
	Metrics    []string // step_time_median, or time_per_token where the tokens of a step differ; peak_memory; loss_mean_last_20
	Points     []int    // indexes into Table.Rows, in their order
	Overlapped []int    // of the points, those of configurations of which another run slowed a run
	Ranked     int      // configurations that were compared
	Left       int      // finished points without one of the figures
}

// Note says in a sentence or two what the front is.
func (f Front) Note() string {
	titles := map[string]string{StepTime: "step time", TimePerToken: "time per token", PeakMemory: "device memory", Loss: "loss (mean of the last 20 steps)"}
	var of []string
	for _, m := range f.Metrics {
		of = append(of, titles[m])
	}
	s := fmt.Sprintf("On the front of %s: no other finished point is better in one of them and as good in the others. %s Repeats count once, by their medians.",
		strings.Join(of, ", "), tieNote())
	if n := len(f.Overlapped); n > 0 {
		s += fmt.Sprintf(" Another run slowed %s of it (%s), which may be faster when alone: nothing is said to beat what was slowed.", counted(n, "point"), signOverlapped)
	}
	return s
}

// tieNote says which losses are equal.
func tieNote() string {
	return "Losses within " + strconv.FormatFloat(LossTie, 'f', -1, 64) + " nats count as equal: the order of additions alone moves them by less."
}

// ranked is a configuration on its way to the front.
type ranked struct {
	group
	v          []float64 // of each metric
	overlapped bool
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
	var all, front []ranked
	for _, g := range t.groups(t.finished()) {
		r := ranked{group: g, overlapped: slices.ContainsFunc(g.rows, func(i int) bool { return len(t.Rows[i].Overlapped) > 0 })}
		for _, m := range ms {
			if x := t.middle(g, m); x.n > 0 {
				r.v = append(r.v, x.value)
			}
		}
		if len(r.v) < len(ms) {
			f.Left += len(g.rows)
			continue
		}
		all = append(all, r)
	}
	f.Ranked = len(all)
	// In this order whatever beats a point comes before it. Most are beaten by something on the front; because of the
	// ties one may be beaten by what is not on it.
	slices.SortStableFunc(all, func(a, b ranked) int { return slices.Compare(a.v, b.v) })
	for i, r := range all {
		beats := func(o ranked) bool { return dominates(o.v, r.v, ms) }
		if !r.overlapped && (slices.ContainsFunc(front, beats) || slices.ContainsFunc(all[:i], beats)) {
			continue
		}
		front = append(front, r)
		f.Points = append(f.Points, r.rows...)
		if r.overlapped {
			f.Overlapped = append(f.Overlapped, r.rows...)
		}
	}
	slices.Sort(f.Points)
	slices.Sort(f.Overlapped)
	return f
}

// dominates reports whether a is nowhere worse than b and somewhere better.
func dominates(a, b []float64, ms []Metric) bool {
	better := false
	for i, m := range ms {
		if m.Better(b[i], a[i]) {
			return false
		}
		better = better || m.Better(a[i], b[i])
	}
	return better
}
