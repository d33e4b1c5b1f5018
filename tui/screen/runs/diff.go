package runs

import (
	"fmt"

	"boost-tui/experiment"
	"boost-tui/tui/layout"
	"boost-tui/tui/msg"
	"boost-tui/tui/widget/modal"

	tea "github.com/charmbracelet/bubbletea"
)

// askDiff shows in what two runs differ: those marked, or the one under the cursor and the baseline.
func (m *Model) askDiff() tea.Cmd {
	ids := m.table.Marked()
	if len(ids) == 0 && m.refs.Baseline != "" && m.refs.Baseline != m.table.Cursor() {
		ids = []string{m.refs.Baseline, m.table.Cursor()}
	}
	if len(ids) != 2 {
		return msg.Send(msg.Toast{Level: msg.Warn, Text: "mark two runs with space, then d shows in what they differ"})
	}
	a, okA := m.find(ids[0])
	b, okB := m.find(ids[1])
	if !okA || !okB {
		return nil
	}
	return msg.Send(msg.Open{Modal: modal.Text{Title: Short(a.ID) + " and " + Short(b.ID), Lines: diffLines(a, b)}})
}

// diffLines are the keys that two runs do not share, one a line.
func diffLines(a, b run) []string {
	lines, equal := []string{fmt.Sprintf("%-18s %-24s %s", "", Short(a.ID), Short(b.ID))}, 0
	for _, k := range experiment.Keys() {
		x, y := a.Run.Experiment.Get(k.Name), b.Run.Experiment.Get(k.Name)
		if x == y {
			equal++
			continue
		}
		lines = append(lines, layout.Clean(fmt.Sprintf("%-18s %-24s %s", k.Name, orDash(x), orDash(y))))
	}
	if len(lines) == 1 {
		lines = nil
	}
	return append(lines, "", fmt.Sprintf("%d keys are equal", equal))
}

func orDash(s string) string {
	if s == "" {
		return "-"
	}
	return s
}
