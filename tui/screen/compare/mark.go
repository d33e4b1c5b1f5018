package compare

import (
	"fmt"
	"strings"

	"boost-tui/experiment"
	profile "boost-tui/profiler/compare"
)

// marked are the rows whose times are not this machine's.
func (m *Model) marked() (out []*profile.Row) {
	for i := range m.result.table.Rows {
		if r := &m.result.table.Rows[i]; r.EmulatedMark() != "" {
			out = append(out, r)
		}
	}
	return out
}

// linkMark marks figures of which some, or all, were taken beside an emulated link or on the emulated device.
func (m *Model) linkMark() string {
	switch rows := m.marked(); {
	case len(rows) == 0:
		return ""
	case len(rows) < len(m.result.table.Rows):
		return ", some: " + rows[0].EmulatedMark()
	default:
		return ", " + rows[0].EmulatedMark()
	}
}

// markNotes say in a line for each mark what it means, before whose it is: what does not fit is cut away at the end.
func (m *Model) markNotes() (lines []string) {
	for _, mark := range []struct{ name, means string }{
		{experiment.EmulatedDevice, "its times say nothing about a GPU, no verdict"},
		{experiment.EmulatedLink, "times are not this machine's"},
	} {
		var names []string
		for _, r := range m.marked() {
			if r.EmulatedMark() == mark.name {
				names = append(names, m.label(r.ID))
			}
		}
		switch len(names) {
		case 0:
		case len(m.result.table.Rows):
			lines = append(lines, fmt.Sprintf("%s: %s (all runs)", mark.name, mark.means))
		default:
			lines = append(lines, fmt.Sprintf("%s: %s: %s", mark.name, mark.means, strings.Join(names, ", ")))
		}
	}
	return lines
}
