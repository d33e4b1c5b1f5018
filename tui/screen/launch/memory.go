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
	switch n := m.draft.machine.MemBytes; {
	case m.plan.p != nil && m.plan.p.Fit.Of == planner.OfGPU:
		note = m.gpuNote(m.plan.p.Fit)
	case n > 0:
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
	gpu := p.Fit.Of == planner.OfGPU
	if n := m.draft.resolved.World(); !gpu && n > 1 || p.MachineBytes == 0 {
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

// gpuNote says what GPUs a rank is held against.
func (m *Model) gpuNote(f planner.Fit) string {
	switch {
	case m.machine.NoGPUs:
		return m.machineNote("no GPU")
	case f.HasBytes == 0:
		return m.machineNote("GPU memory unknown")
	case f.GPUs > 0:
		return m.machineNote(fmt.Sprintf("%d x GPU %s", f.GPUs, format.Bytes(f.HasBytes)))
	}
	return m.machineNote("GPU " + format.Bytes(f.HasBytes))
}

// allRanks says whether all ranks together fit into the machine, or a rank into a GPU.
func (m *Model) allRanks(t theme.Theme, p *planner.Plan, bar, w int) string {
	style, word := t.Good, "fits"
	name, need, has := "total", p.NeedBytes, p.MachineBytes
	switch n := m.draft.resolved.World(); {
	case p.Fit.Of == planner.OfGPU:
		need, has = p.Fit.NeedBytes, p.Fit.HasBytes
	case n > 1:
		name = fmt.Sprintf("all %d ranks", n)
	}
	switch {
	case p.Fit.Of == planner.OfGPU && p.Fit.Verdict == planner.FitNo && need <= has:
		style, word = t.Bad, t.Glyphs.Cross+" too few GPUs"
	case !p.Fits:
		style, word = t.Bad, t.Glyphs.Cross+" does not fit"
	case p.Fit.Verdict == planner.FitClose:
		style, word = t.Warn, t.Glyphs.Warn+" close"
	}
	text := format.Bytes(need) + "  " + style.Paint(word)
	room := min(bar, w-13-layout.Width(text)-1)
	return layout.Spread(layout.Pad(name, 12)+chart.Bar(t, style, float64(need), float64(has), room, true), text, w)
}
