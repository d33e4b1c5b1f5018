package record

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"os"
	"path/filepath"
	"syscall"

	"boost-tui/internal/regular"
)

// Writer appends lines to a file, each with one write. It is used by one goroutine.
type Writer struct {
	path string
	f    *os.File
	buf  []byte
	torn bool // the file ends within a line; the next one starts on a line of its own
}

// makeFolder makes the folder of a file inside a run directory, never the run directory itself: a run that was
// deleted underway must not come back as a directory without run.json.
func makeFolder(path string) error {
	dir := filepath.Dir(path)
	if path == EventsPath(dir) {
		return nil
	}
	if err := os.Mkdir(dir, 0o700); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("make the folder of %s: %w", path, Explain(err))
	}
	return nil
}

// OpenWriter opens path for appending and makes it, and its folder inside the run directory, when they are not there. A line
// that an earlier process left unfinished is closed off, so that only that line is lost.
func OpenWriter(path string) (*Writer, error) {
	if err := makeFolder(path); err != nil {
		return nil, err
	}
	f, err := regular.OpenFile(path, os.O_RDWR|os.O_APPEND|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open %s for appending: %w", path, Explain(err))
	}
	w := &Writer{path: path, f: f, buf: make([]byte, 0, 1024)}
	if w.torn, err = endsInLine(f); err != nil {
		return nil, errors.Join(fmt.Errorf("read the end of %s: %w", path, err), f.Close())
	}
	return w, nil
}

func endsInLine(f *os.File) (bool, error) {
	end, err := f.Seek(0, io.SeekEnd)
	if err != nil || end == 0 {
		return false, err
	}
	var last [1]byte
	if _, err := f.ReadAt(last[:], end-1); err != nil {
		return false, err
	}
	return last[0] != '\n', nil
}

// Step writes a step line.
func (w *Writer) Step(l *StepLine) error {
	w.begin()
	w.buf = l.Append(w.buf)
	return w.flush()
}

// Health writes a health line.
func (w *Writer) Health(l *HealthLine) error {
	w.begin()
	w.buf = l.Append(w.buf)
	return w.flush()
}

// Event writes an event.
func (w *Writer) Event(l *EventLine) error {
	w.begin()
	var err error
	if w.buf, err = l.Append(w.buf); err != nil {
		return err
	}
	return w.flush()
}

func (w *Writer) begin() {
	w.buf = w.buf[:0]
	if w.torn {
		w.buf = append(w.buf, '\n')
	}
}

// flush is one write(2) of the line; one that was cut short makes the next line start anew.
func (w *Writer) flush() error {
	w.buf = append(w.buf, '\n')
	n, err := w.f.Write(w.buf)
	w.torn = err != nil && (n > 0 || w.torn)
	if err != nil {
		return fmt.Errorf("append to %s (%d of %d bytes written): %w", w.path, n, len(w.buf), Explain(err))
	}
	return nil
}

// Close closes the file.
func (w *Writer) Close() error {
	if err := w.f.Close(); err != nil {
		return fmt.Errorf("close %s: %w", w.path, Explain(err))
	}
	return nil
}

// Explain adds what to do to the errors that a file system gives a user most often.
func Explain(err error) error {
	return ExplainFor(err, "put the runs elsewhere with --runs", "choose a folder that you may write with --runs")
}

// ExplainFor is Explain with other advice: for a disk that is full, and for a folder that may not be written.
func ExplainFor(err error, full, forbidden string) error {
	switch {
	case errors.Is(err, syscall.ENOSPC):
		return fmt.Errorf("%w: free some space there, or %s", err, full)
	case errors.Is(err, syscall.EDQUOT):
		return fmt.Errorf("%w: the quota is used up; remove old runs, or %s", err, full)
	case errors.Is(err, syscall.EROFS), errors.Is(err, fs.ErrPermission):
		return fmt.Errorf("%w: %s", err, forbidden)
	}
	return err
}
