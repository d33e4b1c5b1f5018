package launch

import (
	"strings"

	"boost-tui/tui/keys"
	"boost-tui/tui/layout"
	"boost-tui/tui/theme"
	"boost-tui/tui/widget/modal"
)

// reading is a text to read with one more key, which is its answer.
type reading struct {
	text      modal.Text
	key, hint string
}

// newReading makes it of text from elsewhere.
func newReading(title, text, key, hint string) reading {
	lines := strings.Split(strings.TrimRight(text, "\n"), "\n")
	return reading{modal.Text{Title: title, Lines: cleanAll(lines)}, key, hint}
}

// Update scrolls, answers or closes.
func (r reading) Update(e keys.Event) (modal.Modal, modal.Result) {
	if e.Name == r.key {
		return r, modal.Result{Done: true, Answer: r.key}
	}
	next, result := r.text.Update(e)
	r.text, _ = next.(modal.Text)
	return r, result
}

// View draws the text; its title names the key.
func (r reading) View(t theme.Theme, w, h int) string {
	text := r.text
	text.Title = layout.Cut(text.Title+"  ("+r.key+" "+r.hint+")", max(8, w-16), t.Glyphs.Ellipsis)
	return text.View(t, w, h)
}

// Hints are the dialog's keys.
func (r reading) Hints() []keys.Binding {
	return append([]keys.Binding{{Keys: []string{r.key}, Hint: r.hint}}, modal.Hints(r.text)...)
}
