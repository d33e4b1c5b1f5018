package keys_test

import (
	"strings"
	"testing"

	"boost-tui/tui/keys"

	tea "github.com/charmbracelet/bubbletea"
)

func TestNormalize(t *testing.T) {
	rune_ := func(s string, alt bool) tea.KeyMsg {
		return tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(s), Alt: alt}
	}
	for _, c := range []struct {
		in   tea.KeyMsg
		want string
	}{
		{rune_("a", false), "a"},
		{rune_("jjG", false), "j j G"},
		{rune_("j", true), "esc j"},
		{tea.KeyMsg{Type: tea.KeyEsc, Alt: true}, "esc esc"},
		{tea.KeyMsg{Type: tea.KeyEnter, Alt: true}, "esc enter"},
		{tea.KeyMsg{Type: tea.KeySpace, Runes: []rune{' '}}, "space"},
		{rune_("a b", false), "a space b"},
		{tea.KeyMsg{Type: tea.KeyCtrlD}, "ctrl+d"},
		{tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune("two words"), Paste: true}, "paste"},
		{tea.KeyMsg{Type: tea.KeyShiftTab}, "shift+tab"},
	} {
		var names []string
		for _, e := range keys.Normalize(c.in) {
			names = append(names, e.Name)
		}
		if got := strings.Join(names, " "); got != c.want {
			t.Errorf("%v gives %q, want %q", c.in, got, c.want)
		}
	}
}

func TestTableFindsTheFirst(t *testing.T) {
	table := keys.Table[int]{
		{Binding: keys.Binding{Keys: []string{"a", "b"}}, Do: 1},
		{Binding: keys.Binding{Keys: []string{"b"}}, Do: 2},
	}
	if e, ok := table.Find(keys.Press("b")); !ok || e.Do != 1 {
		t.Errorf("found %v %v", e, ok)
	}
	if _, ok := table.Find(keys.Event{Name: "a", Paste: true}); ok {
		t.Error("pasted text pressed a key")
	}
}

func TestUnsafe(t *testing.T) {
	bad := keys.Unsafe([]keys.Binding{
		{Keys: []string{"K"}, Danger: true}, {Keys: []string{"d"}, Danger: true}, {Keys: []string{"ctrl+k"}, Danger: true}, {Keys: []string{"alt+x"}}, {Keys: []string{"d"}},
	})
	if len(bad) != 3 {
		t.Errorf("unsafe: %v", bad)
	}
}
