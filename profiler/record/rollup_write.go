package record

import (
	"context"
	"errors"
	"fmt"
	"os"

	"boost-tui/internal/regular"
)

// RollupWriter follows the step files of a run's ranks and appends each step that all of them have
// reported to rollup.bin. Used by one goroutine.
type RollupWriter struct {
	*gather
	path string
	f    *os.File
	out  []byte // records not written yet: kept when a write fails
	end  int64  // of the written records
}

// OpenRollupWriter continues the run's rollup, or begins it, for the given ranks.
func OpenRollupWriter(dir string, ranks []int) (*RollupWriter, error) {
	path := RollupPath(dir)
	f, err := regular.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, Explain(err))
	}
	w := &RollupWriter{path: path, f: f}
	last, err := w.resume()
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, Explain(err)), f.Close())
	}
	w.gather = newGather(dir, ranks, last)
	return w, nil
}

// resume goes to the end of the last whole record and returns its step; a file without a header gets one.
func (w *RollupWriter) resume() (int64, error) {
	n, err := rollupLen(w.f)
	if err != nil {
		return 0, err
	}
	w.end = int64(rollupHeader + n*rollupRecord)
	if n == 0 {
		if err := w.f.Truncate(0); err != nil {
			return 0, err
		}
		_, err := w.f.WriteAt(rollupHead(), 0)
		return -1, err
	}
	b := make([]byte, rollupRecord)
	if _, err := w.f.ReadAt(b, w.end-rollupRecord); err != nil {
		return 0, err
	}
	var r RollupStep
	r.get(b)
	return r.Step, w.f.Truncate(w.end)
}

// Poll reads what the ranks have written since and appends the steps that are complete. It returns
// how many.
func (w *RollupWriter) Poll(ctx context.Context) (int, error) {
	before := w.end
	err := w.poll(ctx, w.add)
	err = errors.Join(err, w.write())
	return int(w.end-before) / rollupRecord, err
}

// Skipped is how many lines could not be read, and why the first could not.
func (w *RollupWriter) Skipped() (int, error) { return w.skipped, w.badErr }

// Close appends the steps that some ranks never reported, and closes the file.
func (w *RollupWriter) Close() error {
	err := w.flush(true, w.add)
	err = errors.Join(err, w.write())
	if cerr := w.f.Close(); cerr != nil {
		err = errors.Join(err, fmt.Errorf("close %s: %w", w.path, Explain(cerr)))
	}
	return err
}

// rollupBatch bounds what is held back for one write.
const rollupBatch = 1 << 20

func (w *RollupWriter) add(r *RollupStep) error {
	at := len(w.out)
	w.out = append(w.out, make([]byte, rollupRecord)...)
	r.put(w.out[at:])
	if len(w.out) < rollupBatch {
		return nil
	}
	return w.write()
}

func (w *RollupWriter) write() error {
	if len(w.out) == 0 {
		return nil
	}
	if m, err := w.f.WriteAt(w.out, w.end); err != nil {
		return fmt.Errorf("append to %s (%d of %d bytes written): %w", w.path, m, len(w.out), Explain(err))
	}
	w.end += int64(len(w.out))
	w.out = w.out[:0]
	return nil
}
