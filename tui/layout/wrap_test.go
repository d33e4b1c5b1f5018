package layout_test

import (
	"slices"
	"strings"
	"testing"

	"boost-tui/tui/layout"
)

func TestWrap(t *testing.T) {
	for _, c := range []struct {
		in   string
		w    int
		want []string
	}{
		{"a b", 9, []string{"a b"}},
		{"", 9, []string{""}},
		{"one two three", 8, []string{"one two", "three"}},
		{"  one two three", 8, []string{"  one", "  two", "  three"}},
		{"abcdefghij kl", 4, []string{"abcd", "efgh", "ij", "kl"}},
		{"漢字漢字", 1, []string{"漢字漢字"}},
	} {
		if got := layout.Wrap(c.in, c.w); !slices.Equal(got, c.want) {
			t.Errorf("%q in %d: %q, want %q", c.in, c.w, got, c.want)
		}
	}
}

func FuzzWrap(f *testing.F) {
	f.Add("  one two three", 5)
	f.Add("漢字 e\u0301x", 3)
	f.Fuzz(func(t *testing.T, s string, w int) {
		s, w = layout.Clean(strings.ReplaceAll(s, "\n", " ")), layout.Clamp(w, 0, 200)
		var letters []string
		for _, line := range layout.Wrap(s, w) {
			letters = append(letters, strings.Fields(line)...)
		}
		if got, want := strings.Join(letters, ""), strings.Join(strings.Fields(s), ""); got != want {
			t.Fatalf("%q in %d lost letters: %q", s, w, got)
		}
	})
}
