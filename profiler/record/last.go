package record

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"

	"boost-tui/internal/regular"
)

// LastSteps reads the last n step lines of a file from its end. A torn last line and lines that
// are no step lines are left out; a file that is not there has none.
func LastSteps(path string, n int) ([]StepLine, error) {
	var out []StepLine
	err := lastLines(path, func(line []byte) bool {
		var l StepLine
		if l.Decode(line) == nil {
			out = append(out, l)
		}
		return len(out) < n
	})
	slices.Reverse(out)
	return out, err
}

// LastHealth reads the health lines of a file's last n bytes.
func LastHealth(path string, n int64) ([]HealthLine, error) {
	t := NewTailer(path)
	if err := t.SkipToLast(n); err != nil {
		return nil, err
	}
	var out []HealthLine
	_, err := t.Poll(int(n)+maxLine, func(line []byte) {
		var l HealthLine
		if l.Decode(line) == nil {
			out = append(out, l)
		}
	})
	return out, err
}

// lastLines yields the whole lines of a file from the last to the first, until told to stop.
func lastLines(path string, yield func([]byte) bool) error {
	f, err := regular.Open(path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("open %s: %w", path, err)
	}
	defer f.Close()
	info, err := f.Stat()
	if err != nil {
		return fmt.Errorf("look at %s: %w", path, err)
	}
	const block = 64 << 10
	passed := int64(0)
	var rest []byte // the end of a line whose start was not read so far
	first := true   // what follows the file's last newline is torn
	for end := info.Size(); end > 0; {
		n := min(end, block)
		end -= n
		buf := make([]byte, int(n), int(n)+len(rest))
		if _, err := f.ReadAt(buf, end); err != nil && !errors.Is(err, io.EOF) {
			return fmt.Errorf("read %s: %w", path, err)
		}
		buf = append(buf, rest...)
		for {
			i := bytes.LastIndexByte(buf, '\n')
			if i < 0 {
				break
			}
			line := buf[i+1:]
			buf = buf[:i]
			if passed += passedIn(line); passed > maxPassed {
				return noLines(path)
			}
			if len(line) > 0 && !first && !yield(line) {
				return nil
			}
			first = false
		}
		if len(buf) > maxLine {
			return fmt.Errorf("%s holds a line of more than %d bytes: %w", path, maxLine, ErrNoLines)
		}
		rest = buf
	}
	if len(rest) > 0 && !first {
		yield(rest)
	}
	return nil
}
