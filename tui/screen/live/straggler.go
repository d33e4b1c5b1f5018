package live

import (
	"fmt"
	"math"
	"slices"

	"boost-tui/profiler"
	"boost-tui/profiler/record"
	"boost-tui/tui/chart"
	"boost-tui/tui/format"
)

// The rule of PROFILING.md §5, by waits: a rank is late where it waits less
// than the others by more than 1 % of a step and five times what ranks differ
// anyway, in at least 60 % of the windows of 20 steps, of which there must be
// three.
const (
	lateSteps   = 20
	lateWindows = 3
	lateShare   = 0.6
	lateLeast   = 0.01
	lateMADs    = 5
	// held is how many of the last steps are looked at.
	held = 6 * lateSteps
)

// straggler is what is known of who keeps the others waiting.
type straggler struct {
	rank     int  // negative: nobody
	least    bool // of two ranks: it waits least; which of the two is odd cannot be told
	late     int  // windows in which it was late
	windows  int
	missing  int     // steps that a verdict still needs; 0 too where nobody looks for one
	own      float64 // what it waits, as a share of the median step
	others   float64 // the same of the others' median; own 0 and this the lateness where that was measured
	step     float64 // seconds, median
	measured bool    // from timelines
}

// waits of the ranks in the steps that all of them have, oldest first.
type waits struct {
	ranks []int
	wait  [][]float64 // by step, then by rank, as a share of the median step
	step  float64     // seconds, median
}

// gatherWaits joins the ranks' lines by step.
func gatherWaits(lines map[int][]record.StepLine) (w waits) {
	bySteps := map[int64][]float64{}
	var walls []float64
	for rank := range lines {
		w.ranks = append(w.ranks, rank)
	}
	slices.Sort(w.ranks)
	for i, rank := range w.ranks {
		for j := range lines[rank] {
			l := &lines[rank][j]
			if l.WaitNanos < 0 || l.WallNanos <= 0 || len(bySteps[l.Step]) != i {
				continue
			}
			bySteps[l.Step] = append(bySteps[l.Step], float64(l.WaitNanos))
			walls = append(walls, float64(l.WallNanos))
		}
	}
	var steps []int64
	for s, v := range bySteps {
		if len(v) == len(w.ranks) {
			steps = append(steps, s)
		}
	}
	slices.Sort(steps)
	nanos := median(walls)
	w.step = nanos / 1e9
	for _, s := range steps {
		for i := range bySteps[s] {
			bySteps[s][i] /= nanos
		}
		w.wait = append(w.wait, bySteps[s])
	}
	return w
}

// findStraggler applies the rule to the last steps of the ranks.
func findStraggler(lines map[int][]record.StepLine) straggler {
	w := gatherWaits(lines)
	s := straggler{rank: -1, windows: min(held, len(w.wait)) / lateSteps, step: w.step}
	if len(w.ranks) < 2 {
		return s
	}
	if s.windows < lateWindows {
		s.missing = lateWindows*lateSteps - len(w.wait)
		return s
	}
	rows := w.wait[len(w.wait)-s.windows*lateSteps:]
	count := make([]int, len(w.ranks))
	for i := range s.windows {
		for _, r := range lateIn(rows[i*lateSteps : (i+1)*lateSteps]) {
			count[r]++
		}
	}
	worst := 0
	for r := range count {
		if count[r] > count[worst] {
			worst = r
		}
	}
	if float64(count[worst]) < lateShare*float64(s.windows) {
		return s
	}
	two := len(w.ranks) == 2
	if two && count[1-worst] > 0 {
		return s // once one, once the other
	}
	var own, others []float64
	for _, row := range rows {
		own = append(own, row[worst])
		others = append(others, median(slices.Delete(slices.Clone(row), worst, worst+1)))
	}
	if a, b := median(own), median(others); b-a > lateLeast {
		s.rank, s.late, s.least, s.own, s.others = w.ranks[worst], count[worst], two, a, b
	}
	return s
}

