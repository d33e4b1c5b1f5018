package sweep

import (
	"fmt"
	"slices"

	"boost-tui/sweeps"
	"boost-tui/tui/format"
	"boost-tui/tui/layout"
	"boost-tui/tui/theme"
)

// overText says how a point ended: "failed after 3 attempts: out of memory".
func overText(p *sweeps.PointState) string {
	s := string(p.Status)
	if n := len(p.Attempts); n > 1 || n == 1 && p.Status != sweeps.Finished {
		s += " after " + format.Many(n, "attempt")
	}
	if p.Cause != "" && p.Status != sweeps.Finished {
		s += ": " + layout.Clean(p.Cause)
	}
	return s
}

// pointText is a point with its whole label, and what has become of it.
func (m *Model) pointText(p *sweeps.PointState) string {
	label := layout.Clean(p.Label)
	if p.Twin {
		label += " (twin)"
	}
	state := overText(p)
	switch p.Status {
	case sweeps.Running:
		state = fmt.Sprintf("running, step %d of %d", m.shown.view.Steps[p.Run()].Step, p.Steps)
		if n := len(p.Attempts); n > 1 {
			state += fmt.Sprintf(", attempt %d", n)
		}
	case sweeps.Queued:
		state = fmt.Sprintf("waits, number %d of the queue", 1+slices.Index(m.shown.state().Queue, p))
		if n := len(p.Attempts); n > 0 {
			state += ", after " + format.Many(n, "attempt")
		}
	}
	return label + ": " + state
}

// pointFoot tells the point under the cursor of a pane in least to most lines of w
// cells.
func (m *Model) pointFoot(t theme.Theme, id string, w, least, most int) []string {
	p := m.shown.point(id)
	if p == nil {
		return make([]string, least)
	}
	_, style := statusSign(t, p.Status)
	out := lines(m.pointText(p), w, most, t.Glyphs.Ellipsis)
	for i := range out {
		out[i] = style.Paint(out[i])
	}
	for len(out) < least {
		out = append(out, "")
	}
	return out
}

// lines breaks a text into at most n lines of w cells; one that is cut ends with
// an ellipsis.
func lines(text string, w, n int, ellipsis string) []string {
	out := layout.Wrap(text, w)
	if len(out) > n && n > 0 {
		out = append(out[:n-1:n-1], layout.Cut(out[n-1], w-layout.Width(ellipsis), "")+ellipsis)
	}
	return out[:min(n, len(out))]
}
