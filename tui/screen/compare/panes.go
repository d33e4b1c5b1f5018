package compare

import (
	"fmt"
	"math"
	"strings"

	profile "boost-tui/profiler/compare"
	"boost-tui/tui/chart"
	"boost-tui/tui/format"
	"boost-tui/tui/layout"
	"boost-tui/tui/pick"
	"boost-tui/tui/widget/panel"
	"boost-tui/tui/widget/stepbar"
)

func partsOf(r *profile.Row) stepbar.Parts { return stepbar.Of(r.Breakdown) }

// metric is what the bars can show beside the parts of a step.
type metric struct {
	name string
	of   func(*profile.Row) float64 // nil: the parts of a step
	text func(*profile.Row) string
}

var metrics = []metric{
	{"step", nil, nil},
	{"mean tokens per second", func(r *profile.Row) float64 { return number(r.TokensPerSecond) }, tokens},
	{"bytes communicated per step", func(r *profile.Row) float64 { return integer(r.CommBytesPerStep) }, func(r *profile.Row) string { return size(r.CommBytesPerStep) }},
	{"peak memory", func(r *profile.Row) float64 { return integer(r.PeakMemory) }, func(r *profile.Row) string { return size(r.PeakMemory) }},
	{"loss", func(r *profile.Row) float64 { return number(r.LossLast) }, func(r *profile.Row) string { return format.Digits(number(r.LossLast)) }},
}

// ordered lists the rows in the table's order.
func (m *Model) ordered() []profile.Row {
	rows := append([]profile.Row{}, m.result.table.Rows...)
	m.order(rows)
	return rows
}

// rowLabel is a row's name before a bar: run and scheme.
func (m *Model) rowLabel(r *profile.Row, w int) string {
	scheme := layout.Clean(r.Scheme)
	if s, ok := map[string]string{"full-rank": "full", "vanilla": "van"}[scheme]; ok {
		scheme = s
	}
	return layout.Pad(layout.Cut(layout.Pad(m.label(r.ID), 6)+" "+scheme, w, ""), w)
}

// drawBars shows where each run's step goes on one scale, or another metric.
func (m *Model) drawBars(w, h int) string {
	iw, ih := panel.Inner(w, h)
	t := m.env.Theme
	k := metrics[m.metric]
	rows := m.ordered()
	labelW := 16
	if iw < 60 {
		labelW = 11
	}
	full := m.scale()
	title, note := "Where a step goes", "mean, "+millisRange(full)+m.linkMark()
	if k.of != nil {
		title, note, full = strings.ToUpper(k.name[:1])+k.name[1:], "", 0
		for i := range rows {
			if v := k.of(&rows[i]); chart.Finite(v) {
				full = max(full, v)
			}
		}
	}
	bar := max(4, iw-labelW-12)
	var lines []string
	var seen stepbar.Parts
	for i := range rows {
		r := &rows[i]
		var line, value string
		if k.of == nil {
			p := partsOf(r)
			seen.Memory = max(seen.Memory, p.Memory)
			line, value = p.Bar(t, full, bar), format.Unknown
			if p.Known() {
				value = format.Millis(p.Sum())
			}
		} else {
			line, value = chart.Bar(t, t.Series[0], k.of(r), full, bar, false), k.text(r)
		}
		lines = append(lines, m.rowLabel(r, labelW)+" "+line+" "+layout.PadLeft(value, 10))
	}
	legend := stepbar.Legend(t, seen, iw)
	if k.of != nil {
		legend = ""
	}
	lines = fitRows(lines, ih-extra(legend))
	if legend != "" && ih > len(lines) {
		if ih > len(lines)+1 {
			lines = append(lines, "")
		}
		lines = append(lines, legend)
	}
	if k.of == nil {
		lines = append(lines, m.allComm(rows, iw, ih-len(lines))...)
		lines = append(lines, m.collectives(rows, iw, ih-len(lines))...)
	}
	return m.frame(paneBars, title, note, strings.Join(lines, "\n"), w, h)
}

func extra(s string) int {
	if s == "" {
		return 0
	}
	return 1
}

// fitRows drops the rows that have no room and says how many.
func fitRows(lines []string, room int) []string {
	if len(lines) <= room || room < 1 {
		return lines
	}
	return append(lines[:room-1:room-1], fmt.Sprintf("%d more", len(lines)-room+1))
}

// drawSpeed shows the speed-ups as bars with a mark at 1, and why below.
func (m *Model) drawSpeed(w, h int) string {
	iw, ih := panel.Inner(w, h)
	t := m.env.Theme
	lines, why := m.speedBars(iw), m.whyLines(true)
	if len(lines)+1+len(why) > ih {
		why = m.whyLines(false)
	}
	if len(lines)+1+len(why) > ih { // the reasons matter more
		lines = fitRows(lines, max(1, ih-len(why)))
	} else {
		lines = append(lines, "")
	}
	lines = append(lines, why...)
	for i := range lines {
		lines[i] = layout.Cut(lines[i], iw, t.Glyphs.Ellipsis)
	}
	_, name := m.speedBase()
	return m.frame(paneSpeed, "Speed-up over "+name, "medians"+m.linkMark(), strings.Join(lines, "\n"), w, h)
}

// speedBase is what the speed-up bars are measured against: the baseline, or
// the vanilla reference where there is none.
func (m *Model) speedBase() (role pick.Role, name string) {
	role = pick.Baseline
	_, name, _, ok := m.reference(role)
	if !ok {
		if _, vanilla, _, there := m.reference(pick.Vanilla); there {
			return pick.Vanilla, vanilla
		}
		name = "a baseline (b marks one)"
	}
	return role, name
}

func (m *Model) speedBars(w int) []string {
	t := m.env.Theme
	rows := m.ordered()
	role, _ := m.speedBase()
	of := func(r *profile.Row) float64 { return ratio(over(r, role)) }
	most := 1.0
	for i := range rows {
		if v := of(&rows[i]); chart.Finite(v) {
			most = max(most, v)
		}
	}
	const labelW = 11
	bar := max(4, w-labelW-11)
	var lines []string
	for i := range rows {
		r := &rows[i]
		v := of(r)
		value, sure := m.speedup(r, role)
		switch {
		case !r.Comparable:
			value = m.sign(r) + value
		case beside(r):
			value = t.Glyphs.Warn + value
		}
		if value = layout.PadLeft(value, 9); !sure {
			value = t.Dim.Paint(value)
		}
		lines = append(lines, m.rowLabel(r, labelW)+" "+m.speedBar(v, most, bar)+" "+value)
	}
	return lines
}

// speedBar is a bar with a mark where the speed-up is 1.
func (m *Model) speedBar(v, most float64, w int) string {
	t := m.env.Theme
	g := t.Glyphs
	at := layout.Clamp(int(math.Round(float64(w)/most))-1, 0, w-1)
	n := 0
	if chart.Finite(v) {
		n = layout.Clamp(int(math.Round(float64(w)*v/most)), 0, w)
	}
	var b strings.Builder
	style := t.Good
	if chart.Finite(v) && v < 1 {
		style = t.Warn
	}
	run := func(from, to int) {
		fill := max(0, min(to, n)-from)
		b.WriteString(style.Paint(strings.Repeat(g.Full, fill)) + strings.Repeat(" ", max(0, to-from-fill)))
	}
	run(0, at)
	b.WriteString(t.Dim.Paint(g.V))
	run(at+1, w)
	return b.String()
}
