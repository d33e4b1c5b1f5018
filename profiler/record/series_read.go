package record

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"math"
	"os"
)

func emptyColumn() Column {
	nan := math.NaN()
	return Column{WallMin: nan, WallMax: nan, WallMean: nan, LossMin: nan, LossMax: nan, LossMean: nan, NonFinite: Unknown}
}

func (c *Column) add(p Point, sampled bool) {
	if c.Count == 0 {
		c.First = p.Step
	}
	c.First, c.Last = min(c.First, p.Step), max(c.Last, p.Step)
	c.Count++
	if sampled {
		c.samples++
	}
	if p.NonFinite {
		c.NonFinites++
	}
	if p.NonFinite && (c.NonFinite < 0 || p.Step < c.NonFinite) {
		c.NonFinite = p.Step
	}
	if !math.IsNaN(p.Wall) {
		c.WallMin, c.WallMax = least(c.WallMin, p.Wall), most(c.WallMax, p.Wall)
		c.wallSum += p.Wall
		c.wallCount++
	}
	if !math.IsNaN(p.Loss) {
		c.LossMin, c.LossMax = least(c.LossMin, p.Loss), most(c.LossMax, p.Loss)
		c.lossSum += p.Loss
		c.lossCount++
	}
}

func (c *Column) merge(o *Column) {
	if o.Count == 0 {
		return
	}
	if c.Count == 0 {
		*c = *o
		return
	}
	if o.NonFinite >= 0 && (c.NonFinite < 0 || o.NonFinite < c.NonFinite) {
		c.NonFinite = o.NonFinite
	}
	c.First, c.Last = min(c.First, o.First), max(c.Last, o.Last)
	c.Count, c.samples, c.NonFinites = c.Count+o.Count, c.samples+o.samples, c.NonFinites+o.NonFinites
	c.WallMin, c.WallMax = least(c.WallMin, o.WallMin), most(c.WallMax, o.WallMax)
	c.LossMin, c.LossMax = least(c.LossMin, o.LossMin), most(c.LossMax, o.LossMax)
	c.wallSum, c.lossSum = c.wallSum+o.wallSum, c.lossSum+o.lossSum
	c.wallCount, c.lossCount = c.wallCount+o.wallCount, c.lossCount+o.lossCount
}

func (c *Column) finish() {
	c.WallMean, c.LossMean = c.wallSum/float64(c.wallCount), c.lossSum/float64(c.lossCount)
}

// least and most pass over NaN.
func least(a, b float64) float64 {
	if math.IsNaN(a) || b < a {
		return b
	}
	return a
}

func most(a, b float64) float64 {
	if math.IsNaN(a) || b > a {
		return b
	}
	return a
}

// Columns divides the steps [from, to] into n columns, from what was read so far. A column can be
// no finer than Resolution; Zoom is.
func (s *Series) Columns(from, to int64, n int) []Column {
	out := columnsFor(from, to, n)
	if len(out) == 0 {
		return nil
	}
	for i := range s.bins {
		if c := &s.bins[i].col; c.Count > 0 && c.Last >= from && c.First <= to {
			out[columnAt(from, to, n, c.First+(c.Last-c.First)/2)].merge(c)
		}
	}
	for _, p := range s.sample {
		if p.Step > s.last && p.Step >= from && p.Step <= to || len(s.bins) == 0 && p.Step >= from && p.Step <= to {
			out[columnAt(from, to, n, p.Step)].add(p, true)
		}
	}
	for i := range out {
		out[i].finish()
	}
	return out
}

// Resolution is how many steps lie together in the coarsest answer of Columns.
func (s *Series) Resolution() int64 { return s.width }

