package launch

import (
	"fmt"
	"strings"

	"boost-tui/planner"
	"boost-tui/tui/chart"
	"boost-tui/tui/format"
	"boost-tui/tui/layout"
	"boost-tui/tui/theme"
	"boost-tui/tui/widget/panel"
)

// memoryPane is the memory of one rank by use, and of all against the machine.
func (m *Model) memoryPane(t theme.Theme, r layout.Rect) string {
	if r.Empty() {
		return ""
	}
	w, h := panel.Inner(r.W, r.H)
	note := ""
	if n := m.draft.machine.MemBytes; n > 0 {
		note = m.machineNote(format.Bytes(n))
	}
	return panel.Panel{Title: "Memory per rank", Note: note}.View(t, fitLines(m.memoryLines(t, w, h), h), r.W, r.H)
}

func (m *Model) memoryLines(t theme.Theme, w, h int) []string {
	p := m.plan.p
	if p == nil {
		return []string{m.noPlan(t)}
	}
	mem := p.Memory
	type row struct {
		name  string
		bytes int64
	}
	rows := []row{{"weights", mem.Weights}, {"gradients", mem.Gradients}, {"optimizer", mem.Optimizer}, {"activations", mem.Activations}, {"logits", mem.Logits}, {"buffers", mem.Buffers}}
	if most := len(rows) + 3; mem.Checkpoint > 0 && h > most { // two sums and a note; a note of the plan says it too
		rows = append(rows, row{"checkpoint", mem.Checkpoint}) // in host memory, beside the total of a rank
	}
	largest := int64(1)
	for _, row := range rows {
		largest = max(largest, row.bytes)
	}
	style := t.Compute
	if m.planning {
		style = t.Dim
	}
	bar := max(4, w-12-11)
	var lines []string
	for _, row := range rows {
		lines = append(lines, layout.Pad(row.name, 12)+chart.Bar(t, style, float64(row.bytes), float64(largest), bar, false)+layout.PadLeft(format.Bytes(row.bytes), 10))
	}
	var sums []string
	if n := m.draft.resolved.World(); n > 1 || p.MachineBytes == 0 {
		sums = append(sums, layout.Pad("total", 12)+strings.Repeat(" ", bar)+layout.PadLeft(format.Bytes(mem.Total), 10))
	}
	if p.MachineBytes > 0 {
		sums = append(sums, m.allRanks(t, p, bar, w))
	}
	if n := m.plan.micro; n > 0 {
		note := "no larger micro-batch fits"
		if n > m.draft.resolved.Step.MicroBatch {
			note = fmt.Sprintf("micro-batch up to %d fits", n)
		}
		sums = append(sums, t.Dim.Paint(layout.Cut(note, w, t.Glyphs.Ellipsis)))
	}
	if len(lines)+1+len(sums) <= h {
		lines = append(lines, t.Border.Paint(strings.Repeat(t.Glyphs.H, w)))
	}
	return append(lines, sums...)
}

// allRanks says whether all ranks together fit into the machine.
func (m *Model) allRanks(t theme.Theme, p *planner.Plan, bar, w int) string {
	style, word := t.Good, "fits"
	if !p.Fits {
		style, word = t.Bad, t.Glyphs.Cross+" does not fit"
	}
	name := "total"
	if n := m.draft.resolved.World(); n > 1 {
		name = fmt.Sprintf("all %d ranks", n)
	}
	text := format.Bytes(p.NeedBytes) + "  " + style.Paint(word)
	room := min(bar, w-13-layout.Width(text)-1)
	return layout.Spread(layout.Pad(name, 12)+chart.Bar(t, style, float64(p.NeedBytes), float64(p.MachineBytes), room, true), text, w)
}

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
	case m.draft.start.asked:
		out = append(out, "  what it goes on from is being looked at")
	case len(m.draft.obstacles()) == 0:
		out = append(out, "+ every rule holds")
	}
	if m.plan.err != nil && len(m.draft.obstacles()) == 0 {
		out = append(out, "x "+firstLine(m.plan.err.Error()))
	}
	if p := m.plan.p; p != nil {
		if p.Fits && p.MachineBytes > 0 {
			out = append(out, fmt.Sprintf("+ needs %s of %s", format.Bytes(p.NeedBytes), format.Bytes(p.MachineBytes)))
		}
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

func (m *Model) paintChecks(t theme.Theme) []string {
	lines := m.checkLines()
	for i, line := range lines {
		rest := line[2:]
		switch line[0] {
		case 'x':
			lines[i] = t.Bad.Paint(t.Glyphs.Cross + " " + rest)
		case '!':
			lines[i] = t.Warn.Paint(t.Glyphs.Warn + " " + rest)
		case '+':
			lines[i] = t.Good.Paint(t.Glyphs.Check) + " " + rest
		default:
			lines[i] = t.Dim.Paint("  " + rest)
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
