package compare

import (
	"fmt"
	"slices"
	"strings"

	"boost-tui/experiment"
	profile "boost-tui/profiler/compare"
	"boost-tui/runner"
	"boost-tui/tui/format"
	"boost-tui/tui/layout"
	"boost-tui/tui/msg"
	"boost-tui/tui/pick"
	"boost-tui/tui/widget/modal"
	"boost-tui/tui/widget/stepbar"

	tea "github.com/charmbracelet/bubbletea"
)

// copyRow copies the row as fields with tabs between, as spreadsheets take it.
func (m *Model) copyRow(string) tea.Cmd {
	r, ok := m.row()
	if !ok {
		return nil
	}
	var heads, fields []string
	for _, f := range m.figures(&r) {
		heads, fields = append(heads, f[0]), append(fields, f[1])
	}
	return msg.Send(msg.Copy{Text: strings.Join(heads, "\t") + "\n" + strings.Join(fields, "\t") + "\n", What: "the row of " + r.ID})
}

func (m *Model) copyTable(string) tea.Cmd {
	if len(m.result.table.Rows) == 0 {
		return nil
	}
	return msg.Send(msg.Copy{Text: m.result.table.Markdown(), What: "the table as Markdown"})
}

// figures lists everything that is known of a row, name and value.
func (m *Model) figures(r *profile.Row) [][2]string {
	p := stepbar.Of(r.Breakdown)
	both := func(role pick.Role) string {
		s := over(r, role)
		text, _ := m.speedup(r, role)
		text = strings.TrimSpace(text + " " + speedupCI(s))
		if s != nil && s.Verdict != "" {
			text += " " + s.Verdict
			if s.P != nil {
				text += fmt.Sprintf(" (p %.2g)", *s.P)
			}
		}
		return text
	}
	out := [][2]string{{"run", layout.Clean(r.ID)}, {"variant", layout.Clean(r.Variant)}, {"scheme", r.SchemeText()}, {"degrees", m.degrees(r)},
		{"steps kept", fmt.Sprint(r.Kept)}, {"steps skipped", fmt.Sprint(r.Skipped)}, {"step median ms", format.Millis(number(r.StepTimeMedian))},
		{"95 % interval ms", interval(r.CI, 1e3, 2)}, {"step mean ms", format.Millis(number(r.StepTimeMean))}, {"step p95 ms", format.Millis(number(r.StepTimeP95))},
		{"mean tokens/s", tokens(r)}, {"vs " + m.refName(pick.Baseline), both(pick.Baseline)}, {"vs " + m.refName(pick.Vanilla), both(pick.Vanilla)},
		{"compute alone ms", format.Millis(p.Compute)}, {"compute hiding comm ms", format.Millis(p.Hidden)}, {"exposed comm ms", format.Millis(p.Exposed)},
		{"memory ms", format.Millis(p.Memory)}, {"idle ms", format.Millis(p.Idle)}, {"exposed comm", percent(exposedShare(r))},
		{"all comm ms", format.Millis(p.Comm)}, {"  waiting ms", format.Millis(p.Wait)}, {"  transfer ms", format.Millis(p.Transfer)},
		{"bytes/step", size(r.CommBytesPerStep)}, {"peak memory", size(r.PeakMemory)}, {"loss", m.loss(r)}}
	if text := leftOut(r); text != "" {
		out = append(out, [2]string{"updates left out", text})
	}
	return out
}

// degrees say how a run's ranks share the work.
func (m *Model) degrees(r *profile.Row) string {
	if in, ok := m.info(r.ID); ok {
		return in.Run.Experiment.Parallel.Degrees()
	}
	return fmt.Sprintf("tp %d", r.TP)
}

// refName is how the reference of a role is called, or the role where there is
// none.
func (m *Model) refName(role pick.Role) string {
	_, name, head, ok := m.reference(role)
	if !ok {
		return head
	}
	return name
}

func (m *Model) details(string) tea.Cmd {
	r, ok := m.row()
	if !ok {
		return nil
	}
	var lines []string
	for _, f := range m.figures(&r) {
		lines = append(lines, layout.Pad(f[0], 24)+f[1])
	}
	lines = append(lines, m.collectiveLines(&r)...)
	if r.SkipRule != "" {
		lines = append(lines, "", "left out at the start: "+layout.Clean(r.SkipRule))
	}
	return msg.Send(msg.Open{Modal: modal.Text{Title: m.label(r.ID), Lines: lines}})
}

func (m *Model) showNotes(string) tea.Cmd {
	lines := m.caveats()
	if len(lines) == 0 {
		lines = []string{"Nothing stands against these figures."}
	}
	return msg.Send(msg.Open{Modal: modal.Text{Title: "What to know", Lines: lines}})
}

// showDiff lists every key of the two experiments, those that differ first.
func (m *Model) showDiff(string) tea.Cmd {
	r, ok := m.explained()
	if !ok {
		return nil
	}
	base, ok := m.diffBase(&r)
	if !ok {
		return msg.Send(msg.Toast{Level: msg.Warn, Text: "there is nothing to hold it against"})
	}
	a, okA := m.info(base.ID)
	b, okB := m.info(r.ID)
	if !okA || !okB {
		return nil
	}
	return msg.Send(msg.Open{Modal: modal.Text{Title: m.label(base.ID) + " and " + m.label(r.ID), Lines: cleanAll(diffLines(a.Run.Experiment, b.Run.Experiment, r.Differences))}})
}

// diffBase is the run that differences are told from.
func (m *Model) diffBase(r *profile.Row) (profile.Row, bool) {
	for _, id := range []string{m.result.table.Baseline, m.result.table.Vanilla} {
		if id != r.ID {
			if base, ok := m.find(id); ok {
				return base, true
			}
		}
	}
	return profile.Row{}, false
}

// otherKeys are the keys in which two experiments differ beside those that are
// told already.
func otherKeys(a, b runner.Info, told []profile.Difference) (out []profile.Difference) {
	for _, k := range experiment.Keys() {
		x, y := a.Run.Experiment.Get(k.Name), b.Run.Experiment.Get(k.Name)
		known := slices.ContainsFunc(told, func(d profile.Difference) bool { return d.Name == k.Name })
		if x != y && !known && k.Name != "name" && k.Name != "tags" {
			out = append(out, profile.Difference{Name: k.Name, Base: x, Run: y})
		}
	}
	return out
}

// diffLines writes keys that differ, then what differs around them (hardware,
// binary), then those that are equal.
func diffLines(a, b experiment.Experiment, differences []profile.Difference) []string {
	var differ, equal []string
	seen := map[string]bool{}
	for _, k := range experiment.Keys() {
		x, y := a.Get(k.Name), b.Get(k.Name)
		seen[k.Name] = true
		if x == y {
			equal = append(equal, fmt.Sprintf("  %-18s %s", k.Name, x))
		} else {
			differ = append(differ, fmt.Sprintf("%s %-18s %-22s %s", "≠", k.Name, orDash(x), orDash(y)))
		}
	}
	for _, d := range differences {
		if !seen[d.Name] {
			differ = append(differ, fmt.Sprintf("%s %-18s %-22s %s", "≠", d.Name, orDash(d.Base), orDash(d.Run)))
		}
	}
	if len(differ) == 0 {
		differ = []string{"nothing differs"}
	}
	return append(append(differ, "", fmt.Sprintf("%d keys equal:", len(equal))), equal...)
}

func orDash(s string) string {
	if s == "" {
		return format.Unknown
	}
	return s
}
