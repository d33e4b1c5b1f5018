package statusbar_test

import (
	"strings"
	"testing"

	"boost-tui/tui/keys"
	"boost-tui/tui/layout"
	"boost-tui/tui/theme"
	"boost-tui/tui/widget/statusbar"

	"github.com/muesli/termenv"
)

var plain = theme.New(theme.Options{Dark: true, Profile: termenv.Ascii, Plain: true})

func TestHelpAndQuitStayInTheHintLine(t *testing.T) {
	bindings := []keys.Binding{{Keys: []string{"[", "]"}, Hint: "run"}, {Keys: []string{"tab", "shift+tab"}, Hint: "pane"}, {Keys: []string{"left", "right"}, Hint: "cursor"},
		{Keys: []string{"b", "v"}, Hint: "references"}, {Keys: []string{"x"}}, {Keys: []string{"?"}, Hint: "help"}, {Keys: []string{"q"}, Hint: "quit"}}
	for w := 0; w < 100; w++ {
		line := statusbar.Hints(plain, bindings, w)
		if layout.Width(line) != w {
			t.Errorf("%d cells: %q has %d", w, line, layout.Width(line))
		}
		if w >= 17 && !strings.HasSuffix(strings.TrimRight(line, " "), "? help  q quit") {
			t.Errorf("%d cells: %q", w, line)
		}
	}
	if got, want := strings.TrimSpace(statusbar.Hints(plain, bindings, 40)), "[ ] run  tab pane  ? help  q quit"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
	if got, want := strings.TrimSpace(statusbar.Hints(plain, bindings, 90)), "[ ] run  tab pane  ← → cursor  b/v references  ? help  q quit"; got != want {
		t.Errorf("%q, want %q", got, want)
	}
}