// lateIn are the indices of the ranks that are late in a window. Of two, that
// is the one that waits less by more than the least lateness: each is as far
// from their median as the other.
func lateIn(rows [][]float64) (late []int) {
	lateness := make([]float64, len(rows[0]))
	middles := make([]float64, len(rows))
	for i, row := range rows {
		middles[i] = median(slices.Clone(row))
	}
	l := make([]float64, len(rows))
	for r := range lateness {
		for i, row := range rows {
			l[i] = middles[i] - row[r]
		}
		lateness[r] = median(l)
	}
	mid := median(slices.Clone(lateness))
	deviations := make([]float64, len(lateness))
	for r := range lateness {
		deviations[r] = math.Abs(lateness[r] - mid)
	}
	limit := max(lateLeast, lateMADs*median(deviations))
	if len(lateness) == 2 {
		limit = lateLeast / 2 // their median lies half way between them
	}
	for r := range lateness {
		if lateness[r] > limit {
			late = append(late, r)
		}
	}
	return late
}

// fromTimelines takes the verdict of the sampled steps' collectives, which
// knows arrivals, where there are enough of them.
func (s *straggler) fromTimelines(matched []profiler.Collective) {
	steps := map[int]bool{}
	for i := range matched {
		steps[matched[i].Step] = true
	}
	windows := len(steps) / lateSteps
	if windows < lateWindows || !(s.step > 0) {
		return
	}
	was := *s
	*s = straggler{rank: -1, windows: windows, step: was.step, measured: true}
	list := profiler.Stragglers(matched, was.step*1e9)
	if len(list) == 2 { // the rule cannot flag one of two; waits can say who waits least
		*s = was
		return
	}
	for _, r := range list {
		if r.Late && r.Lateness > s.others {
			s.rank, s.others, s.late = r.Rank, r.Lateness, int(math.Round(r.Share*float64(windows)))
		}
	}
}

// slow reports whether a rank deserves the mark: of two ranks none does.
func (s *straggler) slow(rank int) bool { return s.rank == rank && !s.least }

// text says who keeps the others waiting, in figures that add up: the shares
// are of the step that is named, and so is the difference in milliseconds.
func (s *straggler) text(wide bool) string {
	share := func(v float64) string { return fmt.Sprintf("%.1f %%", v*100) }
	ms := format.Millis((s.others - s.own) * s.step)
	in := fmt.Sprintf("in %d of %s of %d steps", s.late, format.Many(s.windows, "window"), lateSteps)
	switch {
	case s.missing > 0:
		return "straggler: needs " + format.Many(s.missing, "more step") + " to tell"
	case s.rank < 0 || !chart.Finite(s.own) || !chart.Finite(s.others):
		return "no straggler: no rank is late again and again"
	case s.measured && wide:
		return fmt.Sprintf("straggler: rank %d reaches collectives %s of a %s ms step late (%s ms), %s", s.rank, share(s.others), format.Millis(s.step), ms, in)
	case s.measured:
		return fmt.Sprintf("straggler: rank %d late by %s of a step (%s ms)", s.rank, share(s.others), ms)
	case !wide && s.least:
		return fmt.Sprintf("rank %d waits least: %s of %s ms, the other %s: %s ms", s.rank, share(s.own), format.Millis(s.step), share(s.others), ms)
	case !wide:
		return fmt.Sprintf("straggler rank %d waits %s of %s ms, others %s: %s ms", s.rank, share(s.own), format.Millis(s.step), share(s.others), ms)
	}
	head := "straggler: rank %d waits"
	if s.least {
		head = "rank %d waits least:"
	}
	other := "the others"
	if s.least {
		other = "the other"
	}
	return fmt.Sprintf(head+" %s of a %s ms step, %s %s: %s ms less, %s", s.rank, share(s.own), format.Millis(s.step), other, share(s.others), ms, in)
}

// median of what is finite; it sorts its argument.
func median(x []float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	slices.Sort(x)
	if n := len(x) / 2; len(x)%2 == 0 {
		return (x[n-1] + x[n]) / 2
	}
	return x[len(x)/2]
}
