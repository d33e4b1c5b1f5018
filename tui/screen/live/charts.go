package live

import (
	"fmt"
	"math"
	"slices"
	"strings"

	"boost-tui/experiment"
	"boost-tui/profiler/record"
	"boost-tui/tui/chart"
	"boost-tui/tui/format"
	"boost-tui/tui/layout"
	"boost-tui/tui/theme"
	"boost-tui/tui/widget/panel"
)

// measure picks what of a column a chart shows.
type measure struct {
	low, high, mean func(*record.Column) float64
	breaks          bool // a step that was no number breaks the line
	scale           float64
}

var (
	stepTime = measure{scale: 1e3, low: func(c *record.Column) float64 { return c.WallMin }, high: func(c *record.Column) float64 { return c.WallMax },
		mean: func(c *record.Column) float64 { return c.WallMean }}
	loss = measure{scale: 1, breaks: true, low: func(c *record.Column) float64 { return c.LossMin }, high: func(c *record.Column) float64 { return c.LossMax },
		mean: func(c *record.Column) float64 { return c.LossMean }}
)

// points makes a line of columns: where a column holds several steps, their
// least and largest value, so that no peak is lost. Steps that are not known
// leave no point; those that were no number break the line.
func (k measure) points(cols []record.Column) chart.Points {
	p := chart.Points{X: make([]float64, 0, 2*len(cols)), Y: make([]float64, 0, 2*len(cols))}
	add := func(x int64, y float64) { p.X, p.Y = append(p.X, float64(x)), append(p.Y, y) }
	for i := range cols {
		c := &cols[i]
		if c.Count == 0 {
			continue
		}
		if low, high := k.low(c)*k.scale, k.high(c)*k.scale; chart.Finite(low) && chart.Finite(high) {
			add(c.First, low)
			if high != low {
				add(c.Last, high)
			}
		}
		if k.breaks && c.NonFinite >= 0 {
			add(max(c.NonFinite, int64(lastX(p))), nan)
		}
	}
	return p
}

func lastX(p chart.Points) float64 {
	if n := len(p.X); n > 0 {
		return p.X[n-1]
	}
	return -1
}

// means is the line of the columns' means, for smoothing.
func (k measure) means(cols []record.Column) chart.Points {
	var p chart.Points
	for i := range cols {
		if c := &cols[i]; c.Count > 0 {
			if v := k.mean(c) * k.scale; chart.Finite(v) {
				p.X, p.Y = append(p.X, float64(c.First+c.Last)/2), append(p.Y, v)
			}
		}
	}
	return p
}

// at reads a column's value at a step: the step, or the stretch of steps that
// the column holds.
func (k measure) at(cols []record.Column, step int64) string {
	for i := range cols {
		c := &cols[i]
		if c.Count == 0 || step > c.Last {
			continue
		}
		if step < c.First && i > 0 && step-cols[i-1].Last < c.First-step && cols[i-1].Count > 0 {
			c = &cols[i-1]
		}
		v := k.mean(c) * k.scale
		if k.breaks && c.NonFinite >= 0 && (!chart.Finite(v) || c.Count == 1) {
			return fmt.Sprintf("step %d: NaN", c.NonFinite)
		}
		if !chart.Finite(v) {
			return fmt.Sprintf("step %d: unknown", step)
		}
		if c.First == c.Last {
			return fmt.Sprintf("step %d: %s", c.First, chart.Value(v))
		}
		return fmt.Sprintf("steps %d–%d: mean %s", c.First, c.Last, chart.Value(v))
	}
	return ""
}

// series is the raw line, and over it the smoothed one when smoothing is on.
func (m *Model) series(k measure, cols []record.Column, style theme.Style) []chart.Series {
	raw := chart.Series{Points: k.points(cols), Style: style}
	weight := smoothings[m.smooth]
	if weight == 0 || raw.Points.Len() < 3 {
		return []chart.Series{raw}
	}
	raw.Style, raw.Pattern = m.env.Theme.Dim, chart.Faint
	smooth := k.means(cols)
	smooth.Y = chart.Smooth(smooth.Y, weight)
	return []chart.Series{raw, {Points: smooth, Style: style}}
}

func (m *Model) drawStep(w, h int) string {
	s := m.shown()
	line := m.line(m.logStep)
	line.Series = m.series(stepTime, s.cols, m.env.Theme.Series[0])
	title := "Step time ms"
	var peak float64
	if line.Top, peak = chart.Top(line.Series[0].Points.Y); line.Top > 0 && !m.logStep {
		title += "  peak " + format.Digits(peak)
	}
	if m.logStep {
		line.Top = 0
	}
	for i, r := range m.references() {
		if chart.Finite(r.mean) {
			if line.Top > 0 {
				line.Top = max(line.Top, r.mean*1e3*1.1)
			}
			line.References = append(line.References, chart.Reference{Y: r.mean * 1e3, Label: short(w, r.name, r.head) + " mean " + format.Millis(r.mean), Style: m.env.Theme.Series[1+i]})
		}
	}
	return m.drawChart(paneStep, title, stepTime, line, m.logStep, w, h)
}

