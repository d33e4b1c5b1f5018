package record

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"

	"boost-tui/internal/regular"
)

const (
	// maxLine bounds a record. Longer lines are skipped: no writer of ours makes them.
	maxLine = 1 << 20
	// maxPassed bounds what of a file is read that is no text: lines that are too long, and lines with zero bytes. A hole in a
	// file takes nothing of its owner's disk, and would take a reader hours.
	maxPassed = 64 << 20
)

// ErrNoLines is in the error about a file that is not one of lines.
var ErrNoLines = errors.New("not a file of lines")

func noLines(path string) error {
	return fmt.Errorf("%s holds more than %d MiB without a line that can be read: %w", path, maxPassed>>20, ErrNoLines)
}

// passedIn is what of a line counts as passed over.
func passedIn(line []byte) int64 {
	if bytes.IndexByte(line, 0) >= 0 {
		return int64(len(line))
	}
	return 0
}

// Tailer follows a file of lines by polling, which works on network file systems too. It hands out
// whole lines only; a last line without its newline waits. A file that became shorter or was
// replaced is read from its start. One that has too much that is no line is given up: ErrNoLines. Used by one goroutine.
type Tailer struct {
	path   string
	off    int64
	info   fs.FileInfo
	buf    []byte
	skip   bool  // within a line longer than maxLine
	passed int64 // bytes that were no line
}

// NewTailer follows path from its start. The file need not be there yet.
func NewTailer(path string) *Tailer { return &Tailer{path: path} }

// Path is the file that is followed.
func (t *Tailer) Path() string { return t.path }

// Offset is how far the file was read: the end of the last whole line.
func (t *Tailer) Offset() int64 { return t.off }

// SkipTo goes to a byte offset, which should be the start of a line.
func (t *Tailer) SkipTo(off int64) { t.off, t.skip, t.passed = off, false, 0 }

// SkipToLast leaves out what is there but for about the last n bytes, from the start of a line on.
func (t *Tailer) SkipToLast(n int64) error {
	info, err := os.Stat(t.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look at %s: %w", t.path, err)
	}
	if info.Size() <= n {
		t.SkipTo(0)
		return nil
	}
	// One byte earlier, so that a line that starts exactly there is kept.
	t.off, t.skip, t.passed = info.Size()-n-1, true, 0
	return nil
}

// Poll reads up to about budget bytes of new whole lines. line gets each without its newline; it
// must not keep the slice. more reports that there was more than the budget.
func (t *Tailer) Poll(budget int, line func([]byte)) (more bool, err error) {
	f, err := regular.Open(t.path)
	if errors.Is(err, fs.ErrNotExist) {
		return false, nil
	}
	if err != nil {
		return false, fmt.Errorf("open %s: %w", t.path, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return false, fmt.Errorf("look at %s: %w", t.path, err)
	}
	if info.Size() < t.off || t.info != nil && !os.SameFile(t.info, info) {
		t.SkipTo(0)
	}
	t.info = info
	defer func() {
		if !more {
			t.shrink()
		}
	}()
	for budget > 0 && t.off < info.Size() {
		if t.passed > maxPassed {
			return false, noLines(t.path)
		}
		n, err := t.chunk(f, min(int64(max(budget, 512)), info.Size()-t.off), line)
		if err != nil {
			return false, fmt.Errorf("read %s at byte %d: %w", t.path, t.off, err)
		}
		if n == 0 {
			return false, nil
		}
		budget -= n
	}
	return t.off < info.Size(), nil
}

// shrink lets a large buffer go once the file has been caught up with: there may be a thousand to follow.
func (t *Tailer) shrink() {
	if cap(t.buf) > 32<<10 {
		t.buf = nil
	}
}

// tailChunk is how much is read at once.
const tailChunk = 256 << 10

// chunk reads at most n bytes and hands out their whole lines. It returns how far it came; 0 means
// that the line there has no end yet.
func (t *Tailer) chunk(f *os.File, n int64, line func([]byte)) (int, error) {
	n = min(n, tailChunk)
	for {
		if int64(cap(t.buf)) < n {
			t.buf = make([]byte, max(n, 4096))
		}
		got, err := f.ReadAt(t.buf[:n], t.off)
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, err
		}
		data := t.buf[:got]
		end := bytes.LastIndexByte(data, '\n') + 1
		if end > 0 {
			t.lines(data[:end], line)
			t.off += int64(end)
			return end, nil
		}
		if t.skip || got >= maxLine {
			t.skip = true
			t.off, t.passed = t.off+int64(got), t.passed+int64(got)
			return got, nil
		}
		if int64(got) < n || err != nil {
			return 0, nil
		}
		n *= 2
	}
}

func (t *Tailer) lines(data []byte, line func([]byte)) {
	if t.skip {
		data = data[bytes.IndexByte(data, '\n')+1:]
		t.skip = false
	}
	for len(data) > 0 {
		i := bytes.IndexByte(data, '\n')
		if i > 0 {
			t.passed += passedIn(data[:i])
			line(data[:i:i])
		}
		data = data[i+1:]
	}
}
