package live

import (
	"fmt"
	"strings"

	"boost-tui/runner"
	"boost-tui/tui/chart"
	"boost-tui/tui/format"
	"boost-tui/tui/layout"
	"boost-tui/tui/pick"
	"boost-tui/tui/theme"
	"boost-tui/tui/widget/panel"
	"boost-tui/tui/widget/stepbar"
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
		sign := map[runner.State]string{runner.Pending: g.Pending, runner.Running: g.Warn, runner.Failed: g.Failed, runner.Cancelled: g.Cancelled, runner.Lost: g.Lost}[m.run.State]
		style := t.Bad
		if m.run.State == runner.Pending { // nothing is wrong: it waits for its turn
			style = t.Dim
		}
		for _, line := range words(sign+" "+string(m.run.State)+": "+layout.Clean(m.run.Cause), w, failureLines) {
			out = append(out, style.Paint(line))
		}
	}
	return append(out, m.chainLines(w)...)
}

// chainLines say from which run this one goes on, as which one it does, and what its job has left.
func (m *Model) chainLines(w int) (out []string) {
	t := m.env.Theme
	add := func(style theme.Style, text string) {
		out = append(out, style.Paint(layout.Cut(layout.Clean(text), w, t.Glyphs.Ellipsis)))
	}
	if text, style := m.jobLine(); text != "" {
		add(style, text)
	}
	if x := m.run.Run.Restart; x != nil && m.live() {
		add(t.Dim, fmt.Sprintf("restart %d of %d, goes on from %s", x.Number, m.run.Run.Experiment.Where.MaxRestarts, pick.Short(x.Of)))
	}
	if back := m.back[m.run.ID]; back != "" {
		for _, line := range words("it "+layout.Clean(back), w, failureLines) {
			add(t.Warn, line)
		}
	}
	if r := m.run.Result; r != nil && r.RestartedAs != "" {
		add(t.Warn, "it goes on as "+pick.Short(r.RestartedAs)+": ] goes there")
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
	line := ""
	if m.byHost() {
		line = m.slowHostLine(w)
	} else {
		line = m.stragglerLine(w, wide)
	}
	if line != "" {
		out = append(out, line)
	}
	if s.skipped > 0 {
		out = append(out, t.Warn.Paint(t.Glyphs.Warn+" "+format.Many(s.skipped, "line")+" of step times could not be read"))
	}
	if wide && !m.byHost() {
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

// stragglerLine names the rank that the others wait for. Of a run that is over
// and was too short to tell, there is nothing to say.
func (m *Model) stragglerLine(w int, wide bool) string {
	t, slow := m.env.Theme, &m.shown().slow
	if m.run.Run.Preflight != nil || m.world() < 2 || m.world() > followWhole || m.run.State == runner.Failed || slow.missing > 0 && (m.run.State != runner.Running || !wide) {
		return ""
	}
	style := t.Dim
	if slow.rank >= 0 && !slow.least {
		style = t.Warn
	}
	return style.Paint(layout.Cut(slow.text(wide), w, t.Glyphs.Ellipsis))
}

// drawParts shows where a mean step goes, beside the references on the same
// scale, and the speed-ups over them.
func (m *Model) drawParts(w, h int, wide bool) string {
	iw, _ := panel.Inner(w, h)
	t, s := m.env.Theme, m.shown()
	title, note := "Step breakdown  mean, ms", m.age(s.stepNanos, s.stepSeen, s.period)
	if !wide {
		title = "Breakdown  mean, ms"
	}
	if wide && len(m.references()) > 0 {
		title += ", references " + m.origin()
	}
	if s.steps == 0 || !s.parts.Known() {
		body := "no step yet"
		if s.steps > 0 {
			body = "the step lines have no breakdown"
		}
		return m.frame(paneParts, title, note, t.Dim.Paint(body), w, h)
	}
	refs := m.references()
	lines := append(m.bars(refs, iw), m.speedLines(refs, wide, iw)...)
	if wide && len(refs) == 0 && m.refErr == nil {
		lines = append(lines, t.Dim.Paint("b and v on a run make it a reference"))
	}
	lines = append(lines, s.parts.Values(t, iw)...)
	if wide {
		if rate := m.rates(); rate != "" {
			lines = append(lines, t.Dim.Paint(layout.Cut(rate, iw, t.Glyphs.Ellipsis)))
		}
		lines = append(lines, m.collectives(iw)...)
	}
	return m.frame(paneParts, title, note, strings.Join(lines, "\n"), w, h)
}

// rates are tokens and bytes of the mean step.
func (m *Model) rates() string {
	s := m.shown()
	var b []string
	if tokens := m.run.Run.Experiment.TokensPerStep(); tokens > 0 && s.period > 0 {
		b = append(b, "mean "+format.Rate(float64(tokens)/s.period)+" tok/s")
	}
	if s.newest.CommBytes >= 0 {
		b = append(b, format.Bytes(s.newest.CommBytes)+" communicated per step")
	}
	return strings.Join(b, "  ")
}

// drawn are the references that have a mean step to draw: one that is still at
// its first steps has none.
func drawn(refs []reference) (out []reference) {
	for _, r := range refs {
		if chart.Finite(r.mean) {
			out = append(out, r)
		}
	}
	return out
}

// bars draws this run and the references on one scale, each with its mean step
// and the steps that it is a mean of.
func (m *Model) bars(refs []reference, w int) []string {
	refs = drawn(refs)
	t, s := m.env.Theme, m.shown()
	full := s.parts.Sum()
	name := 9
	if w < 50 {
		name = 5
	}
	for _, r := range refs {
		full = max(full, r.mean)
		if w >= 50 {
			name = max(name, min(layout.Width(r.name), w/3))
		}
	}
	const tail = 1 + 7 + 1 + 9
	bar := max(4, w-name-1-tail)
	row := func(label string, style theme.Style, p stepbar.Parts, mean float64, steps string) string {
		return style.Paint(layout.Pad(layout.Cut(label, name, t.Glyphs.Ellipsis), name)) + " " + p.Bar(t, full, bar) + " " +
			layout.PadLeft(format.Millis(mean), 7) + " " + t.Dim.Paint(steps)
	}
	lines := []string{row(short(w, "this run", "this"), t.Text, s.parts, s.parts.Sum(), fmt.Sprintf("last %d", s.steps))}
	for _, r := range refs {
		lines = append(lines, row(short(w, r.name, r.head), t.Dim, r.parts, r.mean, fmt.Sprintf("kept %d", r.kept)))
	}
	return lines
}

// short is the name where w has room for it, else the head.
func short(w int, name, head string) string {
	if w < 50 {
		return head
	}
	return name
}
