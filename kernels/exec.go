package kernels

import "fmt"

// Exec issues a step's operations on a device. It keeps the label of the place in the step and the
// first error, so that the model reads as a list of operations. After an error nothing is issued.
// An Exec is used by one goroutine.
type Exec struct {
	Dev    Device
	Label  Label
	stream map[string]Stream
	marks  []*fence // all events
	free   []*fence // those that nobody will wait for any more
	err    error
}

// fence is an event and what it stands for: turn counts how often it was taken, so that a Pending knows whether
// the event is still its own.
type fence struct {
	event Event
	turn  int
}

// eventsAtFirst is how many events an Exec makes in advance. A step that has more messages under way makes more.
const eventsAtFirst = 64

// NewExec prepares the events of an Exec.
func NewExec(dev Device) (*Exec, error) {
	x := &Exec{Dev: dev, Label: Label{Layer: -1}, stream: map[string]Stream{}}
	for range eventsAtFirst {
		if x.grow(); x.err != nil {
			return nil, fmt.Errorf("events of the step: %w", x.err)
		}
	}
	return x, nil
}

// Err is the first error since Reset.
func (x *Exec) Err() error { return x.err }

// Reset forgets the error, and with it the messages that were under way: nobody will wait for them.
func (x *Exec) Reset() {
	if x.err == nil {
		return
	}
	x.err = nil
	for _, f := range x.marks {
		f.turn++
	}
	x.free = append(x.free[:0], x.marks...)
}

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

// Pending is a message under way. Its operands must not be touched before Wait.
type Pending struct {
	x     *Exec
	fence *fence
	turn  int
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
	return x.message(name, c.Name(), &Collective{Comm: c, Parts: parts})
}

// StartSend hands views to a peer of the communicator, after all compute issued so far, on a stream of that
// direction's own. The views' memory may be written again after Wait.
func (x *Exec) StartSend(name string, c Comm, peer int, views ...View) Pending {
	return x.message(name, fmt.Sprintf("%s to %d", c.Name(), peer), &Send{Comm: c, Peer: peer, Views: views})
}

// StartRecv takes views from a peer of the communicator, after all compute issued so far (which may have read what
// the views held), on a stream of that direction's own.
func (x *Exec) StartRecv(name string, c Comm, peer int, views ...View) Pending {
	return x.StartRecvAfter(Pending{}, name, c, peer, views...)
}

// StartRecvAfter is StartRecv into memory that another message may still be using: it waits for that one first, on its own stream.
func (x *Exec) StartRecvAfter(p Pending, name string, c Comm, peer int, views ...View) Pending {
	return x.message(name, fmt.Sprintf("%s from %d", c.Name(), peer), &Recv{Comm: c, Peer: peer, Views: views}, p)
}

// message issues an operation on the stream of the name, between two fences and after messages under way.
func (x *Exec) message(name, stream string, op Op, after ...Pending) Pending {
	s, ok := x.stream[stream]
	if !ok && x.err == nil {
		s, x.err = x.Dev.NewStream(stream)
		x.stream[stream] = s
	}
	before, end := x.take(), x.take()
	if x.err != nil {
		return Pending{}
	}
	x.step(x.Dev.Record, before.event, ComputeStream)
	x.wait(s, before.event)
	x.give(before) // the wait is issued
	for _, p := range after {
		if p.underWay() {
			x.wait(s, p.fence.event)
		}
	}
	x.on(s, name, op)
	x.step(x.Dev.Record, end.event, s)
	return Pending{x: x, fence: end, turn: end.turn}
}

// Wait makes later compute wait for the message. Waiting again changes nothing.
func (p Pending) Wait() {
	if !p.underWay() {
		return
	}
	p.x.wait(ComputeStream, p.fence.event)
	p.x.give(p.fence)
}

// underWay reports whether the message has not been waited for.
func (p Pending) underWay() bool { return p.fence != nil && p.fence.turn == p.turn }

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

// take is an event that nobody waits for; nil after an error.
func (x *Exec) take() *fence {
	if len(x.free) == 0 {
		x.grow()
	}
	if x.err != nil {
		return nil
	}
	f := x.free[len(x.free)-1]
	x.free = x.free[:len(x.free)-1]
	return f
}

// give takes an event back. It may be recorded anew, since the waits on it were issued.
func (x *Exec) give(f *fence) {
	f.turn++
	x.free = append(x.free, f)
}

func (x *Exec) grow() {
	e, err := x.Dev.NewEvent()
	if err != nil {
		x.Fail(err)
		return
	}
	f := &fence{event: e}
	x.marks, x.free = append(x.marks, f), append(x.free, f)
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
