package results

import (
	"cmp"
	"fmt"
	"math"
	"slices"
	"strings"

	"boost-tui/experiment"
	"boost-tui/profiler/stats"
	"boost-tui/sweeps"
)

// listed bounds how many of a kind are told one by one.
const listed = 20

// Summary is the sweep in a sentence: how many points there are of each kind, and what is left.
func (t *Table) Summary() string {
	c := t.Counts
	parts := []string{}
	for _, p := range []struct {
		n    int
		what string
	}{{c.Finished, "finished"}, {c.Running, "running"}, {c.Queued, "queued"}, {c.Failed, "failed"}, {c.Stopped, "stopped"}, {c.Cancelled, "cancelled"},
		{c.Skipped, "skipped"}} {
		if p.n > 0 {
			parts = append(parts, fmt.Sprintf("%d %s", p.n, p.what))
		}
	}
	s := fmt.Sprintf("%s: %s", counted(c.Points, "point"), strings.Join(parts, ", "))
	if c.Pruned > 0 {
		s += fmt.Sprintf("; %d pruned", c.Pruned)
	}
	if c.Running+c.Queued > 0 {
		s += "; " + t.Estimate.String()
	}
	return s + "."
}

// String is "about 22m left (0.37 device hours; from …)".
func (e Estimate) String() string {
	if e.Seconds == nil {
		return "time left " + e.Basis
	}
	how := "about"
	if e.AtLeast() {
		how = "at least"
	}
	return fmt.Sprintf("%s %s left, %s device hours (%s)", how, duration(*e.Seconds), digits(*e.DeviceHours), e.Basis)
}

// duration is rounded to what an estimate is worth: "31s", "22m", "1h30m", "3d4h".
func duration(seconds float64) string {
	const minute, hour, day = 60, 3600, 86400
	two := func(large, small int64, names string) string {
		if small == 0 {
			return fmt.Sprintf("%d%c", large, names[0])
		}
		return fmt.Sprintf("%d%c%d%c", large, names[0], small, names[1])
	}
	switch {
	case !(seconds >= 0) || seconds > 36500*day:
		return "more than a hundred years"
	case seconds < minute:
		return fmt.Sprintf("%.0fs", seconds)
	case seconds < hour-minute/2:
		return fmt.Sprintf("%.0fm", seconds/minute)
	case seconds < day:
		tens := int64(math.Round(seconds / (10 * minute)))
		return two(tens/6, tens%6*10, "hm")
	}
	hours := int64(math.Round(seconds / hour))
	return two(hours/24, hours%24, "dh")
}

// troubles says why points have no figures, one line each.
func (t *Table) troubles() []string {
	var out []string
	more := 0
	for _, r := range t.Rows {
		why := r.Cause
		if r.Err != nil {
			why = r.Err.Error()
		}
		if why == "" || r.Err == nil && (r.Status == sweeps.Finished || !r.Status.Over()) {
			continue
		}
		if len(out) == listed {
			more++
			continue
		}
		out = append(out, fmt.Sprintf("%s: %s: %s", r.Label, r.stateText(), why))
	}
	if more > 0 {
		out = append(out, fmt.Sprintf("and %d more; the CSV file has them all", more))
	}
	return out
}

func (t *Table) prunedLines() []string {
	var out []string
	for _, p := range t.Pruned[:min(len(t.Pruned), listed)] {
		out = append(out, fmt.Sprintf("pruned: %s: %s", p.Point, p.Reason))
	}
	if n := len(t.Pruned) - listed; n > 0 {
		out = append(out, fmt.Sprintf("and %d more pruned; the JSON has them all", n))
	}
	return out
}

func (t *Table) bestLines() []string {
	var out []string
	for _, b := range t.BestPerSize() {
		var parts []string
		say := func(what string, i int, names ...string) {
			if i < 0 {
				return
			}
			r := t.Rows[i]
			var figures []string
			emulated := ""
			for _, n := range names {
				m, _ := MetricOf(n)
				emulated = cmp.Or(emulated, m.Marks(r).EmulatedMark())
				if v, ok := m.Of(r); ok && !m.Marks(r).Partial { // a speed-up over a twin that did not finish is no best
					figures = append(figures, m.Marks(r).On(m.Show(v)+" "+m.Title))
				}
			}
			if emulated != "" {
				figures = append(figures, emulated)
			}
			parts = append(parts, fmt.Sprintf("%s %s (%s)", what, r.Label, strings.Join(figures, ", ")))
		}
		say("fastest", b.Fastest, b.Metric, VsFull, VsVanilla)
		say("lowest loss", b.LowestLoss, Loss)
		if len(b.LossTies) > 0 {
			parts[len(parts)-1] += ", tied with " + t.labels(b.LossTies)
		}
		say("least memory", b.LeastMemory, PeakMemory)
		if len(parts) == 0 {
			continue
		}
		line := fmt.Sprintf("Best of %s: %s.", b.Size, strings.Join(parts, "; "))
		if b.Disturbed > 0 {
			line += fmt.Sprintf(" Another run slowed %s of this size (%s), which may be faster than the fastest when alone.", counted(b.Disturbed, "point"), signOverlapped)
		}
		out = append(out, line)
	}
	return out
}