func (m *Model) drawLoss(w, h int) string {
	s, t := m.shown(), m.env.Theme
	line := m.line(m.logLoss)
	from, to := m.window()
	own := m.series(loss, s.cols, t.Series[0])
	title := "Loss"
	if s.some && !numbers(own[0].Points) {
		// Another run's line alone would look like this run's.
		line.Series = own
		return m.drawChart(paneLoss, title+"  no number yet", loss, line, m.logLoss, w, h)
	}
	var legend []string
	for i, r := range m.references() {
		if p := r.loss.Window(float64(from), float64(to)); p.Len() > 1 {
			line.Series = append(line.Series, chart.Series{Points: p, Style: t.Series[1+i], Pattern: 1 + i})
			legend = append(legend, chart.Legend(t, theme.Style{}, 1+i, short(w, r.name, r.head)))
		}
	}
	line.Series = append(line.Series, own...)
	if p := evalPoints(s.evals).Window(float64(from), float64(to)); p.Len() > 0 {
		line.Series = append(line.Series, chart.Series{Points: p, Style: t.Series[3], Pattern: evalPattern, Marks: true})
		legend = append(legend, chart.Legend(t, theme.Style{}, evalPattern, "eval"))
	}
	if len(legend) > 0 {
		title += "  " + strings.Join(append([]string{chart.Legend(t, theme.Style{}, 0, short(w, "this run", "this"))}, legend...), " ")
	}
	return m.drawChart(paneLoss, title, loss, line, m.logLoss, w, h)
}

// numbers reports whether any point can be drawn.
func numbers(p chart.Points) bool { return slices.ContainsFunc(p.Y, chart.Finite) }

// line is what both charts share.
func (m *Model) line(log bool) chart.Line {
	from, to := m.window()
	l := chart.Line{Low: float64(from), High: float64(to), Log: log, Mode: chart.ModeOf(m.env.Theme), Theme: m.env.Theme, Cursor: float64(m.cursor), NoCursor: m.cursor < 0, XName: "step"}
	return l
}

func (m *Model) drawChart(p pane, title string, k measure, line chart.Line, log bool, w, h int) string {
	iw, ih := panel.Inner(w, h)
	m.plotW = max(1, iw-5)
	s := m.shown()
	if log {
		title += "  log"
	}
	if weight := smoothings[m.smooth]; weight > 0 {
		title += fmt.Sprintf("  EMA %g", weight)
	}
	if !s.some {
		return m.frame(p, title, m.age(s.stepNanos, s.stepSeen, s.period), m.env.Theme.Dim.Paint("no step yet"), w, h)
	}
	var notes []string
	if m.cursor >= 0 {
		notes = append(notes, k.at(s.cols, m.cursor))
	} else if n := s.newest; n.Step >= 0 && w > 50 {
		if from, to := m.window(); m.span > 0 {
			notes = append(notes, fmt.Sprintf("steps %d–%d", from, to))
		}
	}
	if k.breaks {
		if text := evalText(s.evals, m.cursor); text != "" && (w > 56 || m.cursor >= 0) {
			notes = append(notes, text)
		}
	}
	if k.breaks && s.nonFinite >= 0 {
		notes = append(notes, m.env.Theme.Bad.Paint(m.nonFiniteText(s)))
	}
	if !s.whole {
		notes = append(notes, "reading…")
	} else if age := m.age(s.stepNanos, s.stepSeen, s.period); m.cursor < 0 && age != "" {
		notes = append(notes, age)
	}
	return m.frame(p, title, strings.Join(notes, "  "), strings.Join(line.Draw(iw, ih), "\n"), w, h)
}

// nonFiniteText says at which step a number was lost, and where the run leaves such steps out, how many there are in the picture.
func (m *Model) nonFiniteText(s *snapshot) string {
	text := fmt.Sprintf("NaN @ step %d", s.nonFinite)
	if m.run.Run.Experiment.Train.OnNonFinite == experiment.NonFiniteGoOn && s.whole {
		text = fmt.Sprintf("%d left out, first "+text, s.nonFinites)
	}
	return text
}

func (m *Model) drawLog(w, h int) string {
	iw, ih := panel.Inner(w, h)
	t := m.env.Theme
	title := fmt.Sprintf("Log  rank %d", m.logRank)
	note := layout.Clean(m.lines.State())
	if n := m.lines.Len(); n > 0 && w > 50 {
		note += "  " + format.Many(n, "line")
	}
	var body string
	switch {
	case m.search != nil && ih > 1:
		body = m.lines.Draw(t, iw, ih-1) + "\n" + "/" + m.search.View(t, iw-1)
	case m.lines.Len() == 0:
		body = t.Dim.Paint("nothing has been written")
	default:
		body = m.lines.Draw(t, iw, ih)
	}
	return m.frame(paneLog, title, note, layout.Fit(body, iw, ih), w, h)
}

var nan = math.NaN()
