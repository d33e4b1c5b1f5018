package sweep

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"
	"time"

	"boost-tui/sweeps/results"
	"boost-tui/sweeps/space"
	"boost-tui/tui/format"
	"boost-tui/tui/layout"
	"boost-tui/tui/msg"
	"boost-tui/tui/theme"
	"boost-tui/tui/widget/modal"

	tea "github.com/charmbracelet/bubbletea"
)

const (
	// countAfter is the pause after an edit before the space is spelled out:
	// keys held down change many values.
	countAfter = 150 * time.Millisecond
	// countDeadline bounds the spelling out of a space.
	countDeadline = time.Minute
)

// counted is what the grid comes to.
type counted struct {
	x    *space.Expansion
	err  error
	cost results.Estimate // of the points that the shown sweep does not have
	busy bool
	more int // how many those are
}

// countDone is the answer to one question.
type countDone struct {
	gen uint64
	counted
}

// recount spells the space out after a pause; what is under way is broken off.
func (m *Model) recount() tea.Cmd {
	if m.cancelCount != nil {
		m.cancelCount()
		m.cancelCount = nil
	}
	m.debounce.Start()
	m.count.busy, m.failure, m.asked = true, "", false
	if m.env.After == nil || !m.visible {
		return nil
	}
	return m.debounce.Wait(m.env.After, countAfter)
}

// expand is the Cmd that counts.
func (m *Model) expand() tea.Cmd {
	if m.env.Sweeps == nil {
		m.count = counted{err: errors.New("there are no sweeps in this build")}
		return nil
	}
	if len(m.draft.Axes) == 0 {
		m.count = counted{}
		return nil
	}
	ctx, cancel := context.WithTimeout(context.Background(), countDeadline)
	m.cancelCount = cancel
	gen, spec, options, have, ask := m.debounce.Gen(), m.draft.spec(), m.draft.Options, m.shown.have, m.env.Sweeps
	return func() tea.Msg {
		defer cancel()
		out := countDone{gen: gen}
		if out.x, out.err = ask.Expand(ctx, spec); out.err != nil {
			return out
		}
		rest := *out.x
		if len(have) > 0 {
			rest.Points = slices.DeleteFunc(slices.Clone(rest.Points), func(p space.Point) bool { return have[p.ID] })
		}
		out.more = len(rest.Points)
		out.cost, out.err = ask.Cost(ctx, &rest, options)
		return out
	}
}

// countLines says what the grid comes to, in at most n lines or so: the sums
// always, and as much of the cost as there is room for.
func (m *Model) countLines(t theme.Theme, w, n int) []string {
	rule := rule(t, w)
	cut := func(s string) string { return layout.Cut(s, w, t.Glyphs.Ellipsis) }
	switch c := m.count; {
	case len(m.draft.Axes) == 0:
		return []string{rule, t.Dim.Paint(cut("no axis yet: a adds one"))}
	case c.busy && c.x == nil && c.err == nil:
		return []string{rule, t.Dim.Paint(cut("counting" + t.Glyphs.Ellipsis))}
	case c.err != nil:
		faults := faultsOf(c.err)
		more := ""
		if n := len(faults) - 1; n > 0 {
			more = fmt.Sprintf("  (%d more: i)", n)
		}
		out := []string{rule}
		for i, part := range layout.Wrap(t.Glyphs.Cross+" "+faults[0]+more, w) {
			if i == 3 {
				break
			}
			out = append(out, t.Bad.Paint(part))
		}
		return out
	case c.x == nil:
		return []string{rule}
	}
	return append([]string{rule}, m.sums(t, w, n-1)...)
}

