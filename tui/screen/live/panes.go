package live

import (
	"fmt"
	"strconv"
	"strings"

	"boost-tui/runner"
	"boost-tui/tui/chart"
	"boost-tui/tui/format"
	"boost-tui/tui/layout"
	"boost-tui/tui/msg"
	"boost-tui/tui/widget/modal"
	"boost-tui/tui/widget/panel"

	tea "github.com/charmbracelet/bubbletea"
)

func (m *Model) frame(p pane, title, note, body string, w, h int) string {
	return panel.Panel{Title: title, Note: note, Focused: m.focus == p}.View(m.env.Theme, body, w, h)
}

// failure says why reading or the run went wrong, on lines of w cells. Where a
// rank was is at the end of a cause, so it is not cut.
func (m *Model) failure(w int) (out []string) {
	t := m.env.Theme
	for _, err := range []error{m.err, m.run.Err} {
		if err != nil {
			for _, line := range words(t.Glyphs.Cross+" "+layout.Clean(err.Error()), w, failureLines) {
				out = append(out, t.Bad.Paint(line))
			}
		}
	}
	if m.run.Cause != "" && m.run.State != runner.Finished {
		g := t.Glyphs
		sign := map[runner.State]string{runner.Pending: g.Pending, runner.Failed: g.Failed, runner.Cancelled: g.Cancelled, runner.Lost: g.Lost}[m.run.State]
		style := t.Bad
		if m.run.State == runner.Pending { // nothing is wrong: it waits for its turn
			style = t.Dim
		}
		for _, line := range words(sign+" "+string(m.run.State)+": "+layout.Clean(m.run.Cause), w, failureLines) {
			out = append(out, style.Paint(line))
		}
	}
	return out
}

// failureLines is how many lines one reason may take.
const failureLines = 3

// words breaks a text at blanks into at most n lines of w cells; the last one
// is cut where that is not enough.
func words(text string, w, n int) (lines []string) {
	line := ""
	for _, word := range strings.Fields(text) {
		switch {
		case line == "":
			line = word
		case layout.Width(line)+1+layout.Width(word) <= w || len(lines) == n-1:
			line += " " + word
		default:
			lines = append(lines, line)
			line = "  " + word
		}
	}
	return append(lines, layout.Cut(line, w, "…"))
}

// notes are the lines below the ranks: what went wrong, who is slow, the host.
func (m *Model) notes(w int, wide bool) []string {
	t, s := m.env.Theme, m.shown()
	out := m.failure(w)
	if line := m.stragglerLine(s.ranks, wide); line != "" {
		out = append(out, line)
	}
	if s.skipped > 0 {
		out = append(out, t.Warn.Paint(fmt.Sprintf("%s %d lines of step times could not be read", t.Glyphs.Warn, s.skipped)))
	}
	if wide {
		for _, h := range s.hosts {
			if h.nanos > 0 && len(out) < 4 {
				out = append(out, t.Dim.Paint(h.line()))
			}
		}
	}
	return out
}

func (h hostStat) line() string {
	text := "host " + layout.Clean(h.name) + "  cpu " + percent(h.busy)
	if chart.Finite(h.busy) {
		text += " %"
	}
	if h.memUsed >= 0 {
		text += "  memory in use " + format.Bytes(h.memUsed)
	}
	if chart.Finite(h.tx) && chart.Finite(h.rx) {
		text += "  network " + format.Bytes(int64(h.tx)) + "/s out, " + format.Bytes(int64(h.rx)) + "/s in"
	}
	return text
}

// stragglerLine names the rank that the others wait for.
func (m *Model) stragglerLine(ranks []rankStat, wide bool) string {
	t := m.env.Theme
	if len(ranks) < 2 {
		return ""
	}
	slow, ok := findStraggler(ranks)
	switch {
	case !ok:
		return t.Dim.Paint("straggler: the ranks' waits are not known yet")
	case slow.extra < stragglerLimit:
		return t.Dim.Paint("no straggler: all ranks wait about the same")
	}
	text := fmt.Sprintf("straggler: rank %d waits least, %s %% of a step", slow.rank, percent(slow.wait))
	if wide {
		text += fmt.Sprintf("; the others wait %s %% for it", percent(slow.others))
		if period := m.shown().period; chart.Finite(period) {
			text += ", about " + format.Millis(slow.extra*period) + " ms"
		}
	} else {
		text += fmt.Sprintf(", the others %s %%", percent(slow.others))
	}
	return t.Warn.Paint(text)
}

