package kernels

import "fmt"

// Message is an operation that ranks of a communicator do together: a Collective, a Send, a Recv.
type Message interface {
	Op
	// Group is the communicator.
	Group() Comm
	// Flow names what the message is counted in order of, the same on every rank that takes part: the communicator's
	// name, and for a transfer also its two ends.
	Flow() string
	// Payload is the bytes that count as communicated by this rank. Those of a transfer count at its sender.
	Payload() int64
	// WireBytes is what this rank sends when the group is a ring.
	WireBytes() int64
	// RingSteps is how many messages follow one another, each waiting for the one before, when the group is a ring.
	RingSteps() int
	// Moved is the bytes that the message is about on this rank, whoever counts them.
	Moved() int64
}

// MaxViews is how many views a transfer holds, and how many parts a collective.
const MaxViews = 32

// Send hands views to a peer of a communicator. It is over when the memory may be written again, which may be
// before the peer has taken it. Sends to one peer, and receives from one, pair up in the order in which they were
// issued: issue those of one direction on one stream. Which streams they are on does not matter otherwise, and a
// rank may wait in several transfers at once, each on a stream of its own.
type Send struct {
	Comm  Comm
	Peer  int    // rank in the communicator
	Views []View // contiguous F32 or BF16 in symmetric memory; they travel together
}

// Recv takes what a peer sends: as many elements in every view as the peer's Send has there, of the same type.
type Recv struct {
	Comm  Comm
	Peer  int
	Views []View // contiguous F32 or BF16
}

// Name implements Op.
func (s *Send) Name() string { return "send" }

// RecvName is Recv's name: what it moves was counted at the sender.
const RecvName = "recv"

// Name implements Op.
func (r *Recv) Name() string { return RecvName }

// Class implements Op.
func (s *Send) Class() Class { return Communication }

// Class implements Op.
func (r *Recv) Class() Class { return Communication }

// FLOPs implements Op.
func (s *Send) FLOPs() int64 { return 0 }

// FLOPs implements Op.
func (r *Recv) FLOPs() int64 { return 0 }

// Operands implements Op.
func (s *Send) Operands(yield func(Operand)) {
	for _, v := range s.Views {
		operands(yield, Operand{"Views", v, Read})
	}
}

// Operands implements Op.
func (r *Recv) Operands(yield func(Operand)) {
	for _, v := range r.Views {
		operands(yield, Operand{"Views", v, Write})
	}
}

// Check implements Op.
func (s *Send) Check() error {
	if err := checkTransfer(s.Comm, s.Peer, s.Views); err != nil {
		return err
	}
	for _, v := range s.Views {
		if !v.Buf.Symmetric {
			return fmt.Errorf("view %s is not in symmetric memory", v)
		}
	}
	return nil
}

// Check implements Op.
func (r *Recv) Check() error { return checkTransfer(r.Comm, r.Peer, r.Views) }

func checkTransfer(c Comm, peer int, views []View) error {
	switch {
	case c == nil:
		return fmt.Errorf("no communicator")
	case peer < 0 || peer >= c.Size():
		return fmt.Errorf("peer %d of %d", peer, c.Size())
	case peer == c.Rank():
		return fmt.Errorf("the peer is rank %d itself", peer)
	case len(views) == 0 || len(views) > MaxViews:
		return fmt.Errorf("%d views; a transfer holds 1 to %d", len(views), MaxViews)
	}
	for _, v := range views {
		if v.IsZero() || !v.Contiguous() || !v.DType.Number() {
			return fmt.Errorf("view %s must be contiguous, of type fp32 or bf16", v)
		}
	}
	return nil
}

// Group implements Message.
func (s *Send) Group() Comm { return s.Comm }

// Group implements Message.
func (r *Recv) Group() Comm { return r.Comm }

// Flow implements Message.
func (s *Send) Flow() string { return flow(s.Comm, s.Comm.Rank(), s.Peer) }

// Flow implements Message.
func (r *Recv) Flow() string { return flow(r.Comm, r.Peer, r.Comm.Rank()) }

func flow(c Comm, from, to int) string { return fmt.Sprintf("%s %d>%d", c.Name(), from, to) }

// Payload implements Message.
func (s *Send) Payload() int64 { return s.Moved() }

// Payload implements Message.
func (r *Recv) Payload() int64 { return 0 }

// WireBytes implements Message.
func (s *Send) WireBytes() int64 { return s.Moved() }

// WireBytes implements Message.
func (r *Recv) WireBytes() int64 { return 0 }

// RingSteps implements Message.
func (s *Send) RingSteps() int { return 1 }

// RingSteps implements Message.
func (r *Recv) RingSteps() int { return 1 }

// Moved implements Message.
func (s *Send) Moved() int64 { return bytesOf(s.Views) }

// Moved implements Message.
func (r *Recv) Moved() int64 { return bytesOf(r.Views) }

func bytesOf(views []View) int64 {
	var n int64
	for _, v := range views {
		n += v.Bytes()
	}
	return n
}
