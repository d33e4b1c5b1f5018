package record

import (
	"encoding/binary"
	"errors"
	"fmt"
	"hash/crc32"
	"math"
	"os"

	"boost-tui/internal/regular"
	"boost-tui/kernels"
)

// A timeline is a header of btlHeader bytes and blocks, little-endian:
//
//	header  magic "BTLINE\x00\x00", u32 version, u32 rank, i64 clock offset, u64 offset of the name table (0: none), zeros
//	block   u32 length of the records, u32 step, u64 base time (Unix ns), u32 count, u32 crc32c of all that and the records
//
// A block of step namesStep holds names instead of spans: the new ones that the next blocks use, so
// that a crash loses none; Close adds all of them once more and points the header there.
const (
	btlMagic  = "BTLINE\x00\x00"
	btlHeader = 64
	btlBlock  = 24
	namesStep = math.MaxUint32
	// btlMaxBlock bounds the memory that a damaged length can ask for.
	btlMaxBlock = 64 << 20
)

var castagnoli = crc32.MakeTable(crc32.Castagnoli)

// spanName is what spans have in common.
type spanName struct{ op, chunk, label, group string }

// TimelineWriter appends sampled steps to a timeline. Used by one goroutine.
type TimelineWriter struct {
	path  string
	f     *os.File
	off   int64
	names map[spanName]int
	list  []spanName
	fresh int // names of list that are in the file already
	buf   []byte
}

// OpenTimelineWriter begins a rank's timeline, or continues one after its last whole block.
// clockOffset is what must be added to its times to get the times of rank 0, in nanoseconds.
func OpenTimelineWriter(path string, rank int, clockOffset int64) (*TimelineWriter, error) {
	if err := makeFolder(path); err != nil {
		return nil, err
	}
	f, err := regular.OpenFile(path, os.O_RDWR|os.O_CREATE, 0o600)
	if err != nil {
		return nil, fmt.Errorf("open %s: %w", path, Explain(err))
	}
	w := &TimelineWriter{path: path, f: f, names: map[spanName]int{}}
	if err := w.resume(rank, clockOffset); err != nil {
		return nil, errors.Join(fmt.Errorf("%s: %w", path, Explain(err)), f.Close())
	}
	return w, nil
}

func (w *TimelineWriter) resume(rank int, clockOffset int64) error {
	info, err := w.f.Stat()
	if err != nil {
		return err
	}
	if info.Size() >= btlHeader {
		r, err := newTimeline(w.f, w.path)
		if err != nil {
			return err
		}
		for {
			if _, err := r.block(); err != nil {
				break // the end, or what a crash tore
			}
		}
		w.off, w.list = r.off, r.names
		for i, n := range w.list {
			w.names[n] = i
		}
		w.fresh = len(w.list)
		return w.f.Truncate(w.off)
	}
	b := make([]byte, btlHeader)
	copy(b, btlMagic)
	binary.LittleEndian.PutUint32(b[8:], Schema)
	binary.LittleEndian.PutUint32(b[12:], uint32(rank))
	binary.LittleEndian.PutUint64(b[16:], uint64(clockOffset))
	w.off = btlHeader
	_, err = w.f.WriteAt(b, 0)
	return err
}

// Write appends the spans of a step, with one write.
func (w *TimelineWriter) Write(step int, spans []Span) error {
	if len(spans) == 0 {
		return nil
	}
	base := spans[0].StartNanos
	for i := range spans {
		base = min(base, spans[i].StartNanos)
		w.name(&spans[i])
	}
	w.buf = w.buf[:0]
	if w.fresh < len(w.list) {
		w.buf = appendNames(w.buf, w.list[w.fresh:])
	}
	at := len(w.buf)
	w.buf = append(w.buf, make([]byte, btlBlock)...)
	prev := base
	for i := range spans {
		s := &spans[i]
		w.buf = appendSpan(w.buf, s, w.names[nameOf(s)], s.StartNanos-prev)
		prev = s.StartNanos
	}
	seal(w.buf[at:], uint32(step), base, len(spans))
	if err := w.flush(); err != nil {
		return err
	}
	w.fresh = len(w.list)
	return nil
}

func (w *TimelineWriter) flush() error {
	n, err := w.f.WriteAt(w.buf, w.off)
	if err != nil {
		return fmt.Errorf("append to %s (%d of %d bytes written): %w", w.path, n, len(w.buf), Explain(err))
	}
	w.off += int64(len(w.buf))
	return nil
}

func nameOf(s *Span) spanName { return spanName{s.Op, s.Label.Chunk, s.Label.Op, s.Group} }

func (w *TimelineWriter) name(s *Span) {
	n := nameOf(s)
	if _, ok := w.names[n]; !ok {
		w.names[n] = len(w.list)
		w.list = append(w.list, n)
	}
}

// Close writes the table of all names, points the header at it, and closes the file.
func (w *TimelineWriter) Close() error {
	at := w.off
	w.buf = appendNames(w.buf[:0], w.list)
	err := w.flush()
	if err == nil {
		_, err = w.f.WriteAt(binary.LittleEndian.AppendUint64(nil, uint64(at)), 24)
	}
	if cerr := w.f.Close(); cerr != nil {
		err = errors.Join(err, fmt.Errorf("close %s: %w", w.path, Explain(cerr)))
	}
	return err
}

// seal fills in the head of a block that its records follow.
func seal(b []byte, step uint32, base int64, count int) {
	le := binary.LittleEndian
	le.PutUint32(b[0:], uint32(len(b)-btlBlock))
	le.PutUint32(b[4:], step)
	le.PutUint64(b[8:], uint64(base))
	le.PutUint32(b[16:], uint32(count))
	le.PutUint32(b[20:], blockCRC(b))
}

// blockCRC covers the head but for the sum itself, and the records.
func blockCRC(b []byte) uint32 {
	return crc32.Update(crc32.Checksum(b[:20], castagnoli), castagnoli, b[btlBlock:])
}

func appendNames(b []byte, names []spanName) []byte {
	at := len(b)
	b = append(b, make([]byte, btlBlock)...)
	for _, n := range names {
		for _, s := range [...]string{n.op, n.chunk, n.label, n.group} {
			b = binary.AppendUvarint(b, uint64(len(s)))
			b = append(b, s...)
		}
	}
	seal(b[at:], namesStep, 0, len(names))
	return b
}

// appendSpan: Δstart, duration, name, layer + 1, kind (class, phase), micro-batch, stream; then bytes,
// number and wait + 1 of a collective, bytes of a copy, FLOPs of compute.
func appendSpan(b []byte, s *Span, name int, delta int64) []byte {
	b = binary.AppendVarint(b, delta)
	b = binary.AppendUvarint(b, uint64(s.DurNanos))
	b = binary.AppendUvarint(b, uint64(name))
	b = binary.AppendUvarint(b, uint64(s.Label.Layer+1))
	b = append(b, byte(s.Class)|byte(s.Label.Phase)<<2)
	b = binary.AppendUvarint(b, uint64(s.Label.Micro))
	b = binary.AppendUvarint(b, uint64(s.Stream))
	switch s.Class {
	case kernels.Communication:
		b = binary.AppendUvarint(b, uint64(s.Bytes))
		b = binary.AppendUvarint(b, uint64(s.Seq))
		b = binary.AppendUvarint(b, uint64(s.WaitNanos+1))
	case kernels.Memory:
		b = binary.AppendUvarint(b, uint64(s.Bytes))
	default:
		b = binary.AppendUvarint(b, uint64(s.FLOPs))
	}
	return b
}
