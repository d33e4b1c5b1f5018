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
	b := tail.Read(loop)().(feed.Batch[feed.Lines])
	if b.Err != nil || b.More || len(b.Value.Lines) == 0 || len(b.Value.Lines) > 5000 || b.Value.Skipped == 0 {
		t.Errorf("first read: %d lines, skipped %d, more %v, err %v", len(b.Value.Lines), b.Value.Skipped, b.More, b.Err)
	}
	f, err := os.OpenFile(path, os.O_APPEND|os.O_WRONLY, 0)
	if err != nil {
		t.Fatal(err)
	}
	defer f.Close()
	if _, err := f.WriteString("one more\nhalf"); err != nil {
		t.Fatal(err)
	}
	b = tail.Read(loop)().(feed.Batch[feed.Lines])
	if fmt.Sprint(b.Value.Lines) != "[one more]" {
		t.Errorf("second read: %q", b.Value.Lines)
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
