package record

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"slices"
)

// RollupWriter follows the step files of a run's ranks and appends each step that all of them have
// reported to rollup.bin. Used by one goroutine.
type RollupWriter struct {
	path    string
	f       *os.File
	tails   []*Tailer
	ranks   []int
	seen    []int64 // per rank: the last step it reported
	last    int64   // last step written
	pending map[int64]*pendingStep
	free    []*pendingStep
	line    StepLine
	out     []byte // records not written yet: kept when a write fails
	end     int64  // of the written records
	skipped int
	badErr  error
}

// pendingStep gathers the lines of a step.
type pendingStep struct {
	lines []StepLine
	ranks []int
}

// pendingMax bounds how far ranks may drift apart before the slowest is written off for a step.
const pendingMax = 4096

// OpenRollupWriter continues the run's rollup, or begins it, for the given ranks.
func OpenRollupWriter(dir string, ranks []int) (*RollupWriter, error) {
	path := RollupPath(dir)
	f, err := os.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o644)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, Explain(err))
	}
	w := &RollupWriter{path: path, f: f, ranks: ranks, last: -1, seen: make([]int64, len(ranks)), pending: map[int64]*pendingStep{}}
	for i, r := range ranks {
		w.tails = append(w.tails, NewTailer(StepsPath(dir, r)))
		w.seen[i] = -1
	}
	if err := w.resume(); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, Explain(err)), f.Close())
	}
	return w, nil
}

// resume goes to the end of the last whole record; a file without a header gets one.
func (w *RollupWriter) resume() error {
	n, err := rollupLen(w.f)
	if err != nil {
		return err
	}
	w.end = int64(rollupHeader + n*rollupRecord)
	if n == 0 {
		if err := w.f.Truncate(0); err != nil {
			return err
		}
		_, err := w.f.WriteAt(rollupHead(), 0)
		return err
	}
	b := make([]byte, rollupRecord)
	if _, err := w.f.ReadAt(b, w.end-rollupRecord); err != nil {
		return err
	}
	var r RollupStep
	r.get(b)
	w.last = r.Step
	return w.f.Truncate(w.end)
}

// Poll reads what the ranks have written since and appends the steps that are complete. It returns
// how many. Lines that cannot be read are skipped and counted; the first such error is Skipped's.
func (w *RollupWriter) Poll(ctx context.Context) (int, error) {
	added := 0
	for more := true; more; {
		more = false
		for i, t := range w.tails {
			if err := ctx.Err(); err != nil {
				return added, err
			}
			m, err := t.Poll(256<<10, func(line []byte) { w.take(i, line) })
			if err != nil {
				return added, err
			}
			more = more || m
		}
		n, err := w.flush(false)
		added += n
		if err != nil {
			return added, err
		}
	}
	return added, nil
}

// Skipped is how many lines could not be read, and why the first could not.
func (w *RollupWriter) Skipped() (int, error) { return w.skipped, w.badErr }

// Close appends the steps that some ranks never reported, and closes the file.
func (w *RollupWriter) Close() error {
	_, err := w.flush(true)
	if cerr := w.f.Close(); cerr != nil {
		err = errors.Join(err, fmt.Errorf("close %s: %w", w.path, Explain(cerr)))
	}
	return err
}

func (w *RollupWriter) take(i int, line []byte) {
	if err := w.line.Decode(line); err != nil || w.line.Step > math.MaxUint32 {
		w.skipped++
		if w.badErr == nil {
			w.badErr = fmt.Errorf("%s: %w", w.tails[i].Path(), err)
		}
		return
	}
	step := w.line.Step
	w.seen[i] = max(w.seen[i], step)
	if step <= w.last {
		return
	}
	p := w.pending[step]
	if p == nil {
		p = &pendingStep{}
		if n := len(w.free); n > 0 {
			p, w.free = w.free[n-1], w.free[:n-1]
		}
		p.lines, p.ranks = p.lines[:0], p.ranks[:0]
		w.pending[step] = p
	}
	if !slices.Contains(p.ranks, w.ranks[i]) {
		p.lines, p.ranks = append(p.lines, w.line), append(p.ranks, w.ranks[i])
	}
}

// flush writes the pending steps in order, as long as they are complete, or have no hope to become
// so since every rank is past them. all writes the rest too.
func (w *RollupWriter) flush(all bool) (int, error) {
	steps := make([]int64, 0, len(w.pending))
	for s := range w.pending {
		steps = append(steps, s)
	}
	slices.Sort(steps)
	past := int64(math.MaxInt64)
	for _, s := range w.seen {
		past = min(past, s)
	}
	n := 0
	for _, s := range steps {
		p := w.pending[s]
		if !all && len(p.lines) < len(w.ranks) && s >= past && len(steps)-n <= pendingMax {
			break
		}
		r := aggregate(p)
		w.out = append(w.out, make([]byte, rollupRecord)...)
		r.put(w.out[len(w.out)-rollupRecord:])
		delete(w.pending, s)
		w.free = append(w.free, p)
		w.last = s
		n++
	}
	if len(w.out) == 0 {
		return 0, nil
	}
	if m, err := w.f.WriteAt(w.out, w.end); err != nil {
		return 0, fmt.Errorf("append to %s (%d of %d bytes written): %w", w.path, m, len(w.out), Explain(err))
	}
	n = len(w.out) / rollupRecord
	w.end += int64(len(w.out))
	w.out = w.out[:0]
	return n, nil
}
