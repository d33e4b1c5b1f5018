package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"io"
	"math"

	"boost-tui/internal/regular"
	"boost-tui/kernels"
)

// Timeline reads a rank's sampled steps in the order in which they were written.
type Timeline struct {
	Rank        int
	ClockOffset int64 // nanoseconds to add to reach rank 0's clock
	f           io.ReaderAt
	c           io.Closer
	path        string
	off         int64
	names       []spanName
	defined     map[spanName]bool
	buf         []byte
}

// OpenTimeline opens a timeline for reading.
func OpenTimeline(path string) (*Timeline, error) {
	f, err := regular.Open(path)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, err)
	}
	t, err := newTimeline(f, path)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, err), f.Close())
	}
	t.c = f
	return t, nil
}

func newTimeline(f io.ReaderAt, path string) (*Timeline, error) {
	b := make([]byte, btlHeader)
	if _, err := f.ReadAt(b, 0); err != nil {
		return nil, fmt.Errorf("not a timeline: its header cannot be read: %w", err)
	}
	if string(b[:8]) != btlMagic {
		return nil, errors.New("not a timeline")
	}
	le := binary.LittleEndian
	if v := le.Uint32(b[8:]); v > Schema {
		return nil, fmt.Errorf("timeline of version %d: %w", v, ErrNewerSchema)
	}
	return &Timeline{Rank: int(le.Uint32(b[12:])), ClockOffset: int64(le.Uint64(b[16:])), f: f, path: path,
		off: btlHeader, defined: map[spanName]bool{}}, nil
}

// Close closes the file.
func (t *Timeline) Close() error { return t.c.Close() }

// Block is one step's spans.
type Block struct {
	Step  int
	Spans []Span
}

// Next is the next step. io.EOF is the end: so is a last block that a crash tore, or one that is
// still being written; Next may be called again when the file has grown.
func (t *Timeline) Next() (Block, error) {
	for {
		b, err := t.block()
		if err != nil {
			return Block{}, err
		}
		if b.Step >= 0 {
			return b, nil
		}
	}
}

// block reads one block; that of a name table has step −1.
func (t *Timeline) block() (Block, error) {
	var head [btlBlock]byte
	if _, err := t.f.ReadAt(head[:], t.off); err != nil {
		return Block{}, t.end(err)
	}
	length := binary.LittleEndian.Uint32(head[0:])
	if length > btlMaxBlock {
		return Block{}, io.EOF
	}
	n := btlBlock + int(length)
	if cap(t.buf) < n {
		t.buf = make([]byte, n)
	}
	data := t.buf[:n]
	if _, err := t.f.ReadAt(data, t.off); err != nil {
		return Block{}, t.end(err)
	}
	if blockCRC(data) != binary.LittleEndian.Uint32(data[20:]) {
		return Block{}, io.EOF
	}
	step, count := binary.LittleEndian.Uint32(data[4:]), binary.LittleEndian.Uint32(data[16:])
	b := Block{Step: -1}
	var err error
	if step == namesStep {
		err = t.readNames(data[btlBlock:], count)
	} else {
		b.Step = int(step)
		b.Spans, err = t.readSpans(data[btlBlock:], count, int64(binary.LittleEndian.Uint64(data[8:])))
	}
	if err != nil {
		return Block{}, fmt.Errorf("%s, block at byte %d: %w", t.path, t.off, err)
	}
	t.off += int64(n)
	return b, nil
}

func (t *Timeline) end(err error) error {
	if errors.Is(err, io.EOF) || errors.Is(err, io.ErrUnexpectedEOF) {
		return io.EOF
	}
	return fmt.Errorf("read %s at byte %d: %w", t.path, t.off, err)
}

func (t *Timeline) readNames(data []byte, count uint32) error {
	d := decoder{b: data}
	for range count {
		var n spanName
		for _, p := range [...]*string{&n.op, &n.chunk, &n.label, &n.group} {
			*p = d.text()
		}
		if d.bad {
			return errors.New("malformed name table")
		}
		// The table that Close adds repeats what is known.
		if !t.defined[n] {
			t.defined[n] = true
			t.names = append(t.names, n)
		}
	}
	return nil
}

// minSpan is the fewest bytes that a span takes: it bounds what a damaged count can ask for.
const minSpan = 8

func (t *Timeline) readSpans(data []byte, count uint32, base int64) ([]Span, error) {
	if int64(count)*minSpan > int64(len(data)) {
		return nil, fmt.Errorf("%d spans in %d bytes", count, len(data))
	}
	d := decoder{b: data}
	spans := make([]Span, count)
	at := base
	for i := range spans {
		s := &spans[i]
		at += d.signed()
		s.StartNanos, s.DurNanos = at, d.count()
		name := d.count()
		s.Label.Layer = int(d.count()) - 1
		kind := d.byte()
		s.Class, s.Label.Phase = kernels.Class(kind&3), kernels.Phase(kind>>2)
		s.Label.Micro, s.Stream = int(d.count()), kernels.Stream(d.count())
		s.WaitNanos = Unknown
		switch s.Class {
		case kernels.Communication:
			s.Bytes, s.Seq, s.WaitNanos = d.count(), int(d.count()), d.count()-1
		case kernels.Memory:
			s.Bytes = d.count()
		default:
			s.FLOPs = d.count()
		}
		if d.bad || name >= int64(len(t.names)) {
			return nil, fmt.Errorf("span %d is malformed", i)
		}
		n := t.names[name]
		s.Op, s.Label.Chunk, s.Label.Op, s.Group = n.op, n.chunk, n.label, n.group
	}
	return spans, nil
}

// decoder reads varints; after the first failure everything is zero.
type decoder struct {
	b   []byte
	bad bool
}

func (d *decoder) take(n int) {
	if n <= 0 || n > len(d.b) {
		d.b, d.bad = nil, true
		return
	}
	d.b = d.b[n:]
}

func (d *decoder) signed() int64 {
	v, n := binary.Varint(d.b)
	d.take(n)
	return v
}

// count is a non-negative number.
func (d *decoder) count() int64 {
	v, n := binary.Uvarint(d.b)
	d.take(n)
	if v > math.MaxInt64 {
		d.bad = true
		return 0
	}
	return int64(v)
}

func (d *decoder) byte() byte {
	if len(d.b) == 0 {
		d.bad = true
		return 0
	}
	c := d.b[0]
	d.b = d.b[1:]
	return c
}

func (d *decoder) text() string {
	n := d.count()
	if d.bad || n > int64(len(d.b)) {
		d.bad = true
		return ""
	}
	s := string(d.b[:n])
	d.b = d.b[n:]
	return s
}

// TimelineSteps is a whole timeline.
type TimelineSteps struct {
	Rank        int
	ClockOffset int64
	Steps       []Block
}

// ReadTimeline reads a whole timeline.
func ReadTimeline(path string) (TimelineSteps, error) {
	t, err := OpenTimeline(path)
	if err != nil {
		return TimelineSteps{}, err
	}
	defer t.Close()
	out := TimelineSteps{Rank: t.Rank, ClockOffset: t.ClockOffset}
	for {
		b, err := t.Next()
		if errors.Is(err, io.EOF) {
			return out, nil
		}
		if err != nil {
			return out, err
		}
		out.Steps = append(out.Steps, b)
	}
}
