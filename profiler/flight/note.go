package flight

import (
	"encoding/binary"
	"fmt"
	"os"
	"strings"

	"boost-tui/kernels"
)

// State is how far the operation of a note has come.
type State uint8

// States.
const (
	Nothing State = iota // no operation was noted yet
	Running              // the rank is inside it
	Waiting              // it runs on another stream and the rank can do nothing until it is done
	Done                 // it came back and nothing was noted since
	Ahead                // its device has not come to it: the rank waits for what was issued before
)

const (
	stateBits = 3
	stateMask = 1<<stateBits - 1
)

// Note is what a rank was doing last.
type Note struct {
	PID   int
	Step  int // from 1; 0 before the first step
	State State
	Seq   uint64 // of the notes of its kind; another one is another operation, even under the same label
	// Issued counts the operations of the compute stream that the rank has begun to issue.
	Issued uint64
	Label  kernels.Label // text longer than the slot is cut
}

// String is "forward.l3.attn.in/qkv (micro-batch 1), waiting"; empty when nothing was noted.
func (n Note) String() string {
	if n.State == Nothing {
		return ""
	}
	s := n.Label.String()
	if n.Label.Micro > 0 {
		s += fmt.Sprintf(" (micro-batch %d)", n.Label.Micro)
	}
	switch n.State {
	case Waiting:
		s += ", waiting for the other ranks"
	case Ahead:
		s = "before " + s + ", to which its device has not come"
	case Done:
		s = "after " + s
	}
	return s
}

// Writer notes what one rank does. It is used by one goroutine at a time.
type Writer struct {
	s *slot
}

// Writer claims the slot of a local rank for this process.
func (b *Board) Writer(rank int) (*Writer, error) {
	s, err := b.slot(rank)
	if err != nil {
		return nil, err
	}
	s.step.Store(0)
	s.op.published.Store(0)
	s.group.published.Store(0)
	s.pid.Store(int64(os.Getpid()))
	s.magic.Store(magic)
	return &Writer{s: s}, nil
}

// SetStep notes the step that begins. 0: outside the loop.
func (w *Writer) SetStep(step int) { w.s.step.Store(int64(step)) }

// Set notes the step and the operation that the rank is about to run on the compute stream.
func (w *Writer) Set(step int, l kernels.Label) {
	if w.s.step.Load() != int64(step) {
		w.s.step.Store(int64(step))
	}
	w.s.op.set(&l, Running)
}

// Done notes that the operation of the compute stream came back.
func (w *Writer) Done() { w.s.op.mark(Done) }

// Wait notes that the rank can do nothing until this operation of another stream is done: a
// collective whose peers may be missing.
func (w *Writer) Wait(l kernels.Label) { w.s.group.set(&l, Waiting) }

// Under notes what the rank's device has come to while the rank waits for it.
func (w *Writer) Under(m kernels.UnderWay) {
	switch m.State {
	case kernels.MessageBegun:
		w.s.group.set(&m.Label, Waiting)
	case kernels.MessageAhead:
		w.s.group.set(&m.Label, Ahead)
	default:
		w.Arrived()
	}
}

// Arrived notes that it is done.
func (w *Writer) Arrived() { w.s.group.mark(Done) }

func (t *track) set(l *kernels.Label, st State) {
	seq := t.published.Load()>>stateBits + 1
	n := &t.copies[seq&1]
	var text [textBytes]byte
	a := copy(text[:], l.Chunk)
	b := copy(text[a:], l.Op)
	n.meta.Store(uint64(l.Phase) | uint64(uint16(int16(l.Layer)))<<8 | uint64(uint16(l.Micro))<<24 | uint64(a)<<40 | uint64(b)<<48)
	for i := range (a + b + 7) / 8 {
		n.text[i].Store(binary.LittleEndian.Uint64(text[i*8:]))
	}
	t.published.Store(seq<<stateBits | uint64(st))
}

func (t *track) mark(st State) {
	v := t.published.Load()
	if v&stateMask != uint64(Nothing) {
		t.published.Store(v&^stateMask | uint64(st))
	}
}

// readTries bounds the reader's wait for a writer that never rests.
const readTries = 1000

// get reads the published note: never half of one and half of another.
func (t *track) get() (kernels.Label, State, uint64) {
	for range readTries {
		v := t.published.Load()
		st := State(v & stateMask)
		if st == Nothing {
			return kernels.Label{}, Nothing, 0
		}
		l := t.copies[v>>stateBits&1].label()
		if t.published.Load()>>stateBits == v>>stateBits {
			return l, st, v >> stateBits
		}
	}
	return kernels.Label{}, Nothing, 0
}

// label decodes a note. What a rank wrote is data: lengths are bounded and the text is made printable.
func (n *note) label() kernels.Label {
	meta := n.meta.Load()
	var text [textBytes]byte
	for i := range n.text {
		binary.LittleEndian.PutUint64(text[i*8:], n.text[i].Load())
	}
	a := min(int(meta>>40&0xff), textBytes)
	b := min(int(meta>>48&0xff), textBytes-a)
	return kernels.Label{
		Phase: kernels.Phase(meta), Layer: int(int16(meta >> 8)), Micro: int(uint16(meta >> 24)),
		Chunk: printable(text[:a]), Op: printable(text[a : a+b]),
	}
}

func printable(b []byte) string {
	return strings.Map(func(r rune) rune {
		if r < ' ' || r > '~' {
			return '?'
		}
		return r
	}, string(b))
}

// Read is what a rank was doing: the collective it waits for, else its latest operation of the
// compute stream.
func (b *Board) Read(rank int) (Note, error) {
	s, err := b.slot(rank)
	if err != nil {
		return Note{}, err
	}
	if s.magic.Load() != magic {
		return Note{}, nil
	}
	n := Note{PID: int(s.pid.Load()), Step: max(0, int(s.step.Load()))}
	n.Label, n.State, n.Seq = s.op.get()
	n.Issued = n.Seq
	if l, st, seq := s.group.get(); st == Waiting || st == Ahead {
		n.Label, n.State, n.Seq = l, st, seq
	}
	return n, nil
}