// drawParts shows where a step goes, beside the references on the same scale.
func (m *Model) drawParts(w, h int, wide bool) string {
	iw, _ := panel.Inner(w, h)
	t, s := m.env.Theme, m.shown()
	title, note := fmt.Sprintf("Step breakdown  last %d steps, mean, ms", s.steps), m.age(s.stepNanos, s.period)
	if !wide {
		title = fmt.Sprintf("Breakdown ms (mean %d)", s.steps)
	}
	if s.steps == 0 || !s.parts.Known() {
		body := "no step yet"
		if s.steps > 0 {
			body = "the step lines have no breakdown"
		}
		return m.frame(paneParts, title, note, t.Dim.Paint(body), w, h)
	}
	lines := m.bars(iw)
	refs := m.references()
	if wide && len(refs) == 0 {
		lines = append(lines, t.Dim.Paint("b and v on a run make it a reference"))
	}
	if wide {
		lines = append(lines, "")
	}
	lines = append(lines, s.parts.Values(t, iw)...)
	rate := ""
	if tokens := m.run.Run.Experiment.TokensPerStep(); tokens > 0 && s.period > 0 {
		rate = format.Count(int64(float64(tokens)/s.period)) + " tok/s"
	}
	if s.newest.CommBytes >= 0 {
		rate += "  " + format.Bytes(s.newest.CommBytes) + " communicated per step"
	}
	if wide {
		lines = append(lines, t.Dim.Paint(strings.TrimSpace(rate)))
	}
	return m.frame(paneParts, title, note, strings.Join(lines, "\n"), w, h)
}

// bars draws this run and the references on one scale, each with its step time
// and the speed-up of this run over it.
func (m *Model) bars(w int) []string {
	t, s := m.env.Theme, m.shown()
	refs := m.references()
	full := s.parts.Sum()
	for _, r := range refs {
		full = max(full, r.parts.Sum())
	}
	name, tail := 9, 8
	if len(refs) > 0 {
		tail += 7
	}
	if w < 50 {
		name = 5
	}
	bar := max(4, w-name-tail-2)
	lines := []string{layout.Pad(layout.Cut("this run", name, ""), name) + " " + s.parts.Bar(t, full, bar) + " " + layout.PadLeft(format.Millis(s.parts.Sum()), 7)}
	for _, r := range refs {
		label := r.label
		if w < 50 {
			label = map[string]string{"full-rank": "full", "vanilla": "van"}[label]
			if label == "" {
				label = r.label
			}
		}
		line := t.Dim.Paint(layout.Pad(layout.Cut(label, name, ""), name)) + " " + r.parts.Bar(t, full, bar) + " " + layout.PadLeft(format.Millis(r.parts.Sum()), 7)
		if sum := s.parts.Sum(); sum > 0 && r.parts.Known() {
			line += " " + layout.PadLeft(format.Ratio(r.parts.Sum()/sum, t.Glyphs.Times), 6)
		}
		lines = append(lines, line)
	}
	return lines
}

// details opens the parts in numbers.
func (m *Model) details(string) tea.Cmd {
	s := m.shown()
	if !s.parts.Known() {
		return nil
	}
	p := s.parts
	row := func(name string, v float64) string {
		pct := ""
		if sum := p.Sum(); sum > 0 && chart.Finite(v) {
			pct = layout.PadLeft(strconv.FormatFloat(v/sum*100, 'f', 1, 64)+" %", 9)
		}
		return layout.Pad(name, 30) + layout.PadLeft(format.Millis(v), 10) + pct
	}
	lines := []string{fmt.Sprintf("mean over ranks and the last %d steps, ms", s.steps), "",
		row("compute alone", p.Compute), row("compute hiding communication", p.Hidden), row("exposed communication", p.Exposed),
		row("  waiting for other ranks", p.Wait), row("  transfer", p.Exposed-p.Wait), row("memory alone", p.Memory), row("idle", p.Idle),
		row("step", p.Sum()), "", "The five parts sum to the step. Hidden communication is inside compute."}
	return msg.Send(msg.Open{Modal: modal.Text{Title: "Where a step goes", Lines: lines}})
}
