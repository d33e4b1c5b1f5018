package compare

import (
	"fmt"
	"slices"
	"strings"

	profile "boost-tui/profiler/compare"
	"boost-tui/tui/chart"
	"boost-tui/tui/format"
	"boost-tui/tui/layout"
	"boost-tui/tui/pick"
	"boost-tui/tui/widget/panel"
)

// drawCurves lays the runs' step times, or losses, over each other.
func (m *Model) drawCurves(w, h int) string {
	iw, ih := panel.Inner(w, h)
	t := m.env.Theme
	loss := metrics[m.metric].name == "loss"
	title := "Step time ms"
	if loss {
		title = "Loss"
	}
	line := chart.Line{Mode: chart.ModeOf(t), Theme: t, NoCursor: true, XName: "step"}
	var legend []string
	most := 0.0
	for i, r := range m.ordered() {
		c := m.result.curves[r.ID]
		p := c.step
		if loss {
			p = c.loss
		}
		if p.Len() == 0 {
			continue
		}
		if top, peak := chart.Top(p.Y); !loss {
			line.Top, most = max(line.Top, top), max(most, peak)
			if top == 0 {
				line.Top = max(line.Top, peak)
			}
		}
		style := t.Series[i%len(t.Series)]
		line.Series = append(line.Series, chart.Series{Points: p, Style: style, Pattern: i})
		name := m.label(r.ID) + " " + layout.Clean(r.Scheme)
		if !slices.ContainsFunc(p.Y, chart.Finite) {
			name += " (no number)"
		}
		legend = append(legend, chart.Legend(t, style, i, name))
	}
	if len(line.Series) == 0 {
		return m.frame(paneCurves, title, "", t.Dim.Paint("no steps"), w, h)
	}
	note := ""
	if line.Top > 0 && line.Top < most {
		note = "peak " + format.Digits(most)
	}
	if from, to, ok := m.zoomRange(line.Series); ok {
		line.Low, line.High = from, to
		note = strings.TrimSpace(note + fmt.Sprintf("  steps %.0f–%.0f", from, to))
	}
	if !loss {
		note = strings.TrimPrefix(note+m.linkMark(), ", ")
	}
	rows := line.Draw(iw, max(1, ih-1))
	return m.frame(paneCurves, title+" over the steps", note, strings.Join(rows, "\n")+"\n"+layout.Cut(strings.Join(legend, "  "), iw, t.Glyphs.Ellipsis), w, h)
}

// drawDiff shows in what the explained row differs from the reference.
func (m *Model) drawDiff(w, h int) string {
	iw, ih := panel.Inner(w, h)
	t := m.env.Theme
	r, ok := m.explained()
	title := "Config diff"
	var lines []string
	if base, have := m.diffBase(&r); ok && have {
		title += "  " + m.label(base.ID) + " " + t.Glyphs.Right + " " + m.label(r.ID)
		lines = m.diffTable(&r, &base, iw)
	} else {
		lines = []string{t.Dim.Paint("no reference to differ from")}
	}
	lines = fitRows(lines, max(1, ih-1))
	lines = append(lines, t.Dim.Paint("d shows every key"))
	return m.frame(paneDiff, title, "", strings.Join(lines, "\n"), w, h)
}

func (m *Model) diffTable(r, base *profile.Row, w int) []string {
	t := m.env.Theme
	col := layout.Clamp((w-13)/2-1, 4, 24)
	a, okA := m.info(base.ID)
	b, okB := m.info(r.ID)
	if !okA || !okB {
		return nil
	}
	all, bad := pick.Differences(a, b)
	all = append(all, otherKeys(a, b, all)...)
	var lines []string
	for _, d := range all {
		cut := func(s string) string {
			return layout.Pad(layout.Cut(orDash(layout.Clean(s)), col, t.Glyphs.Ellipsis), col)
		}
		line := layout.Pad(d.Name, 12) + " " + cut(d.Base) + " " + cut(d.Run)
		if bad[d.Name] {
			line = t.Warn.Paint(line + t.Glyphs.Warn)
		}
		lines = append(lines, line)
	}
	if len(lines) == 0 {
		lines = []string{t.Dim.Paint("nothing differs")}
	}
	return lines
}
