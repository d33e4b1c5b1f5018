package layout_test

import (
	"strings"
	"testing"

	"boost-tui/tui/layout"
)

func FuzzFit(f *testing.F) {
	for _, s := range []string{"", "a", "漢字\x1b[31mred\x1b[0m\n\n", "\x1b[", "e\u0301\u200d👨‍👩‍👧", strings.Repeat("x", 300), "\xff\xfe", "tab\there"} {
		f.Add(s, 10, 3)
	}
	f.Fuzz(func(t *testing.T, s string, w, h int) {
		w, h = layout.Clamp(w, -2, 200), layout.Clamp(h, -2, 60)
		clean := make([]string, 0, 4)
		for _, line := range strings.Split(s, "\n") {
			clean = append(clean, layout.Clean(line))
		}
		got := layout.Fit(strings.Join(clean, "\n"), w, h)
		if w <= 0 || h <= 0 {
			if got != "" {
				t.Fatalf("%q for %dx%d", got, w, h)
			}
			return
		}
		lines := strings.Split(got, "\n")
		if len(lines) != h {
			t.Fatalf("%d lines, want %d", len(lines), h)
		}
		for _, line := range lines {
			if layout.Width(line) != w {
				t.Fatalf("line %q is %d wide, want %d", line, layout.Width(line), w)
			}
		}
	})
}

// What Clean leaves holds nothing that moves a cursor or hides text.
func FuzzClean(f *testing.F) {
	f.Add("\x1b]0;title\x07\x1b[2J\u202edecoy\u200b\r\n\x9b31m")
	f.Fuzz(func(t *testing.T, s string) {
		for _, r := range layout.Clean(s) {
			if r < 0x20 || (r >= 0x7f && r < 0xa0) || r == 0x200b || r == 0x202e || r == 0x2066 || r == 0xfeff {
				t.Fatalf("%q left %q", s, r)
			}
		}
	})
}

func TestASCIIKeepsWidths(t *testing.T) {
	for _, s := range []string{"plain", "┌─ ▸ × … ─┐", "\x1b[31m✓\x1b[0m", "漢字"} {
		got := layout.ASCII(s)
		if layout.Width(got) != layout.Width(s) || strings.ContainsFunc(got, func(r rune) bool { return r > 0x7e }) {
			t.Errorf("%q became %q", s, got)
		}
	}
}

func TestDivide(t *testing.T) {
	for _, c := range []struct {
		total int
		parts []layout.Part
		want  []int
	}{
		{10, []layout.Part{{Min: 3}, {Weight: 1}}, []int{3, 7}},
		{10, []layout.Part{{Weight: 1}, {Weight: 2}}, []int{3, 7}},
		{4, []layout.Part{{Min: 3}, {Min: 3, Weight: 1}}, []int{3, 1}},
		{2, []layout.Part{{Min: 3}, {Min: 3}}, []int{2, 0}},
		{-5, []layout.Part{{Min: 3}, {Weight: 1}}, []int{0, 0}},
	} {
		got := layout.Divide(c.total, c.parts...)
		for i := range got {
			if got[i] != c.want[i] {
				t.Errorf("Divide(%d, %v) = %v, want %v", c.total, c.parts, got, c.want)
				break
			}
		}
	}
}

func TestOverlay(t *testing.T) {
	frame := layout.Fit("aaaaa\naaaaa\naaaaa", 5, 3)
	if got := layout.Overlay(frame, "x", 5, 3); got != "aaaaa\naaxaa\naaaaa" {
		t.Errorf("overlay is\n%s", got)
	}
}

func TestSpreadDropsTheRight(t *testing.T) {
	if got := layout.Spread("left", "right", 20); got != "left           right" {
		t.Errorf("%q", got)
	}
	if got := layout.Spread("a long left part", "right", 12); got != "a long left " {
		t.Errorf("%q", got)
	}
}
