package compare

import (
	"fmt"
	"math"
	"strconv"
	"strings"

	profile "boost-tui/profiler/compare"
	"boost-tui/tui/chart"
	"boost-tui/tui/format"
	"boost-tui/tui/pick"
	"boost-tui/tui/widget/stepbar"
)

// delta is one part of the difference of two mean steps, in seconds; negative
// where the run is faster than the base.
type delta struct {
	name    string
	seconds float64
	note    string
}

// whyParts splits the difference of two mean steps into the parts of a step.
// They sum to the difference exactly: every step is the sum of its parts. ok is
// false where a breakdown is not known.
func whyParts(run, base *profile.Row) (total float64, parts []delta, ok bool) {
	a, b := stepbar.Of(run.Breakdown), stepbar.Of(base.Breakdown)
	if !a.Known() || !b.Known() {
		return 0, nil, false
	}
	note := ""
	if run.CommBytesPerStep != nil && base.CommBytesPerStep != nil && *base.CommBytesPerStep > 0 {
		change := (float64(*run.CommBytesPerStep)/float64(*base.CommBytesPerStep) - 1) * 100
		note = "bytes " + signed(change, 0) + " %"
	}
	// A part that one of the two lacks counts as nothing there, as in its bar.
	or0 := func(v float64) float64 {
		if !chart.Finite(v) {
			return 0
		}
		return v
	}
	parts = []delta{{"compute alone", or0(a.Compute) - or0(b.Compute), ""},
		{"compute hiding comm", or0(a.Hidden) - or0(b.Hidden), ""},
		{"exposed comm", or0(a.Exposed) - or0(b.Exposed), note},
		{"memory", or0(a.Memory) - or0(b.Memory), ""},
		{"idle", or0(a.Idle) - or0(b.Idle), ""}}
	return a.Sum() - b.Sum(), parts, true
}

// signed writes a number with its sign, and no sign for what rounds to zero.
func signed(v float64, decimals int) string {
	s := strconv.FormatFloat(math.Abs(v), 'f', decimals, 64)
	switch zero := strconv.FormatFloat(0, 'f', decimals, 64); {
	case s == zero:
		return s
	case v < 0:
		return "−" + s
	}
	return "+" + s
}

// signedMillis writes seconds as milliseconds with two decimals where small.
func signedMillis(seconds float64, decimals int) string { return signed(seconds*1e3, decimals) }

// decimalsFor is how many decimals milliseconds of this size need.
func decimalsFor(seconds float64) int {
	if math.Abs(seconds) < 0.01 {
		return 2
	}
	return 1
}

// against is the run that the row is explained against: the vanilla reference,
// or the baseline where the row is that itself or there is none.
func (m *Model) against(r *profile.Row) (profile.Row, string, bool) {
	for _, role := range []pick.Role{pick.Vanilla, pick.Baseline} {
		if base, name, _, ok := m.reference(role); ok && base.ID != r.ID {
			return base, name, true
		}
	}
	return profile.Row{}, "", false
}

// opposed reports whether the medians say the opposite of the means: some slow
// steps weigh on a mean and not on a median.
func opposed(run, base *profile.Row, total float64) bool {
	d := number(run.StepTimeMedian) - number(base.StepTimeMedian)
	return total < 0 && d > 0 || total > 0 && d < 0
}

// explained is the row that the panels below the table are about: the one
// under the cursor, or, while that is a reference, the best or the first other.
func (m *Model) explained() (profile.Row, bool) {
	r, ok := m.row()
	if ok && r.ID != m.result.table.Baseline && r.ID != m.result.table.Vanilla {
		return r, true
	}
	if best, _, found := m.best(); found && best.ID != m.result.table.Vanilla && best.ID != m.result.table.Baseline {
		return best, true
	}
	for _, other := range m.ordered() {
		if other.ID != m.result.table.Baseline && other.ID != m.result.table.Vanilla {
			return other, true
		}
	}
	return r, ok
}

// whyLines explains the difference; whole has all communication of the two too.
func (m *Model) whyLines(whole bool) []string {
	t := m.env.Theme
	r, ok := m.explained()
	if !ok {
		return nil
	}
	base, name, ok := m.against(&r)
	if !ok {
		return []string{t.Dim.Paint("mark a reference with b or v to see why")}
	}
	total, parts, ok := whyParts(&r, &base)
	if !ok {
		return []string{t.Dim.Paint("no breakdown: why is not known")}
	}
	decimals := decimalsFor(total)
	where := "below"
	if total >= 0 {
		where = "above"
	}
	lines := []string{fmt.Sprintf("%s's mean step is %s ms %s %s's:", m.label(r.ID), strings.TrimLeft(signed(total*1e3, decimals), "+−"), where, name)}
	if opposed(&r, &base, total) {
		lines = append(lines, t.Warn.Paint(fmt.Sprintf("%s the medians say the opposite: %s and %s", t.Glyphs.Warn,
			format.Millis(number(r.StepTimeMedian)), format.Millis(number(base.StepTimeMedian)))))
	}
	for _, p := range parts {
		line := fmt.Sprintf("%-24s %9s", "  "+p.name, signedMillis(p.seconds, decimals))
		if p.note != "" {
			line += "  " + p.note
		}
		lines = append(lines, line)
	}
	lines = append(lines, fmt.Sprintf("%-24s %9s", "  sum of means", signedMillis(total, decimals)))
	if !whole {
		return lines
	}
	// Hidden or exposed: what waits is not known to be the one or the other.
	a, b := partsOf(&r), partsOf(&base)
	if a.AllComm() != "" && b.AllComm() != "" {
		lines = append(lines, t.Dim.Paint(fmt.Sprintf("  all comm %s = wait %s + transfer %s", signedMillis(a.Comm-b.Comm, decimals),
			signedMillis(a.Wait-b.Wait, decimals), signedMillis(a.Transfer-b.Transfer, decimals))))
	}
	return lines
}

// whyShort is the same in one line.
func (m *Model) whyShort() string {
	r, ok := m.explained()
	if !ok {
		return ""
	}
	base, name, ok := m.against(&r)
	if !ok {
		return ""
	}
	total, parts, ok := whyParts(&r, &base)
	if !ok {
		return ""
	}
	sums := map[string]float64{}
	for _, p := range parts {
		sums[shortNames[p.name]] += p.seconds
	}
	decimals := decimalsFor(total)
	text := fmt.Sprintf("%s vs %s, mean %s ms: exposed %s compute %s idle %s", m.label(r.ID), name, signedMillis(total, decimals),
		signedMillis(sums["comm"], decimals), signedMillis(sums["compute"], decimals), signedMillis(sums["idle"], decimals))
	if opposed(&r, &base, total) {
		text = m.env.Theme.Warn.Paint(m.env.Theme.Glyphs.Warn+" medians: the opposite") + "  " + text
	}
	return text
}

// shortNames are the three parts of the one-line form; memory joins idle.
var shortNames = map[string]string{"exposed comm": "comm", "compute alone": "compute", "compute hiding comm": "compute", "memory": "idle", "idle": "idle"}
