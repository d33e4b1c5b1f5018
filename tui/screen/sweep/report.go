package sweep

import (
	"fmt"
	"time"

	"boost-tui/sweeps"
	"boost-tui/tui/format"
	"boost-tui/tui/layout"
)

// notesShown bounds the notes of a sweep in its report.
const notesShown = 20

// sweepReport is what there is to know of the shown sweep as a whole.
func (m *Model) sweepReport() []string {
	st := m.shown.state()
	if st == nil {
		return nil
	}
	lines := []string{"sweep " + layout.Clean(st.ID), phaseLine(m, st)}
	if st.Held {
		lines = append(lines, layout.Clean(fmt.Sprintf("process %d on %s looks after it since %s", st.Holder.PID, st.Holder.Host, format.When(st.Since.In(m.now().Location()), m.now()))))
	}
	lines = append(lines, fmt.Sprintf("worked on for %s, %s device hours", format.Duration(st.Worked.Round(time.Second)), format.Digits(st.DeviceHours)))
	if t := m.table(); t != nil {
		lines = append(lines, "left: "+costText(t.Estimate))
		for _, note := range m.shown.digest.notes {
			lines = append(lines, layout.Clean(note))
		}
	}
	for _, n := range st.Notes[max(0, len(st.Notes)-notesShown):] {
		lines = append(lines, layout.Clean(format.When(n.At.In(m.now().Location()), m.now())+"  "+n.Text))
	}
	if len(st.Pruned) > 0 {
		lines = append(lines, "", "pruned of it: "+format.Many(len(st.Pruned), "point"))
		lines = append(lines, prunedLines(st.Pruned, prunedShown)...)
	}
	return append(lines, "", "The grid:", "")
}

func phaseLine(m *Model, st *sweeps.State) string {
	over, running, queued, failed, total := m.shown.counts()
	line := fmt.Sprintf("%s: %d of %d over, %d running, %d waiting, %d failed", st.Phase, over, total, running, queued, failed)
	if st.Cause != "" {
		line += "; " + layout.Clean(st.Cause)
	}
	return line
}
