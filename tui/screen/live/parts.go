package live

import (
	"fmt"
	"strconv"
	"strings"

	"boost-tui/tui/chart"
	"boost-tui/tui/format"
	"boost-tui/tui/keys"
	"boost-tui/tui/layout"
	"boost-tui/tui/msg"
	"boost-tui/tui/theme"
	"boost-tui/tui/widget/modal"

	tea "github.com/charmbracelet/bubbletea"
)

// shownCollectives is how many kinds of communication the pane names; the
// dialog has all.
const shownCollectives = 3

// collectives name what most of the communication is, of the sampled steps.
func (m *Model) collectives(w int) (lines []string) {
	t, c := m.env.Theme, &m.shown().comm
	if len(c.Kinds) == 0 {
		return nil
	}
	lines = []string{t.Dim.Paint(layout.Cut(fmt.Sprintf("collectives, mean of %s, ms:", sampledSteps(c.Steps)), w, t.Glyphs.Ellipsis))}
	for _, k := range c.Kinds[:min(len(c.Kinds), shownCollectives)] {
		line := fmt.Sprintf("%s %s = wait %s + transfer %s", layout.Clean(k.ShortName()), format.Millis(k.Wait+k.Transfer), format.Millis(k.Wait), format.Millis(k.Transfer))
		lines = append(lines, t.Dim.Paint(layout.Cut(line, w, t.Glyphs.Ellipsis)))
	}
	return lines
}

func sampledSteps(n int) string {
	if n == 1 {
		return "1 sampled step"
	}
	return fmt.Sprintf("%d sampled steps", n)
}

// partsDialog shows the parts of a step in numbers as they are now: it stays
// up to date while it is open.
type partsDialog struct {
	m    *Model
	text modal.Text
}

// details opens the parts in numbers.
func (m *Model) details(string) tea.Cmd {
	if m.focus == paneRanks && m.byHost() {
		return m.enterHost()
	}
	if !m.shown().parts.Known() {
		return nil
	}
	return msg.Send(msg.Open{Modal: partsDialog{m: m, text: modal.Text{Title: "Where a mean step goes"}}})
}

// Update scrolls or closes.
func (d partsDialog) Update(e keys.Event) (modal.Modal, modal.Result) {
	d.text.Lines = d.m.partsTable()
	next, result := d.text.Update(e)
	d.text, _ = next.(modal.Text)
	return d, result
}

// View draws the numbers of this moment.
func (d partsDialog) View(t theme.Theme, w, h int) string {
	d.text.Lines = d.m.partsTable()
	return d.text.View(t, w, h)
}

// Hints are the keys of the dialog.
func (d partsDialog) Hints() []keys.Binding { return modal.Hints(d.text) }

// partsTable is the breakdown, and below it the collectives, in numbers.
func (m *Model) partsTable() []string {
	s := m.shown()
	p := s.parts
	row := func(name string, v float64) string {
		pct := ""
		if sum := p.Sum(); sum > 0 && chart.Finite(v) {
			pct = layout.PadLeft(strconv.FormatFloat(v/sum*100, 'f', 1, 64)+" %", 9)
		}
		return layout.Pad(name, 30) + layout.PadLeft(format.Millis(v), 10) + pct
	}
	lines := []string{fmt.Sprintf("%s: mean over ranks and the last %s, up to step %d, ms", layout.Clean(m.run.ID), format.Many(s.steps, "step"), s.newest.Step), "",
		row("compute alone", p.Compute), row("compute hiding communication", p.Hidden), row("exposed communication", p.Exposed),
		row("memory alone", p.Memory), row("idle", p.Idle), row("step", p.Sum()), "", "The five parts sum to the step.", "",
		row("all communication", p.Comm), row("  waiting for other ranks", p.Wait), row("  transfer", p.Transfer), "",
		"Of it, what is not exposed is hidden by compute.", ""}
	if text := evalText(s.evals, -1); text != "" {
		lines = append(lines, "last evaluation: "+text+" (loss in nats per token; step it was made after)", "")
	}
	return append(lines, collectiveTable(s)...)
}

// collectiveTable lists the kinds of communication of the sampled steps.
func collectiveTable(s *snapshot) []string {
	c := &s.comm
	switch {
	case c.TooLong:
		return []string{"Collectives: the timelines are too long to read here; export (E in Runs) has them."}
	case len(c.Kinds) == 0:
		return []string{"Collectives: no sampled step yet (the first after warm-up, then every 50th)."}
	}
	lines := []string{fmt.Sprintf("Collectives: mean over ranks and %s, ms a step", sampledSteps(c.Steps)),
		fmt.Sprintf("%-34s %6s %9s %9s %9s", "", "calls", "wait", "transfer", "sum")}
	for _, k := range c.Kinds {
		calls := strings.TrimSuffix(strconv.FormatFloat(k.Calls, 'f', 1, 64), ".0")
		lines = append(lines, fmt.Sprintf("%-34s %6s %9s %9s %9s", layout.Clean(k.Name), calls, format.Millis(k.Wait), format.Millis(k.Transfer), format.Millis(k.Wait+k.Transfer)))
	}
	return lines
}
