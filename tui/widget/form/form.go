// Package form edits named values: pickers whose impossible choices stay
// visible with their reason, and typed fields. It is pure and knows nothing of
// what the values mean; the owner sets the fields anew after each change.
package form

import (
	"slices"
	"strconv"
	"strings"

	"boost-tui/tui/keys"
	"boost-tui/tui/layout"
	"boost-tui/tui/widget/input"
)

// Option is a value to pick. A blocked one is shown struck, with the reason
// when the cursor is on it.
type Option struct{ Value, Blocked string }

// Field is one line of the form.
type Field struct {
	ID, Label string
	Value     string
	Options   []Option // for left and right; may be empty
	Typed     bool     // enter edits the text
	Digits    string   // what may be typed; "": anything
	Note      string   // what the value stands for: "(d/4)", a hint
	Problem   string   // why the value does not work
	Rule      bool     // a dividing line above
}

// Change is an edit that the user made.
type Change struct{ ID, Value string }

// Form is the state. Set its fields with SetFields.
type Form struct {
	fields []Field
	at     int
	offset int
	line   input.Line
	typing bool
	height int
}

// SetFields replaces the fields; the cursor stays on its field.
func (f *Form) SetFields(fields []Field) {
	id := f.Focus()
	f.fields = fields
	for i := range fields {
		if fields[i].ID == id {
			f.at = i
		}
	}
	f.at = layout.Clamp(f.at, 0, max(0, len(fields)-1))
}

// Focus is the ID of the field under the cursor.
func (f *Form) Focus() string {
	if f.at >= len(f.fields) {
		return ""
	}
	return f.fields[f.at].ID
}

// Field is the field under the cursor.
func (f *Form) Field() Field {
	if f.at >= len(f.fields) {
		return Field{}
	}
	return f.fields[f.at]
}

// Select puts the cursor on a field, if it is there.
func (f *Form) Select(id string) bool {
	for i := range f.fields {
		if f.fields[i].ID == id {
			f.at, f.typing = i, false
			return true
		}
	}
	return false
}

// Fields lists the fields as they were set.
func (f *Form) Fields() []Field { return f.fields }

// Typing reports whether a field's text is being edited: all keys are its own.
func (f *Form) Typing() bool { return f.typing }

// Update handles a key. used is false for keys that mean nothing to a form.
func (f *Form) Update(e keys.Event) (change *Change, used bool) {
	if len(f.fields) == 0 {
		return nil, false
	}
	if f.typing {
		return f.edit(e), true
	}
	field := f.fields[f.at]
	switch e.Name {
	case "left", "h":
		return f.step(-1), true
	case "right", "l":
		return f.step(1), true
	case "tab":
		f.at = (f.at + 1) % len(f.fields)
		return nil, true
	case "shift+tab":
		f.at = (f.at + len(f.fields) - 1) % len(f.fields)
		return nil, true
	case "enter", "space":
		if field.Typed && e.Name == "enter" {
			f.typing, f.line = true, input.New(field.Value)
			return nil, true
		}
		return f.step(1), true
	}
	if delta, ok := keys.Motion(e, max(1, f.height)); ok {
		f.at = layout.Clamp(f.at+delta, 0, len(f.fields)-1)
		return nil, true
	}
	return nil, false
}

// edit edits the text: enter and tab take it, esc leaves the value as it was.
func (f *Form) edit(e keys.Event) *Change {
	switch e.Name {
	case "esc":
		f.typing = false
		return nil
	case "enter", "tab", "down", "shift+tab", "up":
		f.typing = false
		change := &Change{f.Focus(), f.line.Text()}
		switch e.Name {
		case "tab", "down":
			f.at = min(f.at+1, len(f.fields)-1)
		case "shift+tab", "up":
			f.at = max(f.at-1, 0)
		}
		return change
	}
	f.typeKey(e, f.Field().Digits)
	return nil
}

// typeKey changes the line. What a field of numbers has no use for is not typed.
func (f *Form) typeKey(e keys.Event, digits string) {
	if digits != "" && e.Text != "" {
		e.Text = strings.Map(func(r rune) rune {
			if strings.ContainsRune(digits, r) {
				return r
			}
			return -1
		}, e.Text)
		if e.Text == "" {
			return
		}
	}
	f.line, _, _ = f.line.Update(e)
}

// step picks the neighbouring option and goes round at the ends.
func (f *Form) step(delta int) *Change {
	options, at := f.fields[f.at].choices()
	n := len(options)
	if len(f.fields[f.at].Options) == 0 || n < 2 {
		return nil
	}
	return &Change{f.fields[f.at].ID, options[(at+delta+n)%n].Value}
}

// choices are the options with the value among them, at its place: a typed number stands where its size belongs, another
// text stands first.
func (f Field) choices() (options []Option, at int) {
	for i, o := range f.Options {
		if o.Value == f.Value {
			return f.Options, i
		}
	}
	if value, err := strconv.ParseFloat(f.Value, 64); err == nil {
		for _, o := range f.Options {
			if v, err := strconv.ParseFloat(o.Value, 64); err != nil || v > value {
				break
			}
			at++
		}
	}
	return slices.Insert(slices.Clone(f.Options), at, Option{Value: f.Value}), at
}
