package form_test

import (
	"strings"
	"testing"

	"boost-tui/tui/keys"
	"boost-tui/tui/layout"
	"boost-tui/tui/theme"
	"boost-tui/tui/widget/form"

	"github.com/charmbracelet/x/ansi"
	"github.com/muesli/termenv"
)

var plain = theme.New(theme.Options{Dark: true, Profile: termenv.Ascii, Plain: true})

func sample() form.Form {
	var f form.Form
	f.SetFields([]form.Field{
		{ID: "size", Label: "Size", Value: "b", Options: []form.Option{{Value: "a"}, {Value: "b"}, {Value: "c", Blocked: "too large"}}},
		{ID: "steps", Label: "Steps", Value: "100", Typed: true, Note: "of the schedule"},
		{ID: "data", Label: "Data", Value: "embedded", Typed: true},
	})
	return f
}

func press(f *form.Form, names ...string) (last *form.Change) {
	for _, n := range names {
		if c, _ := f.Update(keys.Press(n)); c != nil {
			last = c
		}
	}
	return last
}

func TestPicker(t *testing.T) {
	f := sample()
	if c := press(&f, "right"); c == nil || c.Value != "c" {
		t.Fatalf("right picked %v", c)
	}
	if c := press(&f, "left"); c == nil || c.Value != "a" {
		t.Fatalf("left picked %v", c)
	}
	text := ansi.Strip(f.View(plain, 60, 5, true))
	if !strings.Contains(text, "✗c") || !strings.Contains(text, "▸b") {
		t.Errorf("the blocked choice or the present one is not marked:\n%s", text)
	}
}

func TestTyping(t *testing.T) {
	f := sample()
	if c := press(&f, "down", "enter", "ctrl+u", "5", "0", "enter"); c == nil || *c != (form.Change{ID: "steps", Value: "50"}) {
		t.Errorf("typed %v", c)
	}
	if c := press(&f, "7", "8", "esc"); c != nil || f.Typing() {
		t.Errorf("esc gave %v", c)
	}
	if c := press(&f, "7", "tab"); c == nil || c.Value != "7" || f.Focus() != "data" {
		t.Errorf("tab gave %v on %s", c, f.Focus())
	}
}

func TestProblemsAndRoom(t *testing.T) {
	f := sample()
	fields := f.Fields()
	fields[1].Problem = "must be less"
	f.SetFields(fields)
	if text := f.View(plain, 60, 5, true); !strings.Contains(text, "✗ must be less") {
		t.Errorf("no problem:\n%s", text)
	}
	for w := 0; w < 90; w++ {
		for h := 0; h < 6; h++ {
			for _, line := range strings.Split(f.View(plain, w, h, true), "\n") {
				if w > 0 && h > 0 && layout.Width(line) != w {
					t.Fatalf("%dx%d: %q", w, h, line)
				}
			}
		}
	}
	if text := f.View(plain, 60, 2, true); !strings.Contains(text, "2 more") {
		t.Errorf("hidden fields are not told:\n%s", text)
	}
}
