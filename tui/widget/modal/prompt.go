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

// faultLines bounds how many lines say what is wrong.
const faultLines = 4

// View draws the label over the line; below it stands what is wrong with it, or
// what typing does to it.
func (p Prompt) View(t theme.Theme, w, h int) string {
	iw := max(1, w-4)
	foot := []string{p.Line.View(t, min(64, max(1, iw-2)))}
	note, style := p.note(iw), t.Dim
	if p.fault != "" {
		note, style = t.Glyphs.Cross+" "+p.fault, t.Bad
	}
	if note != "" || h >= 7 {
		parts := layout.Wrap(note, iw)
		if most := layout.Clamp(h-4, 1, faultLines); len(parts) > most {
			parts = append(parts[:most-1:most-1], layout.Cut(parts[most-1]+t.Glyphs.Ellipsis, iw, t.Glyphs.Ellipsis))
		}
		for _, part := range parts {
			foot = append(foot, style.Paint(part))
		}
	}
	foot = append(foot, t.Dim.Paint(firstFit(iw, "enter accept   esc leave as it was   ^U clear", "enter accept  esc no  ^U clear")))
	return box(t, p.Title, []string{p.Label, ""}, foot, 0, w, h)
}

// note says that the text is selected.
func (p Prompt) note(w int) string {
	if !p.Line.Selected() {
		return ""
	}
	return firstFit(w, "typing replaces the text; arrows, end and backspace edit it", "typing replaces it, arrows edit it")
}
