package record

import (
	"errors"
	"fmt"
	"io"
	"io/fs"
	"math"
	"os"
	"slices"

	"boost-tui/internal/regular"
)

// Point is what a chart wants of a step. Wall is in seconds; unknown values are NaN.
type Point struct {
	Step       int64
	Wall, Loss float64
	NonFinite  bool // the loss or the gradient norm was no number
}

// Column is a stretch of steps of a chart. Wall is in seconds. Count 0: nothing is known of it;
// a value that no step had is NaN.
type Column struct {
	First, Last                   int64 // steps, both included
	Count                         int
	WallMin, WallMax, WallMean    float64
	LossMin, LossMax, LossMean    float64
	NonFinite                     int64 // first step whose loss or gradient norm was no number; Unknown: none
	NonFinites                    int   // how many such steps there are
	wallSum, lossSum              float64
	wallCount, lossCount, samples int
}

// Sampled reports whether the column rests on a sample of its steps, until Refine has come by.
func (c *Column) Sampled() bool { return c.samples > 0 }

// Series is step time and loss of a run over its steps, read little by little: Sample gives a
// picture of the whole within milliseconds, Refine completes it in chunks and then follows what is
// appended. It reads rollup.bin (wall = slowest rank), else the step lines of the lowest rank. Memory
// is bounded whatever the length. Used by one goroutine.
type Series struct {
	path   string
	fixed  bool // records of rollup.bin
	off    int64
	info   fs.FileInfo
	bins   []bin
	width  int64 // steps per bin
	base   int64 // first step
	last   int64 // last step read in full
	sample []Point
	buf    []byte
	line   StepLine
	rec    RollupStep
	bad    int
	passed int64 // bytes that were no record
}

// bin is a stretch of width steps and where in the file it starts.
type bin struct {
	off int64
	col Column
}

const (
	seriesBins   = 8192
	seriesChunk  = 256 << 10
	rollupBehind = 64 // steps that a rollup may lag the step lines and still be used
)

// OpenSeries finds what a run's series is read from. A run that has nothing yet gives an empty
// series; Refine looks again.
func OpenSeries(dir string) (*Series, error) {
	s := &Series{width: 1}
	if r, err := LastRollup(dir, 1); err != nil {
		return nil, err
	} else if len(r) == 1 {
		behind, err := stepsBeyond(dir, r[0].Step)
		if err != nil {
			return nil, err
		}
		if behind <= rollupBehind {
			s.path, s.fixed, s.off = RollupPath(dir), true, rollupHeader
			return s, nil
		}
	}
	ranks, err := StepRanks(dir)
	if err != nil {
		return nil, err
	}
	rank := 0
	if len(ranks) > 0 {
		rank = ranks[0]
	}
	s.path = StepsPath(dir, rank)
	return s, nil
}

// stepsBeyond is how far the lowest rank's step lines reach beyond a step.
func stepsBeyond(dir string, step int64) (int64, error) {
	ranks, err := StepRanks(dir)
	if err != nil || len(ranks) == 0 {
		return 0, err
	}
	lines, err := LastSteps(StepsPath(dir, ranks[0]), 1)
	if err != nil || len(lines) == 0 {
		return 0, err
	}
	return lines[0].Step - step, nil
}

// Range is the first and last step known so far; ok is false when there is none.
func (s *Series) Range() (first, last int64, ok bool) {
	if len(s.bins) == 0 && len(s.sample) == 0 {
		return 0, 0, false
	}
	first, last = s.base, s.last
	if n := len(s.sample); n > 0 {
		last = max(last, s.sample[n-1].Step)
		if len(s.bins) == 0 {
			first = s.sample[0].Step
		}
	}
	return first, last, true
}

// Skipped is how many records could not be read.
func (s *Series) Skipped() int { return s.bad }

