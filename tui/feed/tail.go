package feed

import (
	"os"
	"time"

	"boost-tui/profiler/record"

	tea "github.com/charmbracelet/bubbletea"
)

const (
	// tailStart is how much of an existing log is shown at first, and after
	// the reader fell behind by more than tailBehind.
	tailStart  = 128 << 10
	tailBehind = 1 << 20
	// tailChunk is read at once between two looks at the clock.
	tailChunk = 64 << 10
	// tailLines bounds what one read hands over.
	tailLines = 2000
)

// Lines is what one read of a log found.
type Lines struct {
	Lines   []string
	Skipped int64 // bytes left out because the reader was behind
}

// Tail follows a log file. One Cmd at a time may use it: that of the Loop that
// reads it. A new generation gets a new Tail.
type Tail struct {
	tailer *record.Tailer
	fresh  bool
}

// NewTail follows the file at path, from near its end.
func NewTail(path string) *Tail {
	return &Tail{tailer: record.NewTailer(path), fresh: true}
}

// Read is the Cmd of a loop's next read; its message is a Batch[Lines].
func (t *Tail) Read(l *Loop) tea.Cmd {
	return Read(l.Source, l.Gen(), t.read)
}

func (t *Tail) read(deadline time.Time) (out Lines, more bool, err error) {
	if out.Skipped, err = t.catchUp(); err != nil {
		return out, false, err
	}
	ring := NewRing[string](tailLines)
	for {
		more, err = t.tailer.Poll(tailChunk, func(line []byte) { ring.Push(string(line)) })
		if !more || err != nil || time.Now().After(deadline) {
			break
		}
	}
	out.Lines = ring.Slice()
	return out, more, err
}

// catchUp leaves out what nobody could read anyway.
func (t *Tail) catchUp() (skipped int64, err error) {
	info, err := os.Stat(t.tailer.Path())
	if err != nil {
		return 0, nil // not there yet: Poll says so when it matters
	}
	behind := info.Size() - t.tailer.Offset()
	if t.fresh || behind > tailBehind {
		t.fresh = false
		if behind > tailStart {
			return behind - tailStart, t.tailer.SkipToLast(tailStart)
		}
	}
	return 0, nil
}
