package live

import (
	"fmt"
	"math"
	"strings"
	"time"

	"boost-tui/experiment"
	"boost-tui/runner"
	"boost-tui/tui/chart"
	"boost-tui/tui/format"
	"boost-tui/tui/layout"
)

// pageRanks is how many ranks are listed at once.
const pageRanks = 8

// View draws the screen. It is kept until something changes: a live run brings
// news once a second, and everything in between costs nothing.
func (m *Model) View(r layout.Rect) string {
	if m.cache != "" && m.drawn == r {
		return m.cache
	}
	m.drawn = r
	m.cache = layout.Fit(m.draw(r), r.W, r.H)
	return m.cache
}

func (m *Model) draw(r layout.Rect) string {
	if m.run.ID == "" {
		return m.drawEmpty()
	}
	// The root keeps three lines for itself.
	class := layout.ClassOf(r.W, r.H+3)
	switch {
	case m.run.Run.Preflight != nil:
		return m.lookAt(r, class)
	case m.full:
		return m.pane(m.focus, r.W, r.H, class == layout.Wide)
	case class == layout.Wide:
		return m.wide(r)
	case class == layout.Narrow:
		return m.narrow(r)
	}
	return m.tiny(r)
}

func (m *Model) drawEmpty() string {
	lines := []string{"", "  No run yet.", "", "  1 goes to Launch, where L starts one; it will appear here."}
	if m.errs > 0 {
		lines = append(lines, "", m.env.Theme.Warn.Paint("  "+format.Many(m.errs, "run")+" cannot be read; Runs (5) says why."))
	}
	return strings.Join(lines, "\n")
}

// pane draws one pane of w x h cells.
func (m *Model) pane(p pane, w, h int, wide bool) string {
	if w <= 0 || h <= 0 {
		return ""
	}
	switch p {
	case paneRanks:
		return m.drawRanks(w, h, wide)
	case paneParts:
		return m.drawParts(w, h, wide)
	case paneStep:
		return m.drawStep(w, h)
	case paneLoss:
		return m.drawLoss(w, h)
	}
	return m.drawLog(w, h)
}

// Status names the run and how far it is.
func (m *Model) Status() string {
	if m.run.ID == "" {
		return ""
	}
	t := m.env.Theme
	parts := []string{m.stateSign() + " " + layout.Clean(m.run.ID)}
	e := m.run.Run.Experiment
	if !strings.Contains(m.run.ID, string(e.Model.Variant)+"-"+string(e.Parallel.Scheme)) {
		parts = append(parts, describe(m.run)) // ids of ours say it already
	}
	if words := e.EmulatedWords(); words != "" {
		parts = append(parts, t.Warn.Paint(layout.Clean(words)))
	}
	if n := m.latest.newest.Step; n >= 0 {
		parts = append(parts, progress(m.run, n))
	}
	if e.Parallel.Beside() != "" && !strings.Contains(m.run.ID, "-"+runner.Degrees(e.Parallel)+"-") {
		parts = append(parts, beside(e.Parallel)) // behind how far it is, which matters more where there is little room
	}
	if m.latest.newest.Step >= 0 {
		if loss := m.latest.newest.Loss; chart.Finite(loss) {
			parts = append(parts, "loss "+chart.Value(loss))
		}
	}
	if text := evalText(m.latest.evals, -1); text != "" {
		parts = append(parts, text)
	}
	if m.live() {
		if eta, ok := m.eta(); ok {
			parts = append(parts, "eta "+format.Duration(eta))
		}
		if left, ok := m.jobLeft(); ok {
			parts = append(parts, format.Duration(left)+" left")
		}
		if age := m.age(m.latest.stepNanos, m.latest.stepSeen, m.latest.period); age != "" {
			parts = append(parts, age)
		}
	} else if !m.run.Ended.IsZero() {
		if took, why := m.run.Took(m.run.Clock(m.now)); why == "" {
			parts = append(parts, "took "+format.Duration(took))
		} else {
			parts = append(parts, "took unknown: "+why)
		}
	}
	if m.frozen != nil {
		parts = append(parts, t.Warn.Paint("paused"))
	}
	for len(parts) > 1 && layout.Width(strings.Join(parts, "  ")) > m.drawn.W-1 {
		parts = parts[:len(parts)-1]
	}
	return layout.Cut(strings.Join(parts, "  "), max(1, m.drawn.W-1), t.Glyphs.Ellipsis)
}