// open opens the file; a missing one is nil. One that was replaced or cut is read anew.
func (s *Series) open() (*os.File, int64, error) {
	f, err := regular.Open(s.path)
	if errors.Is(err, fs.ErrNotExist) {
		return nil, 0, nil
	}
	if err != nil {
		return nil, 0, fmt.Errorf("open %s: %w", s.path, err)
	}
	info, err := f.Stat()
	if err != nil {
		return nil, 0, errors.Join(fmt.Errorf("look at %s: %w", s.path, err), f.Close())
	}
	if info.Size() < s.off && s.info != nil || s.info != nil && !os.SameFile(s.info, info) {
		*s = Series{path: s.path, fixed: s.fixed, width: 1, buf: s.buf}
		if s.fixed {
			s.off = rollupHeader
		}
	}
	s.info = info
	return f, info.Size(), nil
}

// Refine reads up to about budget bytes further. more reports that there was more.
func (s *Series) Refine(budget int) (more bool, err error) {
	f, size, err := s.open()
	if f == nil || err != nil {
		return false, err
	}
	defer f.Close()
	for budget > 0 && s.off < size {
		n, err := s.scan(f, s.off, size, func(off int64, p Point) { s.add(off, p) })
		if err != nil {
			return false, err
		}
		if n == 0 {
			break
		}
		s.off += n
		budget -= int(n)
	}
	more = s.off < size && budget <= 0
	i, _ := slices.BinarySearchFunc(s.sample, s.last+1, func(p Point, step int64) int { return int(p.Step - step) })
	s.sample = s.sample[i:]
	if !more {
		s.sample, s.buf = nil, nil
	}
	return more, nil
}

// add puts a point into its bin; bins double in width when they become too many.
func (s *Series) add(off int64, p Point) {
	if len(s.bins) == 0 {
		s.base, s.last = p.Step, p.Step
	}
	if p.Step < s.base {
		return
	}
	for (p.Step-s.base)/s.width >= seriesBins {
		s.double()
	}
	i := int((p.Step - s.base) / s.width)
	for len(s.bins) <= i {
		s.bins = append(s.bins, bin{off: off, col: emptyColumn()})
	}
	s.bins[i].col.add(p, false)
	s.last = max(s.last, p.Step)
}

func (s *Series) double() {
	for i := 0; i < len(s.bins); i += 2 {
		b := s.bins[i]
		if i+1 < len(s.bins) {
			b.col.merge(&s.bins[i+1].col)
		}
		s.bins[i/2] = b
	}
	s.bins = s.bins[:(len(s.bins)+1)/2]
	s.width *= 2
}

// Sample reads about n records, evenly spaced over what Refine has not read yet.
func (s *Series) Sample(n int) error {
	f, size, err := s.open()
	if f == nil || err != nil {
		return err
	}
	defer f.Close()
	defer func(bad int, passed int64) { s.bad, s.passed = bad, passed }(s.bad, s.passed) // Refine counts
	s.sample = s.sample[:0]
	span := size - s.off
	n = min(n, int(span/rollupRecord))
	last := int64(math.MinInt64)
	for i := range n {
		// The last probe is close enough to the end to find the last whole record.
		at := s.off + span*int64(i)/int64(max(n, 1))
		if i == n-1 && i > 0 {
			at = max(s.off, size-2048)
		}
		p, ok, err := s.probe(f, at, size, i == n-1)
		if err != nil {
			return err
		}
		if ok && p.Step > last {
			s.sample = append(s.sample, p)
			last = p.Step
		}
	}
	return nil
}

// probe reads the first whole record from at on; atEnd: the last one that there is.
func (s *Series) probe(f *os.File, at, size int64, atEnd bool) (Point, bool, error) {
	const window = 2048
	var found Point
	ok := false
	if s.fixed {
		at = rollupHeader + (at-rollupHeader+rollupRecord-1)/rollupRecord*rollupRecord
	} else if at > s.off {
		at-- // so that a line that starts exactly there counts
	}
	if s.buf == nil {
		s.buf = make([]byte, seriesChunk)
	}
	n, err := f.ReadAt(s.buf[:min(window+1, size-at)], at)
	if err != nil && !errors.Is(err, io.EOF) {
		return found, false, fmt.Errorf("read %s: %w", s.path, err)
	}
	data := s.buf[:n]
	if !s.fixed && at > s.off {
		data = data[afterNewline(data):]
	}
	s.split(data, 0, func(_ int64, p Point) bool {
		found, ok = p, true
		return atEnd
	})
	return found, ok, nil
}
