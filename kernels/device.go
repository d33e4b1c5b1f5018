// Package kernels is the boundary between the program and whatever computes.
//
// A training step is plain Go that calls a Device: it hands over operations (Op), each on a
// stream. What a call does depends on the device: kernels/cpu computes in C, kernels/record
// writes down what would be computed, kernels/check wraps another device and verifies bounds
// and finiteness, kernels/reference is a slow second implementation that tests compare with.
// One rule makes recording sound: nothing inside a step branches on a value that lives on the device.
//
// Start reading at Device, then ops.go (what can be asked of one) and exec.go (how the model asks).
package kernels

import (
	"context"
	"errors"
	"fmt"
)

// Device runs operations. One context per rank; calls come from one goroutine at a time.
//
// Work is ordered within a stream; across streams only by events. A device may run a call at
// once (the compute stream of the cpu device) or later. Only Alloc, Join, Sync, EventTime and, on
// devices whose compute stream is eager, Do on and Wait by that stream may block.
type Device interface {
	Info() Info
	// Alloc reserves zeroed memory. symmetric memory can be used in messages; ranks of a communicator make the
	// allocations that its collectives work on in the same order and sizes (the cpu device does not insist).
	Alloc(name string, bytes int64, symmetric bool) (*Buffer, error)
	Free(*Buffer) error
	// Host reserves host memory that copies may touch while they run.
	Host(bytes int64) (*Host, error)

	// Compute is the stream that arithmetic runs on.
	Compute() Stream
	// NewStream makes a further stream; on the cpu device it has an operating-system thread of its own.
	NewStream(name string) (Stream, error)
	NewEvent() (Event, error)
	// Record marks the present end of the stream's work with the event.
	Record(Event, Stream) error
	// Wait makes later work of the stream wait for the latest Record of the event so far.
	Wait(Stream, Event) error
	// Sync blocks until the stream has run dry, the context ends, or a communicator fails.
	Sync(context.Context, Stream) error
	// EventTime is when a recorded event came to pass. It blocks until then.
	EventTime(Event) (EventTime, error)

	// Do runs or enqueues one operation. The operation is read before Do returns or copied;
	// its views must stay allocated until it ran.
	Do(Call, Op) error

	// UID makes the identity of a new communicator; its first member hands it to the others.
	UID() (UID, error)
	// Join makes a communicator of n ranks. It blocks until all have joined or the context ends. A rank may be in
	// several; all their members join them in the same order.
	Join(ctx context.Context, id UID, n, rank int, name string) (Comm, error)

	Close() error
}

// Stream and Event are handles of the device that made them.
type (
	Stream uint32
	Event  uint32
)

// ComputeStream is the handle of every device's compute stream.
const ComputeStream Stream = 0

// EventTime is when an event came to pass.
type EventTime struct {
	AtNanos   int64 // Unix time
	WaitNanos int64 // since the previous event of the stream: waiting for peers inside collectives; -1: unknown
}

// UID identifies a communicator.
type UID [128]byte

// Comm is a group of ranks that messages run over. Its collectives are issued in the same order on every rank, on one
// stream. Status and Abort may be called from any goroutine.
type Comm interface {
	Name() string
	Rank() int
	Size() int
	// Status is the asynchronous failure of the communicator, nil while it is sound.
	Status() error
	// Abort makes every pending and later message of every member fail with ErrAborted.
	Abort() error
	Close() error
}

// MessageState is how far a device has come with a message that was issued to it.
type MessageState uint8

// States of a message.
const (
	MessageOver  MessageState = iota // the host waits no more
	MessageBegun                     // its stream stands at it, and waits for the other ranks or is transferring
	MessageAhead                     // its stream has not come to it: what was issued before is not done
)

// UnderWay is the message that holds a host which waits for its device.
type UnderWay struct {
	Label Label
	State MessageState
}

// Heeder is a device whose calls return before the work is done. While Sync or EventTime waits it tells f, on the goroutine of
// the call and about once a second, which message that is; when the call is done MessageOver, if it had told anything. Nothing
// more is told when the call fails.
type Heeder interface {
	Heed(f func(UnderWay))
}

// Info describes a device.
type Info struct {
	Backend   string // cpu, record, reference, cuda
	Name      string // processor or card
	MemTotal  int64  // bytes; 0: unknown
	MemFree   int64
	Threads   int      // compute threads of this rank
	Libraries []string // libraries in use, with version and path
}

// Host is memory of the host that the device may copy from and to.
type Host struct {
	Bytes []byte
}

// Phase is the part of a step that an operation belongs to.
type Phase uint8

// Phases of a step.
const (
	PhaseNone Phase = iota
	Forward
	Backward
	Optimizer
	Data
)

var phaseNames = [...]string{"none", "forward", "backward", "optimizer", "data"}

func (p Phase) String() string {
	if int(p) < len(phaseNames) {
		return phaseNames[p]
	}
	return fmt.Sprintf("phase(%d)", uint8(p))
}

// Label says where in the step an operation stands. Chunk names the stretch of a block between
// two collectives (the unit of always-on timing), Op the single operation.
type Label struct {
	Phase Phase
	Layer int // -1 outside the blocks
	Micro int // micro-batch of the step
	Chunk string
	Op    string
}

// String is "forward.l3.attn.in/qkv.A"; outside the blocks the layer is left out.
func (l Label) String() string {
	if l.Layer < 0 {
		return fmt.Sprintf("%s.%s/%s", l.Phase, l.Chunk, l.Op)
	}
	return fmt.Sprintf("%s.l%d.%s/%s", l.Phase, l.Layer, l.Chunk, l.Op)
}

// Call says where an operation runs and what it is called.
type Call struct {
	Stream Stream
	Label  Label
}

// Errors that callers tell apart with errors.Is. The text of an Error says more.
var (
	ErrInvalid     = errors.New("invalid argument")
	ErrNoMemory    = errors.New("out of device memory")
	ErrDevice      = errors.New("device error")
	ErrComm        = errors.New("communication error")
	ErrAborted     = errors.New("aborted")
	ErrUnsupported = errors.New("not supported by this device")
	ErrNotFinite   = errors.New("not a finite number")
)

// Error is a failure of an operation: which device, which operation, where in the step.
type Error struct {
	Backend string
	Op      string
	Label   Label
	Msg     string
	Err     error // one of the sentinels above
}

func (e *Error) Error() string {
	s := e.Backend + ": " + e.Op
	if e.Label.Op != "" {
		s += " (" + e.Label.String() + ")"
	}
	if e.Msg != "" {
		s += ": " + e.Msg
	}
	return s
}

// Unwrap gives the sentinel.
func (e *Error) Unwrap() error { return e.Err }
