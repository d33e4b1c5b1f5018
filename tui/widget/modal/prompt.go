package modal

import (
	"boost-tui/tui/keys"
	"boost-tui/tui/layout"
	"boost-tui/tui/theme"
	"boost-tui/tui/widget/input"
)

// Prompt asks for a line of text. Its answer is the string, or nil.
type Prompt struct {
	Title, Label string
	Line         input.Line
	Check        func(string) error // nil: anything goes
	fault        string
}

// Update edits the line; enter answers, esc dismisses.
func (p Prompt) Update(e keys.Event) (Modal, Result) {
	switch e.Name {
	case "esc":
		return p, Result{Done: true}
	case "enter":
		if p.Check != nil {
			if err := p.Check(p.Line.Text()); err != nil {
				p.fault = layout.Clean(err.Error())
				return p, Result{}
			}
		}
		return p, Result{true, p.Line.Text()}
	}
	p.Line, _, _ = p.Line.Update(e)
	p.fault = ""
	return p, Result{}
}

// Hints are the dialog's keys.
func (p Prompt) Hints() []keys.Binding {
	return []keys.Binding{hint("accept", "enter"), hint("leave as it was", "esc"), hint("clear", "ctrl+u")}
}

// View draws the label over the line.
func (p Prompt) View(t theme.Theme, w, h int) string {
	foot := []string{p.Line.View(t, max(1, min(64, w-6)))}
	if p.fault != "" || h >= 7 {
		foot = append(foot, t.Bad.Paint(layout.Cut(p.fault, w-4, t.Glyphs.Ellipsis)))
	}
	foot = append(foot, t.Dim.Paint(firstFit(w-4, "enter accept   esc leave as it was", "enter accept  esc no")))
	return box(t, p.Title, []string{p.Label, ""}, foot, 0, w, h)
}