// labels names rows, not all where they are many.
func (t *Table) labels(rows []int) string {
	const named = 4
	var names []string
	for _, i := range rows[:min(len(rows), named)] {
		names = append(names, t.Rows[i].Label)
	}
	if n := len(rows) - named; n > 0 {
		names = append(names, fmt.Sprintf("%d more", n))
	}
	return strings.Join(names, ", ")
}

// Notes say what a reader must know to trust the figures, one sentence each.
func (t *Table) Notes() []string {
	var out []string
	if f := t.Pareto(); len(f.Points) > 0 {
		out = append(out, "* "+f.Note())
	}
	n := func(is func(*Row) bool) (count int) {
		for _, r := range t.Rows {
			if r.Figures.ID != "" && is(r) {
				count++
			}
		}
		return count
	}
	say := func(count int, format string) {
		if count > 0 {
			out = append(out, fmt.Sprintf(format, counted(count, "row")))
		}
	}
	some := func(r *Row, is func(*Versus) bool) bool {
		return slices.ContainsFunc([]*Versus{r.VsFull, r.VsVanilla}, func(v *Versus) bool { return v != nil && v.Run != r.Run && is(v) })
	}
	say(n(func(r *Row) bool { return r.Partial && !r.Unfinished }), "… %s: a run goes on; figures are those so far, speed-ups without a verdict.")
	say(n(func(r *Row) bool { return r.Unfinished }), "… %s: the run failed, was stopped or was cancelled; figures are those until then, speed-ups without a verdict. It is neither on the front nor among the best.")
	say(n(func(r *Row) bool { return !r.Partial && some(r, func(v *Versus) bool { return v.Partial }) }), "… %s: a twin has not done all of its work; speed-ups over it have no verdict.")
	say(n(func(r *Row) bool { return r.Link() != "" }), experiment.EmulatedLink+": the messages of %s were slowed down; the times are not this machine's.")
	say(n((*Row).onEmulator), experiment.EmulatedDevice+": the processor ran the CUDA kernels of %s thread by thread; the times say nothing about a GPU, and have no verdict.")
	if keys := t.differs(); len(keys) > 0 {
		out = append(out, "≠ Not comparable with the twin, which differs in "+strings.Join(keys, ", ")+": no verdict.")
	}
	say(n(func(r *Row) bool {
		return len(r.Overlapped) > 0 || some(r, func(v *Versus) bool { return v.Overlapped })
	}), "! %s: another run was at work on the machine beside the run or its twin, and they slowed each other: times are too long, speed-ups without a verdict. One run at a time gives verdicts.")
	say(n(func(r *Row) bool { return r.Figures.Short || r.Figures.Kept < stats.VerdictSteps }), fmt.Sprintf("%%s: too short for a verdict (fewer than %d kept steps, or less than the skip rule wants); figures and intervals are given.", stats.VerdictSteps))
	say(n(func(r *Row) bool { return some(r, func(v *Versus) bool { return !v.LossMatches }) }), "%s: the loss is not comparable with that of a twin (another last step, or other training).")
	if n(func(r *Row) bool { return some(r, func(v *Versus) bool { return v.Verdict == "~" }) }) > 0 {
		out = append(out, "~ is no significant difference.")
	}
	if n(func(r *Row) bool { return some(r, func(v *Versus) bool { return max(v.Pooled[0], v.Pooled[1]) > 1 }) }) > 0 {
		out = append(out, "Speed-ups of three and more repeats rest on all of them, and so do their intervals.")
	}
	if t.twoRepeats() {
		out = append(out, "Two repeats are too few to be pooled: each speed-up is that of the run itself over its twin. From three repeats on it rests on all.")
	}
	if slices.ContainsFunc(t.Rows, func(r *Row) bool { return r.VsFull != nil || r.VsVanilla != nil }) {
		out = append(out, "Speed-ups are against the full-rank and the vanilla twin of each point: the same experiment otherwise.")
	}
	return out
}

// twoRepeats reports whether a configuration has speed-ups and exactly two runs that have done their work.
func (t *Table) twoRepeats() bool {
	var whole []int
	for i, r := range t.Rows {
		if r.Figures.ID != "" && !r.Partial {
			whole = append(whole, i)
		}
	}
	return slices.ContainsFunc(t.groups(whole), func(g group) bool {
		return len(g.rows) == 2 && slices.ContainsFunc(g.rows, func(i int) bool {
			r := t.Rows[i]
			return slices.ContainsFunc([]*Versus{r.VsFull, r.VsVanilla}, func(v *Versus) bool { return v != nil && v.Run != r.Run && v.Pooled == [2]int{1, 1} })
		})
	})
}

// differs are the properties in which rows differ from twins that they cannot be compared with.
func (t *Table) differs() []string {
	var out []string
	for _, r := range t.Rows {
		for _, v := range []*Versus{r.VsFull, r.VsVanilla} {
			if v == nil || v.Comparable {
				continue
			}
			for _, d := range v.Differs {
				if !slices.Contains(out, d) {
					out = append(out, d)
				}
			}
		}
	}
	return out
}
