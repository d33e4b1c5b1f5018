package compare

import (
	"fmt"
	"math"

	profile "boost-tui/profiler/compare"
	"boost-tui/tui/chart"
	"boost-tui/tui/format"
	"boost-tui/tui/layout"
)

// collectives are the largest kinds of communication of the runs side by side,
// in as many lines as there is room for.
func (m *Model) collectives(rows []profile.Row, w, room int) (lines []string) {
	t := m.env.Theme
	sum := map[string]float64{}
	var names []string
	for _, r := range rows {
		for _, k := range m.result.comm[r.ID].Kinds {
			name := k.ShortName()
			if _, ok := sum[name]; !ok {
				names = append(names, name)
			}
			sum[name] = max(sum[name], k.Wait+k.Transfer)
		}
	}
	if len(names) == 0 || room < 3 {
		return nil
	}
	lines = []string{"", t.Dim.Paint(layout.Cut("collectives, wait + transfer of a mean sampled step, ms", w, t.Glyphs.Ellipsis))}
	nameW := 0
	for _, name := range names {
		nameW = max(nameW, min(30, layout.Width(name)))
	}
	for len(names) > 0 && len(lines) < room {
		top := 0
		for i := range names {
			if sum[names[i]] > sum[names[top]] {
				top = i
			}
		}
		line := layout.Pad(layout.Clean(names[top]), nameW)
		for i := range rows {
			line += " " + m.label(rows[i].ID) + " " + m.spent(rows[i].ID, names[top])
		}
		lines = append(lines, layout.Cut(line, w, t.Glyphs.Ellipsis))
		names = append(names[:top], names[top+1:]...)
	}
	return lines
}

// allComm gives each run's communication, hidden or exposed, with what it
// consists of, in at most room lines.
func (m *Model) allComm(rows []profile.Row, w, room int) (lines []string) {
	for i := range rows {
		if all := partsOf(&rows[i]).AllComm(); all != "" {
			lines = append(lines, layout.Cut(layout.Pad(m.label(rows[i].ID), 6)+" "+all, w, m.env.Theme.Glyphs.Ellipsis))
		}
	}
	if len(lines) == 0 || room < len(lines)+1 {
		return nil
	}
	return append([]string{""}, lines...)
}

// spent is what a run's mean step spends in a kind of communication.
func (m *Model) spent(id, name string) string {
	for _, k := range m.result.comm[id].Kinds {
		if k.ShortName() == name {
			return format.Millis(k.Wait + k.Transfer)
		}
	}
	return format.Unknown
}

// collectiveLines lists a run's kinds of communication for the details.
func (m *Model) collectiveLines(r *profile.Row) []string {
	c := m.result.comm[r.ID]
	if len(c.Kinds) == 0 {
		return nil
	}
	lines := []string{"", fmt.Sprintf("collectives of a mean step, ms (%d sampled steps)", c.Steps)}
	for _, k := range c.Kinds {
		lines = append(lines, fmt.Sprintf("%-30s wait %8s  transfer %8s", layout.Clean(k.Name), format.Millis(k.Wait), format.Millis(k.Transfer)))
	}
	return lines
}

// zoomRange are the last steps that zoomed curves show; ok is false where all
// are shown.
func (m *Model) zoomRange(series []chart.Series) (from, to float64, ok bool) {
	if m.zoomed == 0 {
		return 0, 0, false
	}
	for i, s := range series {
		n := s.Points.Len()
		if n == 0 {
			continue
		}
		if i == 0 || s.Points.X[0] < from {
			from = s.Points.X[0]
		}
		to = max(to, s.Points.X[n-1])
	}
	span := (to - from) / float64(int(1)<<m.zoomed)
	return math.Ceil(to - span), to, span > 0
}
