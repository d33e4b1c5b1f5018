package kernels

import "fmt"

// Exec issues a step's operations on a device. It keeps the label of the place in the step and the
// first error, so that the model reads as a list of operations. After an error nothing is issued.
// An Exec is used by one goroutine.
type Exec struct {
	Dev    Device
	Label  Label
	stream map[string]Stream
	events []Event
	next   int
	err    error
}

// eventRing is how many events an Exec cycles through. An event may be recorded anew once the wait
// on it was issued, and a step never has this many collectives under way.
const eventRing = 64

// NewExec prepares the events of an Exec.
func NewExec(dev Device) (*Exec, error) {
	x := &Exec{Dev: dev, Label: Label{Layer: -1}, stream: map[string]Stream{}}
	for range eventRing {
		e, err := dev.NewEvent()
		if err != nil {
			return nil, fmt.Errorf("events of the step: %w", err)
		}
		x.events = append(x.events, e)
	}
	return x, nil
}

// Err is the first error since Reset.
func (x *Exec) Err() error { return x.err }

// Reset forgets the error.
func (x *Exec) Reset() { x.err = nil }

// Fail records an error that arose outside the device.
func (x *Exec) Fail(err error) {
	if x.err == nil {
		x.err = err
	}
}

// Phase and At move the label; the chunk names the stretch up to the next collective.
func (x *Exec) Phase(p Phase, micro int) { x.Label.Phase, x.Label.Micro = p, micro }

// At sets the block (−1: outside the blocks) and the chunk.
func (x *Exec) At(layer int, chunk string) { x.Label.Layer, x.Label.Chunk = layer, chunk }

// Do issues an operation on the compute stream.
func (x *Exec) Do(name string, op Op) { x.on(ComputeStream, name, op) }

func (x *Exec) on(s Stream, name string, op Op) {
	if x.err != nil {
		return
	}
	l := x.Label
	l.Op = name
	x.err = x.Dev.Do(Call{Stream: s, Label: l}, op)
}

// Pending is a collective under way. Its operands must not be touched before Wait.
type Pending struct {
	x     *Exec
	event Event
	real  bool
}

// Start issues a group call on the communicator's own stream, after all compute issued so far. A
// communicator of one rank (or nil) communicates nothing: only all-gather and reduce-scatter copy.
func (x *Exec) Start(name string, c Comm, parts ...Part) Pending {
	if x.err != nil {
		return Pending{}
	}
	if c == nil || c.Size() == 1 {
		for _, p := range parts {
			if !p.Recv.IsZero() {
				x.Do(name, &Copy{Src: p.Send.Flat(), Dst: p.Recv.Flat()})
			}
		}
		return Pending{}
	}
	s, ok := x.stream[c.Name()]
	if !ok {
		if s, x.err = x.Dev.NewStream(c.Name()); x.err != nil {
			return Pending{}
		}
		x.stream[c.Name()] = s
	}
	before, after := x.event(), x.event()
	x.step(x.Dev.Record, before, ComputeStream)
	x.wait(s, before)
	x.on(s, name, &Collective{Comm: c, Parts: parts})
	x.step(x.Dev.Record, after, s)
	return Pending{x: x, event: after, real: true}
}

// Wait makes later compute wait for the collective.
func (p Pending) Wait() {
	if p.real {
		p.x.wait(ComputeStream, p.event)
	}
}

// Reduce is Start of in-place all-reduces (sum), and Wait.
func (x *Exec) Reduce(name string, c Comm, views ...View) { x.StartReduce(name, c, views...).Wait() }

// StartReduce is Start of in-place all-reduces (sum).
func (x *Exec) StartReduce(name string, c Comm, views ...View) Pending {
	parts := make([]Part, len(views))
	for i, v := range views {
		parts[i] = Part{Kind: AllReduce, Send: v.Flat()}
	}
	return x.Start(name, c, parts...)
}

func (x *Exec) event() Event {
	e := x.events[x.next]
	x.next = (x.next + 1) % len(x.events)
	return e
}

func (x *Exec) step(f func(Event, Stream) error, e Event, s Stream) {
	if x.err == nil {
		x.err = f(e, s)
	}
}

func (x *Exec) wait(s Stream, e Event) {
	if x.err == nil {
		x.err = x.Dev.Wait(s, e)
	}
}