// describe says in a few words what is trained and how.
func describe(in runner.Info) string {
	e := in.Run.Experiment
	text := strings.TrimSpace(fmt.Sprintf("%s %s %s", e.Model.Size, e.Model.Variant, e.Parallel.Scheme))
	if e.Parallel.TP > 0 {
		text += fmt.Sprintf(" tp%d", e.Parallel.TP)
	}
	return layout.Clean(text)
}

// beside is "dp2 zero1", what there is beside tp: the status line is short.
func beside(p experiment.Parallel) string {
	_, text, _ := strings.Cut(strings.ReplaceAll(runner.Degrees(p), "-", " "), " ")
	return text
}

// goal is the number of the last step that a run will make; 0 unknown.
func goal(in runner.Info) int64 {
	t := in.Run.Experiment.Train
	if t.StopAfter > 0 && t.StopAfter < t.Steps {
		return int64(t.StopAfter)
	}
	return int64(t.Steps)
}

func progress(in runner.Info, step int64) string {
	if step < 0 {
		return "before the first step"
	}
	if all := goal(in); all > 0 {
		return fmt.Sprintf("step %d/%d", step, all)
	}
	return fmt.Sprintf("step %d", step)
}

// eta is how long the rest of the steps will take at the present pace.
func (m *Model) eta() (time.Duration, bool) {
	rest := goal(m.run) - m.latest.newest.Step
	seconds := float64(rest) * m.latest.period
	if rest <= 0 || m.latest.newest.Step < 0 || !chart.Finite(seconds) || seconds > 1e9 {
		return 0, false
	}
	return time.Duration(seconds * float64(time.Second)), true
}

// age says how old data is that came at nanos, and was seen here at first at seen, of a source that speaks every
// period seconds; after three periods it is stale. Empty for what is not
// expected to move. Of other machines, whose clocks may differ, only the time since it was seen counts.
func (m *Model) age(nanos int64, seen time.Time, period float64) string {
	if !m.live() || nanos <= 0 {
		return ""
	}
	old := max(0, m.now.Sub(time.Unix(0, nanos)))
	if m.elsewhere() {
		old = max(0, m.now.Sub(seen))
	}
	if math.IsNaN(period) || period < pollEvery.Seconds() {
		period = pollEvery.Seconds()
	}
	text := "now"
	if old >= time.Second {
		text = format.Duration(old) + " old"
	}
	if old.Seconds() > 3*period {
		return m.env.Theme.Warn.Paint("stale: " + text)
	}
	return text
}

// elsewhere reports whether ranks of the run are on other machines than this one.
func (m *Model) elsewhere() bool {
	r := &m.run.Run
	if w := r.Experiment.Where.Where; w != "" && w != experiment.WhereLocal {
		return true
	}
	return len(r.Hosts) > 1 || len(r.Hosts) == 1 && r.Hosts[0] != m.env.Host
}

func (m *Model) stateSign() string {
	t := m.env.Theme
	g := t.Glyphs
	switch m.run.State {
	case runner.Pending:
		return t.Dim.Paint(g.Pending + " pending")
	case runner.Running:
		return t.Accent.Paint(g.Running + " running")
	case runner.Finished:
		return t.Good.Paint(g.Finished + " finished")
	case runner.Failed:
		return t.Bad.Paint(g.Failed + " failed")
	case runner.Cancelled:
		return t.Warn.Paint(g.Cancelled + " cancelled")
	case runner.Lost:
		return t.Bad.Paint(g.Lost + " lost")
	}
	return ""
}