// Zoom is Columns at full resolution: it reads the range's records again where the bins are
// coarser than the columns. The cost is that of a few bins per column.
func (s *Series) Zoom(from, to int64, n int) ([]Column, error) {
	perColumn := (float64(to) - float64(from) + 1) / float64(n)
	if n <= 0 || to < from || s.width == 1 || perColumn >= float64(4*s.width) || from > s.last {
		return s.Columns(from, to, n), nil
	}
	f, size, err := s.open()
	if f == nil || err != nil {
		return nil, err
	}
	defer f.Close()
	if len(s.bins) == 0 || to < s.base { // also when the file was replaced meanwhile
		return s.Columns(from, to, n), nil
	}
	// What cannot be read was counted when it was read first.
	defer func(bad int, passed int64) { s.bad, s.passed = bad, passed }(s.bad, s.passed)
	out := columnsFor(from, to, n)
	first := min((max(from, s.base)-s.base)/s.width, int64(len(s.bins)-1))
	end := size
	if next := (to-s.base)/s.width + 1; next < int64(len(s.bins)) {
		end = s.bins[next].off
	}
	for off := s.bins[first].off; off < end; {
		m, err := s.scan(f, off, end, func(_ int64, p Point) {
			if p.Step >= from && p.Step <= to {
				out[columnAt(from, to, n, p.Step)].add(p, false)
			}
		})
		if err != nil {
			return nil, err
		}
		if m == 0 {
			break
		}
		off += m
	}
	for i := range out {
		out[i].finish()
	}
	return out, nil
}

func columnsFor(from, to int64, n int) []Column {
	if n <= 0 || to < from {
		return nil
	}
	out := make([]Column, n)
	for i := range out {
		out[i] = emptyColumn()
	}
	return out
}

func columnAt(from, to int64, n int, step int64) int {
	x := (float64(min(max(step, from), to)) - float64(from)) / (float64(to) - float64(from) + 1)
	return min(int(x*float64(n)), n-1)
}

// scan reads a chunk of whole records at off. It returns the bytes used; 0: no whole record is there.
func (s *Series) scan(f *os.File, off, size int64, each func(off int64, p Point)) (int64, error) {
	if s.passed > maxPassed {
		if s.fixed {
			return 0, noSteps(s.path)
		}
		return 0, noLines(s.path)
	}
	want := int64(seriesChunk)
	for {
		if int64(len(s.buf)) < want {
			s.buf = make([]byte, want)
		}
		n, err := f.ReadAt(s.buf[:min(want, size-off)], off)
		if err != nil && !errors.Is(err, io.EOF) {
			return 0, fmt.Errorf("read %s at byte %d: %w", s.path, off, err)
		}
		used := s.split(s.buf[:n], off, func(o int64, p Point) bool {
			each(o, p)
			return true
		})
		switch {
		case used > 0:
			return used, nil
		case int64(n) < want:
			return 0, nil
		case want >= maxLine: // no record of ours: pass over it
			s.bad++
			s.passed += int64(n)
			return int64(n), nil
		}
		want *= 2
	}
}

// split takes whole records off data until yield says stop, and returns the bytes used.
func (s *Series) split(data []byte, off int64, yield func(int64, Point) bool) int64 {
	var used int64
	for {
		rest := data[used:]
		size, p, ok := s.record(rest)
		if size == 0 {
			return used
		}
		at := off + used
		used += size
		if ok && !yield(at, p) {
			return used
		}
	}
}

// record reads the record at the head of data and returns its size; 0: it is not whole.
func (s *Series) record(data []byte) (int64, Point, bool) {
	if s.fixed {
		if len(data) < rollupRecord {
			return 0, Point{}, false
		}
		if s.rec.get(data); s.rec.Ranks == 0 {
			s.passed += rollupRecord
		}
		return rollupRecord, Point{s.rec.Step, seconds(s.rec.WallMaxNanos), s.rec.Loss, s.rec.Flags&NonFinite != 0}, true
	}
	i := bytes.IndexByte(data, '\n')
	if i < 0 {
		return 0, Point{}, false
	}
	if i == 0 {
		return 1, Point{}, false
	}
	if err := s.line.Decode(data[:i]); err != nil {
		s.bad++
		s.passed += passedIn(data[:i])
		return int64(i + 1), Point{}, false
	}
	return int64(i + 1), Point{s.line.Step, seconds(s.line.WallNanos), s.line.Loss, s.line.Flags&NonFinite != 0}, true
}

func seconds(nanos int64) float64 {
	if nanos < 0 {
		return math.NaN()
	}
	return float64(nanos) / 1e9
}

// afterNewline is the index after the first newline, or the end.
func afterNewline(b []byte) int {
	if i := bytes.IndexByte(b, '\n'); i >= 0 {
		return i + 1
	}
	return len(b)
}