// sums are the counts and the cost of a space without faults.
func (m *Model) sums(t theme.Theme, w, n int) []string {
	x := m.count.x
	parts := []string{format.Count(int64(x.Raw)) + " raw"}
	if x.Excluded > 0 {
		parts = append(parts, "−"+format.Count(int64(x.Excluded))+" by constraint")
	}
	if x.Merged > 0 {
		parts = append(parts, "−"+format.Count(int64(x.Merged))+" same")
	}
	if n := len(x.Pruned); n > 0 {
		parts = append(parts, "−"+format.Count(int64(n))+" pruned")
	}
	if x.Twins > 0 {
		parts = append(parts, "+"+format.Many(x.Twins, "twin"))
	}
	first := strings.Join(parts, " ")
	runs := "= " + format.Many(len(x.Points), "run")
	if m.shown.state() != nil {
		runs += fmt.Sprintf(", %s new", format.Count(int64(m.count.more)))
	} else if steps := sameSteps(x.Points); steps > 0 {
		runs += " " + t.Glyphs.Times + " " + format.Many(steps, "step")
	}
	if m.count.busy {
		runs += "  " + t.Glyphs.Ellipsis
	}
	out := []string{first, runs}
	if layout.Width(first)+1+layout.Width(runs) <= w {
		out = []string{first + " " + runs}
	}
	for i := range out {
		out[i] = t.Strong.Paint(layout.Cut(out[i], w, t.Glyphs.Ellipsis))
	}
	if m.shown.id != "" && m.count.more == 0 {
		return out
	}
	for _, part := range lines("cost "+costText(m.count.cost), w, max(1, n-len(out)), t.Glyphs.Ellipsis) {
		out = append(out, t.Dim.Paint(part))
	}
	return out
}

// sameSteps is the number of steps where every point has the same; else 0.
func sameSteps(points []space.Point) int {
	for i := range points {
		if points[i].Steps != points[0].Steps {
			return 0
		}
	}
	if len(points) == 0 {
		return 0
	}
	return points[0].Steps
}

// faultsOf lists what is wrong with a space, cleaned: the user's own text is in it.
func faultsOf(err error) []string {
	var all interface{ Unwrap() []error }
	if errors.As(err, &all) {
		var out []string
		for _, e := range all.Unwrap() {
			out = append(out, layout.Clean(e.Error()))
		}
		if len(out) > 0 {
			return out
		}
	}
	var out []string
	for _, part := range strings.Split(err.Error(), "\n") {
		if part = strings.TrimSpace(layout.Clean(part)); part != "" {
			out = append(out, part)
		}
	}
	if len(out) == 0 {
		out = []string{"something is wrong, and nothing says what"}
	}
	return out
}

// prunedShown bounds the reasons in a dialog: more nobody reads.
const prunedShown = 500

// countReport is everything about the counts, for the dialog behind i.
func (m *Model) countReport() []string {
	if err := m.count.err; err != nil {
		return append([]string{"This space cannot run:", ""}, faultsOf(err)...)
	}
	x := m.count.x
	if x == nil {
		return []string{"The grid has no axis yet: a adds one."}
	}
	lines := []string{
		format.Many(x.Raw, "combination") + " of the axes' values",
		fmt.Sprintf("− %s the same as another", format.Count(int64(x.Merged))),
		fmt.Sprintf("− %s that cannot run", format.Count(int64(len(x.Pruned)))),
		"+ " + format.Many(x.Twins, "twin") + " to hold the others against",
		"= " + format.Many(len(x.Points), "run") + " of " + format.Many(x.Shapes, "shape"),
	}
	if x.Excluded > 0 {
		lines = slices.Insert(lines, 1, fmt.Sprintf("− %s left out by a constraint", format.Count(int64(x.Excluded))))
	}
	for _, r := range x.Removed {
		lines = append(lines, layout.Clean(fmt.Sprintf("  %s: not met by %s", r.Constraint, format.Many(r.Points, "combination"))))
	}
	if m.shown.id != "" {
		lines = append(lines, "new to the sweep: "+format.Count(int64(m.count.more)))
	}
	if m.shown.id == "" || m.count.more > 0 {
		lines = append(lines, "", "cost "+costText(m.count.cost))
	}
	for _, note := range x.Notes {
		lines = append(lines, layout.Clean(note))
	}
	if len(x.Pruned) > 0 {
		lines = append(lines, "", "Pruned:")
		lines = append(lines, prunedLines(x.Pruned, prunedShown)...)
	}
	lines = append(lines, "", "Will run:")
	for i := range x.Points[:min(len(x.Points), prunedShown)] {
		p := &x.Points[i]
		line := "  " + layout.Clean(p.Label)
		if p.Twin {
			line += " (twin)"
		}
		lines = append(lines, line)
	}
	return lines
}

func prunedLines(pruned []space.Pruned, most int) (lines []string) {
	for _, p := range pruned[:min(len(pruned), most)] {
		lines = append(lines, "  "+layout.Clean(p.Point+": "+p.Reason))
	}
	if n := len(pruned) - most; n > 0 {
		lines = append(lines, fmt.Sprintf("  and %s more", format.Count(int64(n))))
	}
	return lines
}

func text(title string, lines []string) tea.Cmd {
	return msg.Send(msg.Open{Modal: modal.Text{Title: title, Lines: lines}})
}
