package runs

import (
	"fmt"
	"strings"
	"time"

	"boost-tui/runner"
	"boost-tui/tui/format"
	"boost-tui/tui/layout"
	"boost-tui/tui/theme"
	"boost-tui/tui/widget/stepbar"
)

// detail describes a run in lines of at most w cells; short leaves out what
// the list shows too.
func (m *Model) detail(t theme.Theme, r run, w int, short bool) []string {
	var lines []string
	if r.Err != nil {
		lines = append(lines, wrapped(t, t.Bad, t.Glyphs.Warn+" "+r.Err.Error(), w)...)
	}
	if r.Run.Schema > 0 {
		if !short {
			lines = append(lines, wrapped(t, t.Dim, r.ID, w)...)
		}
		lines = append(lines, wrapped(t, t.Text, heading(t, r), w)...)
		lines = append(lines, timing(t, r, w)...)
	}
	if r.Cause != "" {
		style := t.Bad
		if r.State == runner.Pending { // nothing is wrong: it waits for its turn
			style = t.Dim
		}
		lines = append(lines, wrapped(t, style, r.Cause, w)...)
	}
	if r.back != "" {
		lines = append(lines, wrapped(t, t.Warn, "it "+r.back, w)...)
	}
	lines = append(lines, measuredLines(t, r, w, short)...)
	lines = append(lines, m.placeLines(t, r, w, short)...)
	if len(r.Tags) > 0 && !short {
		lines = append(lines, t.Dim.Paint("tags ")+layout.Clean(strings.Join(r.Tags, " ")))
	}
	if r.Note != "" {
		lines = append(lines, wrapped(t, t.Text, "note: "+r.Note, w)...)
	}
	if !short && r.Run.Schema > 0 {
		lines = append(lines, "")
		lines = append(lines, wrapped(t, t.Dim, format.Shell(r.Run.Command()), w)...)
		lines = append(lines, "", t.Dim.Paint("enter live  l log  e edit in Launch"))
	}
	return lines
}

func heading(t theme.Theme, r run) string {
	e := r.Run.Experiment
	s := fmt.Sprintf("%s %s %s %s", e.Model.Size, e.Model.Variant, e.Parallel.Scheme, e.Parallel.Degrees())
	if e.Model.Rank > 0 {
		s += fmt.Sprintf(" rank %d", e.Model.Rank)
	}
	s += fmt.Sprintf("  %d%s%d seq %d", e.Step.MicroBatch, t.Glyphs.Times, e.Step.Accumulate, e.Step.Seq)
	if words := e.EmulatedWords(); words != "" {
		s += "  " + words
	}
	if r.Run.Name != "" {
		s = r.Run.Name + ": " + s
	}
	return layout.Clean(s)
}

// timing is the state and when it came about.
func timing(t theme.Theme, r run, w int) []string {
	sign, style := stateSign(t, r.State)
	text := fmt.Sprintf("%s on %s", r.Began().In(r.now.Location()).Format(time.DateTime), r.Run.Host)
	if took, why := r.Took(r.now); why == "" {
		text += ", " + format.Duration(took)
	} else if !r.Ended.IsZero() {
		text += ", how long it took is unknown: " + why
	}
	head := sign + " " + string(r.State)
	if layout.Width(head)+2+layout.Width(text) <= w {
		return []string{style.Paint(head) + "  " + layout.Clean(text)}
	}
	return append([]string{style.Paint(head)}, wrapped(t, t.Text, text, w)...)
}

// measuredLines are the step time with its parts, loss and throughput.
func measuredLines(t theme.Theme, r run, w int, short bool) []string {
	f := r.fig()
	if f == nil || f.StepTimeMedian == nil {
		return []string{t.Dim.Paint("nothing measured yet")}
	}
	parts := stepbar.Of(f.Breakdown)
	lines := []string{}
	if !short {
		step := "step " + format.Millis(*f.StepTimeMedian) + " ms (median"
		if f.Short {
			step += ", short run"
		}
		if mark := r.Run.Experiment.Emulated(); mark != "" {
			step += ", " + mark
		}
		lines = append(lines, "", step+")")
	}
	if parts.Known() {
		width := max(1, min(w, 72))
		lines = append(lines, parts.Bar(t, parts.Sum(), width))
		lines = append(lines, parts.Values(t, width)...)
	}
	var more []string
	if f.LossLast != nil {
		more = append(more, "loss "+lossText(*f.LossLast))
	}
	if f.TokensPerSecond != nil {
		more = append(more, "tok/s "+format.Rate(*f.TokensPerSecond))
	}
	if f.CommBytesPerStep != nil {
		more = append(more, "comm "+format.Bytes(*f.CommBytesPerStep)+"/step")
	}
	if f.PeakMemory != nil {
		more = append(more, "peak "+format.Bytes(*f.PeakMemory))
	}
	lines = append(lines, wrapped(t, t.Text, strings.Join(more, "  "), w)...)
	if f.StepsLeftOut > 0 {
		lines = append(lines, wrapped(t, t.Warn, fmt.Sprintf("%s %d of %d updates were left out: loss or gradient norm was not finite", t.Glyphs.Warn, f.StepsLeftOut, f.Steps), w)...)
	}
	return lines
}

// wrapped breaks untrusted text into lines of at most w cells.
func wrapped(t theme.Theme, style theme.Style, s string, w int) []string {
	var out []string
	line := ""
	for _, word := range strings.Fields(layout.Clean(s)) {
		if line != "" && layout.Width(line)+1+layout.Width(word) > w {
			out = append(out, style.Paint(line))
			line = ""
		}
		if line != "" {
			line += " "
		}
		line += layout.Cut(word, w, t.Glyphs.Ellipsis)
	}
	if line != "" {
		out = append(out, style.Paint(line))
	}
	return out
}
