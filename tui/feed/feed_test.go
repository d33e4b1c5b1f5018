package feed_test

import (
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"boost-tui/tui/feed"
)

func TestRingDropsTheOldest(t *testing.T) {
	r := feed.NewRing[int](3)
	for i := range 5 {
		r.Push(i)
	}
	if got := fmt.Sprint(r.Slice(), r.Dropped(), r.Len()); got != "[2 3 4] 2 3" {
		t.Errorf("ring is %s", got)
	}
}

// P5: answers that come back in another order do not overwrite newer ones.
func TestLoopIgnoresOldGenerations(t *testing.T) {
	l := feed.Loop{Source: "log"}
	old := l.Start()
	now := l.Start()
	if l.Mine("log", old) || !l.Mine("log", now) || l.Mine("other", now) {
		t.Error("an answer of an older generation or another source was taken")
	}
	l.Stop()
	if l.Mine("log", now) {
		t.Error("an answer was taken after Stop")
	}
}

// P17: whatever arrives, one read hands over a bounded number of lines.
func TestTailStaysBehindBounded(t *testing.T) {
	path := filepath.Join(t.TempDir(), "log")
	if err := os.WriteFile(path, []byte(strings.Repeat("a line of a chatty program\n", 200_000)), 0o600); err != nil {
		t.Fatal(err)
	}
	tail := feed.NewTail(path)
	loop := &feed.Loop{Source: "log"}
	loop.Start()
	lines, skipped, _ := drain(t, tail, loop)
	if lines == 0 || skipped == 0 {
		t.Errorf("first read: %d lines, %d bytes skipped", lines, skipped)
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString("one more\nhalf"); err != nil {
		t.Fatal(err)
	}
	if lines, _, last := drain(t, tail, loop); lines != 1 || last != "one more" {
		t.Errorf("second read: %d lines, the last %q", lines, last)
	}
}

// drain reads until there is no more and checks that every read is bounded.
func drain(t *testing.T, tail *feed.Tail, loop *feed.Loop) (lines int, skipped int64, last string) {
	t.Helper()
	for {
		b := tail.Read(loop)().(feed.Batch[feed.Lines])
		if b.Err != nil || len(b.Value.Lines) > 5000 {
			t.Fatalf("a read gave %d lines, %v", len(b.Value.Lines), b.Err)
		}
		lines, skipped = lines+len(b.Value.Lines), skipped+b.Value.Skipped
		if n := len(b.Value.Lines); n > 0 {
			last = b.Value.Lines[n-1]
		}
		if !b.More {
			return lines, skipped, last
		}
	}
}

func TestTailOfAMissingFile(t *testing.T) {
	tail := feed.NewTail(filepath.Join(t.TempDir(), "none"))
	loop := &feed.Loop{Source: "log"}
	loop.Start()
	if b := tail.Read(loop)().(feed.Batch[feed.Lines]); b.Err != nil || len(b.Value.Lines) != 0 {
		t.Errorf("missing file: %v %q", b.Err, b.Value.Lines)
	}
}
