package sweep

import (
	"fmt"
	"strings"
	"time"

	"boost-tui/sweeps"
	"boost-tui/sweeps/results"
	"boost-tui/tui/format"
	"boost-tui/tui/layout"
)

// costText is an estimate in words; what was never measured stays unknown.
func costText(e results.Estimate) string {
	if e.Seconds == nil {
		return "unknown" + strings.TrimPrefix(layout.Clean(e.Basis), "unknown")
	}
	text := duration(*e.Seconds)
	if e.AtLeast() {
		text = "at least " + text
	}
	if e.DeviceHours != nil {
		text += ", " + format.Digits(*e.DeviceHours) + " device hours"
	}
	return text + because(e)
}

func because(e results.Estimate) string {
	if e.Basis == "" {
		return ""
	}
	return " (" + layout.Clean(e.Basis) + ")"
}

// leftText is the estimate of what is left, short.
func (m *Model) leftText() string {
	t := m.table()
	if t == nil || t.Estimate.Seconds == nil {
		return "time left unknown"
	}
	text := duration(*t.Estimate.Seconds) + " left"
	if t.Estimate.AtLeast() {
		text = "at least " + text
	}
	return text
}

func duration(seconds float64) string {
	const most = 100 * 365 * 86400 // beyond it a Duration may overflow, and nobody waits
	if !(seconds >= 0) || seconds > most {
		return "more than 100 years"
	}
	return format.Duration(time.Duration(seconds * float64(time.Second)))
}

// pointReport is everything that the journal says of a point.
func (m *Model) pointReport(p *sweeps.PointState) []string {
	lines := []string{m.pointText(p), "", "point " + layout.Clean(p.ID)}
	if p.Twin {
		lines = append(lines, "a twin: it is there because others are held against it")
	}
	lines = append(lines, fmt.Sprintf("%s, %s, %sFLOP", format.Many(p.Ranks, "rank"), format.Many(p.Steps, "step"), format.SI(p.FLOPs)), "")
	for _, a := range p.Set {
		lines = append(lines, fmt.Sprintf("  %-16s %s", layout.Clean(a.Key), layout.Clean(a.Value)))
	}
	for i, twin := range [2]string{p.Full, p.Vanilla} {
		if q := m.shown.point(twin); q != nil && twin != p.ID {
			lines = append(lines, fmt.Sprintf("%s twin: %s, %s", [2]string{"full-rank", "vanilla"}[i], layout.Clean(q.Label), q.Status))
		}
	}
	lines = append(lines, "")
	for _, a := range p.Attempts {
		line := fmt.Sprintf("attempt %d: %s %s %s", a.N, layout.Clean(a.Run), layout.Clean(a.State), format.When(a.Begun.In(m.now().Location()), m.now()))
		if a.Seconds > 0 {
			line += ", ran " + duration(a.Seconds)
		}
		if a.Machine {
			line += ", the machine's fault"
		}
		if a.Rule != "" {
			line += ", stopped: " + layout.Clean(a.Rule)
		}
		if a.Adopted {
			line += ", adopted"
		}
		lines = append(lines, line)
		if a.Cause != "" {
			lines = append(lines, "  "+layout.Clean(a.Cause))
		}
	}
	return lines
}
