package testkit

import (
	"flag"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"boost-tui/tui/layout"
)

var update = flag.Bool("update", false, "rewrite the golden frames")

// Golden compares a frame with testdata/NAME.txt, after checking that it is
// exactly w x h cells. go test -update rewrites.
func Golden(t testing.TB, name, frame string, w, h int) {
	t.Helper()
	CheckSize(t, name, frame, w, h)
	path := filepath.Join("testdata", name+".txt")
	got := trim(frame)
	if *update {
		if err := os.MkdirAll("testdata", 0o755); err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(path, []byte(got), 0o644); err != nil {
			t.Fatal(err)
		}
		return
	}
	want, err := os.ReadFile(path)
	if err != nil {
		t.Fatalf("%v; go test -update writes it", err)
	}
	if string(want) != got {
		t.Errorf("%s differs from %s (go test -update accepts it)\n%s", name, path, differences(string(want), got))
	}
}

// CheckSize checks that a frame has h lines of w cells.
func CheckSize(t testing.TB, name, frame string, w, h int) {
	t.Helper()
	lines := strings.Split(frame, "\n")
	if len(lines) != h {
		t.Errorf("%s: %d lines, want %d", name, len(lines), h)
	}
	for i, line := range lines {
		if n := layout.Width(line); n != w {
			t.Errorf("%s: line %d is %d cells wide, want %d: %q", name, i+1, n, w, line)
			return
		}
	}
}

// trim drops blanks at line ends: editors do too.
func trim(frame string) string {
	lines := strings.Split(frame, "\n")
	for i := range lines {
		lines[i] = strings.TrimRight(lines[i], " ")
	}
	return strings.Join(lines, "\n") + "\n"
}

func differences(want, got string) string {
	a, b := strings.Split(want, "\n"), strings.Split(got, "\n")
	var out strings.Builder
	for i := 0; i < max(len(a), len(b)); i++ {
		left, right := "", ""
		if i < len(a) {
			left = a[i]
		}
		if i < len(b) {
			right = b[i]
		}
		if left != right {
			out.WriteString("- " + left + "\n+ " + right + "\n")
		}
	}
	return out.String()
}

// Sizes are the sizes at which screens are checked cell by cell.
func Sizes() [][2]int {
	return [][2]int{{40, 10}, {60, 20}, {73, 22}, {80, 24}, {100, 30}, {120, 36}, {200, 50}, {250, 80}}
}
