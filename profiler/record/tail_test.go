package record

import (
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strings"
	"testing"
)

func poll(t *testing.T, tail *Tailer, budget int) (lines []string, more bool) {
	t.Helper()
	more, err := tail.Poll(budget, func(b []byte) { lines = append(lines, string(b)) })
	check(t, err)
	return lines, more
}

func appendTo(t *testing.T, path, text string) {
	t.Helper()
	f := must(os.OpenFile(path, os.O_APPEND|os.O_CREATE|os.O_WRONLY, 0o644))(t)
	must(f.WriteString(text))(t)
	check(t, f.Close())
}

func TestTailerHandsOutWholeLines(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	tail := NewTailer(path)
	want := func(what string, lines ...string) {
		t.Helper()
		if got, _ := poll(t, tail, 1<<20); !slices.Equal(got, lines) {
			t.Errorf("%s: got %q, want %q", what, got, lines)
		}
	}
	want("no file yet")
	appendTo(t, path, "one\ntw")
	want("a torn line waits", "one")
	want("still torn")
	appendTo(t, path, "o\n\nthree\n")
	want("completed; empty lines are passed over", "two", "three")
	check(t, os.WriteFile(path, []byte("new\n"), 0o644))
	want("truncated", "new")
	check(t, os.Rename(path, path+".1"))
	appendTo(t, path, "rotated, and longer than before\n")
	want("rotated", "rotated, and longer than before")
	check(t, os.Remove(path))
	want("removed")
}

func TestTailerKeepsToItsBudget(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	var text strings.Builder
	for i := range 10000 {
		fmt.Fprintf(&text, "line %d\n", i)
	}
	appendTo(t, path, text.String())
	tail, n, polls := NewTailer(path), 0, 0
	for more := true; more; polls++ {
		var lines []string
		lines, more = poll(t, tail, 1000)
		if len(lines) > 250 {
			t.Fatalf("%d lines at once", len(lines))
		}
		for _, l := range lines {
			if l != fmt.Sprintf("line %d", n) {
				t.Fatalf("got %q, want line %d", l, n)
			}
			n++
		}
	}
	if n != 10000 || polls < 50 {
		t.Errorf("%d lines in %d polls", n, polls)
	}
}

func TestTailerPassesOverWhatIsNoLine(t *testing.T) {
	path := filepath.Join(t.TempDir(), "f")
	appendTo(t, path, strings.Repeat("x", 3*maxLine)+"\nafter\n")
	tail := NewTailer(path)
	got, _ := poll(t, tail, 16<<20)
	if len(got) != 1 || got[0] != "after" {
		t.Errorf("got %d lines", len(got))
	}
	appendTo(t, path, strings.Repeat("a", 100)+"\nlast but one\nlast\n")
	tail = NewTailer(path)
	for n, want := range map[int64][]string{5: {"last"}, 4: nil, 18: {"last but one", "last"}, 6: {"last"}} {
		check(t, tail.SkipToLast(n))
		if got, _ := poll(t, tail, 1<<20); !slices.Equal(got, want) {
			t.Errorf("the last %d bytes: %q", n, got)
		}
	}
}
