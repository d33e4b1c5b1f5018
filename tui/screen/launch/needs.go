package launch

import (
	"fmt"
	"strings"

	"boost-tui/experiment"
	"boost-tui/planner"
	"boost-tui/tui/chart"
	"boost-tui/tui/format"
	"boost-tui/tui/layout"
	"boost-tui/tui/theme"
	"boost-tui/tui/widget/panel"
)

func (m *Model) noPlan(t theme.Theme) string {
	switch {
	case m.planning:
		return t.Dim.Paint("planning " + t.Glyphs.Ellipsis)
	case m.plan.err != nil:
		return t.Dim.Paint("no plan: see the checks")
	}
	return t.Dim.Paint("no plan yet")
}

// needsPane is what a step needs, and the three schemes side by side.
func (m *Model) needsPane(t theme.Theme, r layout.Rect) string {
	if r.Empty() {
		return ""
	}
	w, h := panel.Inner(r.W, r.H)
	note := ""
	if m.planning {
		note = "planning " + t.Glyphs.Ellipsis
	}
	return panel.Panel{Title: "What a step needs", Note: note}.View(t, fitLines(m.needsLines(t, w, h), h), r.W, r.H)
}

func (m *Model) needsLines(t theme.Theme, w, h int) []string {
	p := m.plan.p
	if p == nil {
		return []string{m.noPlan(t)}
	}
	half := w / 2
	if w < 48 {
		half = w
	}
	lines := []string{
		pair(t, "parameters", strings.TrimSpace(format.SI(float64(p.Parameters))), half), pair(t, "FLOPs", format.SI(float64(p.FLOPs))+"FLOP", half),
		pair(t, "tokens", strings.TrimSpace(format.Count(p.TokensPerStep)), half), pair(t, "comm/rank", format.Bytes(p.StepBytes), half),
	}
	if half < w {
		lines = []string{lines[0] + lines[1], lines[2] + lines[3]}
	}
	if h > 9 {
		lines = append(lines, t.Dim.Paint(layout.Cut(fmt.Sprintf("%d collective calls, %s on the wire", p.Collectives, format.Bytes(p.WireBytes)), w, t.Glyphs.Ellipsis)))
	}
	if h > 13 {
		lines = append(lines, blockLine(t, "forward", p.Block.Forward, w), blockLine(t, "backward", p.Block.Backward, w))
	}
	if rivals := m.rivalLines(t, w); len(lines)+1+len(rivals) > h {
		return append(lines, rivals...)
	}
	return append(append(lines, ""), m.rivalLines(t, w)...)
}

func pair(t theme.Theme, name, value string, w int) string {
	return layout.Pad(t.Dim.Paint(layout.Pad(name, 11))+value, w)
}

// blockLine is the communication of one decoder block in one direction.
func blockLine(t theme.Theme, name string, d planner.Direction, w int) string {
	calls := make([]string, len(d.Collectives))
	for i, c := range d.Collectives {
		calls[i] = c.Label
	}
	text := "none"
	if len(calls) > 0 {
		text = strings.TrimSpace(format.SI(float64(d.Elements))) + " elements: " + strings.Join(calls, ", ")
	}
	return layout.Cut(t.Dim.Paint(layout.Pad(name, 11))+layout.Clean(text), w, t.Glyphs.Ellipsis)
}

// rivalLines compare the three schemes of the same configuration.
func (m *Model) rivalLines(t theme.Theme, w int) []string {
	names := [3]string{"full-rank", "vanilla", "btp"}
	most := int64(1)
	for _, r := range m.rivals {
		if r.p != nil {
			most = max(most, r.p.StepBytes)
		}
	}
	wide := w >= 43
	head := "            params     memory  comm/step"
	if !wide {
		head = "            params  comm/step"
	}
	lines := []string{t.Dim.Paint(layout.Cut(head, w, ""))}
	for i, r := range m.rivals {
		lead := "  "
		if names[i] == string(m.draft.resolved.Parallel.Scheme) {
			lead = t.Glyphs.Cursor + " "
		}
		line := lead + layout.Pad(names[i], 10)
		switch {
		case r.p != nil:
			line += layout.PadLeft(strings.TrimSpace(format.SI(float64(r.p.Parameters))), 6)
			if wide {
				line += layout.PadLeft(format.Bytes(r.p.Memory.Total), 11)
			}
			line += layout.PadLeft(format.Bytes(r.p.StepBytes), 11)
			if room := w - layout.Width(line) - 2; room >= 6 {
				line += "  " + chart.Bar(t, t.Exposed, float64(r.p.StepBytes), float64(most), room, false)
			}
		case r.err != nil:
			line += t.Dim.Paint(t.Glyphs.Cross + " " + firstLine(r.err.Error()))
		default:
			line += t.Dim.Paint(t.Glyphs.Ellipsis)
		}
		lines = append(lines, layout.Cut(line, w, t.Glyphs.Ellipsis))
	}
	return lines
}

