package record

import (
	"math"

	"boost-tui/kernels"
)

// Call is one operation as it was asked for.
type Call struct {
	Stream kernels.Stream
	Label  kernels.Label
	Op     string
	Class  kernels.Class
	FLOPs  int64
	// ReadBytes and WriteBytes are the sizes of the operands, each counted once per access: what has to move
	// at least when no operand is in a cache.
	ReadBytes, WriteBytes int64
	// M, N, K and Count are the dimensions of a matrix product; Count is 0 for other operations.
	M, N, K, Count int
	// Payload, WireBytes and the group are there for messages; Parts for collectives, Peer and Moved for transfers.
	Payload, WireBytes int64
	Parts              []Part
	GroupName          string
	GroupSize          int
	Peer               int   // rank in the group; -1: no transfer
	Moved              int64 // bytes that a transfer is about; its sender alone counts them as payload
	sent               int64 // elements that a send is about
	// Waits are indices of calls on other streams that must have ended before this one starts, beside the
	// calls before it on its own stream.
	Waits []int

	first, n int // its accesses
}

// Part is one collective of a group call.
type Part struct {
	Kind     kernels.CollectiveKind
	Reduce   kernels.Reduction
	Elements int64 // of the whole vector, as Payload counts
}

// kind of a log entry.
type kind uint8

const (
	called kind = iota
	recorded
	waited
)

// entry is a line of the log that Races replays.
type entry struct {
	kind   kind
	stream kernels.Stream
	event  kernels.Event
	call   int
}

// Do implements kernels.Device: it checks the operation and writes it down.
func (d *Device) Do(at kernels.Call, op kernels.Op) error {
	if int(at.Stream) >= len(d.streams) {
		return &kernels.Error{Backend: backend, Op: op.Name(), Label: at.Label, Msg: "the stream is not of this device", Err: kernels.ErrInvalid}
	}
	if err := kernels.Validate(op); err != nil {
		return &kernels.Error{Backend: backend, Op: op.Name(), Label: at.Label, Msg: err.Error(), Err: kernels.ErrInvalid}
	}
	c := Call{Stream: at.Stream, Label: at.Label, Op: op.Name(), Class: op.Class(), FLOPs: op.FLOPs(), Peer: -1, first: len(d.accesses)}
	if m, ok := op.(kernels.Message); ok {
		if err := m.Group().Status(); err != nil {
			return &kernels.Error{Backend: backend, Op: op.Name(), Label: at.Label, Msg: "group " + m.Group().Name(), Err: err}
		}
		c.Payload, c.WireBytes, c.Moved = m.Payload(), m.WireBytes(), m.Moved()
		c.GroupName, c.GroupSize = m.Group().Name(), m.Group().Size()
	}
	switch o := op.(type) {
	case *kernels.Collective:
		c.collective(o)
	case *kernels.Send:
		c.Peer = o.Peer
		for _, v := range o.Views {
			c.sent += v.Len()
		}
	case *kernels.Recv:
		c.Peer = o.Peer
	case *kernels.Gemm:
		c.M, c.N, c.K = o.Dims()
		c.Count = o.Count()
	}
	kernels.EachOperand(op, func(o kernels.Operand) {
		if o.Access&kernels.Read != 0 {
			c.ReadBytes += o.View.Bytes()
		}
		if o.Access&kernels.Write != 0 {
			c.WriteBytes += o.View.Bytes()
		}
		d.accesses = append(d.accesses, access{o.View, o.Access&kernels.Write != 0})
	})
	c.n = len(d.accesses) - c.first
	st := &d.streams[at.Stream]
	c.Waits, st.waits = st.waits, nil
	st.last = len(d.calls)
	d.log = append(d.log, entry{kind: called, stream: at.Stream, call: st.last})
	d.calls = append(d.calls, c)
	return nil
}

func (c *Call) collective(o *kernels.Collective) {
	c.Parts = make([]Part, len(o.Parts))
	for i, p := range o.Parts {
		c.Parts[i] = Part{p.Kind, p.Reduce, p.Payload() / p.Send.DType.Bytes()}
	}
}

// Elements is the number that Payload counts: the sum over the parts of a collective or the views of a send.
func (c *Call) Elements() int64 {
	n := c.sent
	for _, p := range c.Parts {
		n += p.Elements
	}
	return n
}

// Calls is everything recorded since New or Reset, in the order of issue. The slice must not be changed.
func (d *Device) Calls() []Call { return d.calls }

// Reset forgets the calls, not the memory.
func (d *Device) Reset() {
	d.log, d.calls, d.accesses = nil, nil, nil
	for i := range d.streams {
		d.streams[i].last, d.streams[i].waits = -1, nil
	}
	clear(d.events)
}

// Totals adds up calls.
type Totals struct {
	Calls, Collectives    int64
	FLOPs                 int64
	ReadBytes, WriteBytes int64
	Payload, WireBytes    int64
}

// Sum is the totals of the calls that keep accepts (nil: all). Sums stop at the largest int64.
func (d *Device) Sum(keep func(*Call) bool) Totals {
	var t Totals
	for i := range d.calls {
		c := &d.calls[i]
		if keep != nil && !keep(c) {
			continue
		}
		t.Calls++
		if c.Class == kernels.Communication {
			t.Collectives++
		}
		add(&t.FLOPs, c.FLOPs)
		add(&t.ReadBytes, c.ReadBytes)
		add(&t.WriteBytes, c.WriteBytes)
		add(&t.Payload, c.Payload)
		add(&t.WireBytes, c.WireBytes)
	}
	return t
}

func add(sum *int64, n int64) {
	if n > math.MaxInt64-*sum {
		*sum = math.MaxInt64
		return
	}
	*sum += n
}
