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
		{ID: "steps", Label: "Steps", Value: "100", Typed: true, Digits: "0123456789", Note: "of the schedule"},
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
	ascii := theme.New(theme.Options{Dark: true, Profile: termenv.Ascii, Plain: true, ASCII: true})
	if text := ansi.Strip(f.View(ascii, 60, 5, true)); !strings.Contains(text, "[x]c") {
		t.Errorf("the sign of a blocked choice reads as a letter of it:\n%s", text)
	}
}

func TestTyping(t *testing.T) {
	f := sample()
	if c := press(&f, "down", "enter", "ctrl+u", "5", "0", "enter"); c == nil || *c != (form.Change{ID: "steps", Value: "50"}) {
		t.Errorf("typed %v", c)
	}
	if c := press(&f, "enter", "7", "8", "esc"); c != nil || f.Typing() {
		t.Errorf("esc gave %v", c)
	}
	if c := press(&f, "enter", "7", "tab"); c == nil || c.Value != "7" || f.Focus() != "data" {
		t.Errorf("tab gave %v on %s", c, f.Focus())
	}
}

// Only enter starts an edit; then digits take the value's place and letters are refused where a number is wanted.
func TestOnlyEnterEdits(t *testing.T) {
	f := sample()
	f.Select("steps")
	for _, name := range []string{"2", "9", "x"} {
		if c, used := f.Update(keys.Press(name)); used || c != nil || f.Typing() {
			t.Errorf("%s was taken by the field", name)
		}
	}
	if c := press(&f, "enter", "2", "q", "5", "L", "enter"); c == nil || c.Value != "25" {
		t.Errorf("digits gave %v", c)
	}
	if c := press(&f, "enter", "right", "9", "enter"); c == nil || c.Value != "1009" {
		t.Errorf("digits behind the value gave %v", c)
	}
	if c := press(&f, "enter", "backspace", "enter"); c == nil || c.Value != "10" {
		t.Errorf("backspace gave %v", c)
	}
	if c := press(&f, "down", "enter", "x", "enter"); c == nil || c.Value != "x" {
		t.Errorf("a letter in a field of text gave %v", c)
	}
	f.Select("steps")
	f.Update(keys.Press("enter"))
	f.Update(keys.Event{Name: "paste", Text: "a4b2\n", Paste: true})
	if c := press(&f, "enter"); c == nil || c.Value != "42" {
		t.Errorf("a paste gave %v", c)
	}
}

// A typed number stands at its place, and left and right go to its neighbours.
func TestTypedValueIsSorted(t *testing.T) {
	var f form.Form
	f.SetFields([]form.Field{{ID: "steps", Label: "Steps", Value: "150", Typed: true, Options: []form.Option{{Value: "20"}, {Value: "100"}, {Value: "200"}}}})
	if text := f.View(plain, 60, 1, true); !strings.Contains(text, "‹ 20 100 ▸150 200 ›") {
		t.Errorf("not at its place: %s", text)
	}
	if c := press(&f, "right"); c == nil || c.Value != "200" {
		t.Errorf("right gave %v", c)
	}
	if c := press(&f, "left"); c == nil || c.Value != "100" {
		t.Errorf("left gave %v", c)
	}
}

// Options without room leave a mark, and one that works stays visible.
func TestPickerShowsThatThereIsMore(t *testing.T) {
	var f form.Form
	var options []form.Option
	for i, v := range []string{"alpha", "bravo", "charlie", "delta", "echo"} {
		o := form.Option{Value: v}
		if i > 0 && i < 4 {
			o.Blocked = "no"
		}
		options = append(options, o)
	}
	field := form.Field{ID: "x", Label: "X", Value: "charlie", Options: options}
	for w, want := range map[int]string{70: "‹ alpha ✗bravo ▸✗charlie ✗delta echo ›", 40: "‹ alpha … ▸✗charlie … echo ›", 34: "‹ … ▸✗charlie … echo ›"} {
		f.SetFields([]form.Field{field, {ID: "y", Label: "Y"}})
		f.Select("y")
		if text := f.View(plain, w, 2, true); !strings.Contains(text, want) {
			t.Errorf("%d cells: %s", w, text)
		}
	}
}

// Whatever is cut ends with an ellipsis.
func TestCutTextsEndWithAnEllipsis(t *testing.T) {
	var f form.Form
	f.SetFields([]form.Field{{ID: "data", Label: "Data", Value: "/a/very/long/path/to/some/data", Typed: true}})
	if text := f.View(plain, 24, 1, true); !strings.HasSuffix(strings.TrimSpace(text), "…") {
		t.Errorf("cut without a sign: %q", text)
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