// totalNote is the short form of the memory panel for the status line.
func (m *Model) totalNote() string {
	if m.plan.p == nil {
		return ""
	}
	s := "  " + format.Bytes(m.plan.p.Memory.Total) + "/rank"
	if !m.plan.p.Fits {
		s += ", does not fit"
	}
	return s
}

// checkLines say what stands in the way of a launch and what to know about it.
func (m *Model) checkLines() []string {
	var out []string
	for _, v := range m.draft.faults {
		sign := "x "
		if v.Warning {
			sign = "! "
		}
		out = append(out, sign+v.String())
	}
	switch {
	case m.waits() && len(m.draft.obstacles()) == 0:
		out = append(out, "  what it computes on is being looked at")
	case m.draft.start.asked:
		out = append(out, "  what it goes on from is being looked at")
	case len(m.draft.obstacles()) == 0:
		out = append(out, "+ every rule holds")
	}
	if m.plan.err != nil && len(m.draft.obstacles()) == 0 {
		out = append(out, "x "+firstLine(m.plan.err.Error()))
	}
	if p := m.plan.p; p != nil {
		switch {
		case p.Fit.Of == planner.OfGPU && p.Fit.Verdict == planner.FitYes:
			out = append(out, "+ "+p.Fit.Why)
		case p.Fit.Of == planner.OfGPU && p.Fit.Verdict == planner.FitUnknown:
			out = append(out, "! "+p.Fit.Why)
		case p.Fit.Of != planner.OfGPU && p.Fits && p.MachineBytes > 0:
			out = append(out, fmt.Sprintf("+ needs %s of %s", format.Bytes(p.NeedBytes), format.Bytes(p.MachineBytes)))
		}
	}
	if m.draft.resolved.Step.Device == experiment.DeviceEmu {
		out = append(out, "! device emulated is "+emulatedNote)
	}
	if advice := m.stepsAdvice(m.draft.resolved); advice != "" {
		out = append(out, "! "+advice)
	}
	if last := m.lastLaunches(); last != "" {
		out = append(out, "  last launches of this configuration:"+last)
	}
	if p := m.plan.p; p != nil {
		for _, n := range p.Notes {
			out = append(out, "  "+n)
		}
	}
	return cleanAll(out)
}

// paintChecks are the check lines of w cells; what stands in the way is said in full.
func (m *Model) paintChecks(t theme.Theme, w int) []string {
	var lines []string
	for _, line := range m.checkLines() {
		rest := line[2:]
		switch line[0] {
		case 'x':
			for i, part := range wrap(rest, w-2) {
				sign := t.Glyphs.Cross
				if i > 0 {
					sign = " "
				}
				lines = append(lines, t.Bad.Paint(sign+" "+part))
			}
		case '!':
			lines = append(lines, t.Warn.Paint(t.Glyphs.Warn+" "+rest))
		case '+':
			lines = append(lines, t.Good.Paint(t.Glyphs.Check)+" "+rest)
		default:
			lines = append(lines, t.Dim.Paint("  "+rest))
		}
	}
	return lines
}

func cleanAll(lines []string) []string {
	for i := range lines {
		lines[i] = layout.Clean(lines[i])
	}
	return lines
}

func fitLines(lines []string, h int) string {
	return strings.Join(lines[:min(len(lines), max(0, h))], "\n")
}

func firstLine(s string) string {
	line, _, _ := strings.Cut(s, "\n")
	return layout.Clean(line)
}
