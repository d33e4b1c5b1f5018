package help_test

import (
	"strings"
	"testing"

	"boost-tui/tui/keys"
	"boost-tui/tui/layout"
	"boost-tui/tui/theme"
	"boost-tui/tui/widget/help"

	"github.com/charmbracelet/x/ansi"
	"github.com/muesli/termenv"
)

var plain = theme.New(theme.Options{Profile: termenv.Ascii, Plain: true})

// Every word of every binding can be read at every size, by scrolling.
func TestLongTextsAreBroken(t *testing.T) {
	const text = "filter what the cells are made of, as in the results: words, scheme:btp, tp>=2, vs_full>1.5, -state:failed; esc restores last-word"
	var bindings []keys.Binding
	for range 12 {
		bindings = append(bindings, keys.Binding{Keys: []string{"tab", "shift+tab"}, Help: text, Group: "Group"})
	}
	bindings = append(bindings, keys.Binding{Keys: []string{"E"}, Help: text + " the-end", Group: "Last", Writes: true})
	for _, size := range [][2]int{{120, 33}, {80, 21}, {40, 7}} {
		h := help.New(bindings, true)
		seen := ""
		for range 200 {
			view := ansi.Strip(h.View(plain, size[0], size[1]))
			for _, row := range strings.Split(view, "\n") {
				if layout.Width(row) > size[0] {
					t.Fatalf("%v: %q is too wide", size, row)
				}
			}
			seen += view
			h, _ = h.Update(keys.Press("down"))
		}
		if strings.Contains(seen, "…") {
			t.Errorf("%v: a line is cut", size)
		}
		for _, want := range []string{"last-word", "the-end", "read-only"} {
			if !strings.Contains(seen, want) {
				t.Errorf("%v: %q is never shown", size, want)
			}
		}
		h, _ = h.Update(keys.Press("G"))
		bottom := h.View(plain, size[0], size[1])
		if h, _ = h.Update(keys.Press("up")); h.View(plain, size[0], size[1]) == bottom {
			t.Errorf("%v: up does not leave the end", size)
		}
	}
}
