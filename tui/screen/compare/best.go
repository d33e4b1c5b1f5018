package compare

import (
	"fmt"

	"boost-tui/experiment"
	profile "boost-tui/profiler/compare"
	"boost-tui/tui/layout"
	"boost-tui/tui/pick"
)

// best is the run with the least median of those that a verdict is given for.
// It is one only where that says that it is faster than a reference, or where
// it is a reference that others were found slower than. ok is false otherwise,
// and doubt says why there is none: most of all that a run which no verdict can
// be given for is faster by the table.
func (m *Model) best() (best profile.Row, doubt string, ok bool) {
	rows := m.result.table.Rows
	best, found := fastest(rows, m.judged)
	first, any := fastest(rows, func(*profile.Row) bool { return true })
	switch {
	case !any || len(rows) < 2:
		return best, "", false
	case m.unjudged(&first) != "" && (!found || *first.StepTimeMedian < *best.StepTimeMedian):
		return best, m.label(first.ID) + " " + m.unjudged(&first), false
	case !found || !m.proven(&best):
		return best, "no run is proven faster than a reference", false
	}
	return best, "", true
}

// judged reports whether a verdict is given for a run: on its own ratio, or, of
// a reference, on another run's over it.
func (m *Model) judged(r *profile.Row) bool {
	return m.verdict(r, func(v string) bool { return v != "" }, func(v string) bool { return v != "" })
}

// proven reports whether a run is faster than another by more than chance.
func (m *Model) proven(r *profile.Row) bool {
	return m.verdict(r, func(v string) bool { return v == "faster" }, func(v string) bool { return v == "slower" })
}

// verdict reports whether own holds for a verdict on a run, or other for one on
// another run with it as the reference.
func (m *Model) verdict(r *profile.Row, own, other func(string) bool) bool {
	for _, role := range []pick.Role{pick.Baseline, pick.Vanilla} {
		if s := over(r, role); s != nil && own(s.Verdict) {
			return true
		}
		if r.ID != [2]string{m.result.table.Baseline, m.result.table.Vanilla}[role] {
			continue
		}
		for i := range m.result.table.Rows {
			if s := over(&m.result.table.Rows[i], role); s != nil && other(s.Verdict) {
				return true
			}
		}
	}
	return false
}

// unjudged says why no verdict is given for a run; "" where that is not its own
// fault.
func (m *Model) unjudged(r *profile.Row) string {
	switch {
	case !r.Comparable:
		return "is not comparable"
	case r.EmulatedDevice:
		return "ran on the " + experiment.EmulatedDevice
	case beside(r):
		return "ran beside another"
	case weak(r):
		return "is short"
	}
	return ""
}

// fastest is the row with the least median of those that count.
func fastest(rows []profile.Row, counts func(*profile.Row) bool) (best profile.Row, found bool) {
	for i := range rows {
		r := &rows[i]
		if r.StepTimeMedian != nil && counts(r) && (!found || *r.StepTimeMedian < *best.StepTimeMedian) {
			best, found = *r, true
		}
	}
	return best, found
}

// bestLine names the best run with its speed-ups over both references, or says
// why there is none: it claims nothing that the table contradicts.
func (m *Model) bestLine() string {
	t := m.env.Theme
	best, doubt, ok := m.best()
	if !ok {
		if doubt == "" {
			return ""
		}
		return t.Dim.Paint("no verdict: " + doubt)
	}
	text := fmt.Sprintf("best: %s %s %s", m.label(best.ID), layout.Clean(best.Variant), best.SchemeText())
	for _, role := range []pick.Role{pick.Baseline, pick.Vanilla} {
		ref, name, head, ok := m.reference(role)
		if !ok || ref.ID == best.ID {
			continue
		}
		if m.drawn.W < 100 {
			name = head
		}
		ratio, sure := m.speedup(&best, role)
		if sure {
			ratio += " " + speedupCI(over(&best, role))
		}
		text += "  " + ratio + " vs " + name
	}
	return t.Good.Paint(text)
}
