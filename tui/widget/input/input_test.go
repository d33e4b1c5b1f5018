package input_test

import (
	"strings"
	"testing"

	"boost-tui/tui/keys"
	"boost-tui/tui/layout"
	"boost-tui/tui/theme"
	"boost-tui/tui/widget/input"

	"github.com/charmbracelet/x/ansi"
	"github.com/muesli/termenv"
)

func press(l input.Line, names ...string) input.Line {
	for _, n := range names {
		l, _, _ = l.Update(keys.Press(n))
	}
	return l
}

// What is typed first takes the text's place, whatever edits keeps it.
func TestSelectedText(t *testing.T) {
	for press_, want := range map[string]string{
		"x": "x", "x y": "xy", "end x": "abx", "right x": "abx", "left x": "axb", "home x": "xab", "backspace": "a", "backspace x": "ax", "ctrl+u": "", "ctrl+w x": "x", "up x": "x", "": "ab",
	} {
		if got := press(input.New("ab"), strings.Fields(press_)...).Text(); got != want {
			t.Errorf("%q gives %q, want %q", press_, got, want)
		}
	}
	l, changed, used := input.New("ab").Update(keys.Event{Name: "paste", Text: "cd\x1b[2J", Paste: true})
	if l.Text() != "cd" || !changed || !used {
		t.Errorf("a paste gives %q", l.Text())
	}
	if l, _, _ := input.New("ab").Update(keys.Event{Name: "paste", Text: "\x1b[2J", Paste: true}); l.Text() != "ab" {
		t.Errorf("a paste of nothing gives %q", l.Text())
	}
	if input.New("").Selected() || (input.Line{}).Selected() || !input.New("ab").Selected() || press(input.New("ab"), "end").Selected() {
		t.Error("what is selected is another")
	}
}

// Selected text and the cursor are seen with and without styles, in any width.
func TestViewShowsSelectionAndCursor(t *testing.T) {
	plain := theme.New(theme.Options{Profile: termenv.Ascii, Plain: true})
	mono := theme.New(theme.Options{Name: theme.Mono, Profile: termenv.Ascii})
	if got := strings.TrimSpace(input.New("ab").View(plain, 10)); got != "‹ab›▏" {
		t.Errorf("plain: %q", got)
	}
	if got := input.New("ab").View(mono, 10); !strings.Contains(got, "\x1b[7mab\x1b[0m") {
		t.Errorf("mono: %q", got)
	}
	if got := strings.TrimSpace(press(input.New("ab"), "left").View(plain, 10)); got != "a▏b" {
		t.Errorf("the cursor in plain text: %q", got)
	}
	for _, text := range []string{"", "a", "漢字 and more text", strings.Repeat("long ", 30)} {
		for w := 0; w < 40; w++ {
			for _, th := range []theme.Theme{plain, mono} {
				for _, l := range []input.Line{input.New(text), press(input.New(text), "left"), press(input.New(text), "home")} {
					if got := layout.Width(ansi.Strip(l.View(th, w))); got != w {
						t.Fatalf("%q in %d cells has %d", text, w, got)
					}
				}
			}
		}
	}
}
