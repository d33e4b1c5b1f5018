package panel_test

import (
	"strings"
	"testing"

	"boost-tui/tui/layout"
	"boost-tui/tui/theme"
	"boost-tui/tui/widget/panel"

	"github.com/charmbracelet/x/ansi"
	"github.com/muesli/termenv"
)

// Which pane has the focus is seen without colours and without bold.
func TestFocusIsSeenWithoutStyles(t *testing.T) {
	for _, ascii := range []bool{false, true} {
		th := theme.New(theme.Options{Name: theme.Mono, Profile: termenv.Ascii, ASCII: ascii})
		for _, p := range []panel.Panel{{}, {Title: "Queue"}, {Title: "Queue", Note: "10 points"}} {
			plain := ansi.Strip(p.View(th, "body", 30, 4))
			p.Focused = true
			focused := ansi.Strip(p.View(th, "body", 30, 4))
			if plain == focused {
				t.Errorf("ascii %v: both look alike:\n%s", ascii, plain)
			}
			if out := layout.ASCII(focused); ascii && out != focused || strings.Contains(out, "?") && ascii {
				t.Errorf("not ASCII:\n%s", focused)
			}
		}
	}
}

// A frame has the cells that it is given, with the focus and without.
func TestEverySize(t *testing.T) {
	th := theme.New(theme.Options{Profile: termenv.Ascii, Plain: true})
	for w := range 40 {
		for h := range 6 {
			for _, focused := range []bool{false, true} {
				view := panel.Panel{Title: "A title", Note: "a note", Focused: focused}.View(th, "some\nlines that are long enough to be cut", w, h)
				if w == 0 || h == 0 {
					continue
				}
				lines := strings.Split(view, "\n")
				if len(lines) != h {
					t.Fatalf("%dx%d: %d lines", w, h, len(lines))
				}
				for _, line := range lines {
					if layout.Width(line) != w {
						t.Fatalf("%dx%d: %q", w, h, line)
					}
				}
			}
		}
	}
}
