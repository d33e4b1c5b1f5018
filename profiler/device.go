package profiler

import (
	"fmt"

	"boost-tui/kernels"
	"boost-tui/profiler/record"
)

// Options of Wrap.
type Options struct {
	// Events is how many events are made at once; more are made when a step needs them, and kept. 0: 512.
	Events int
}

// Device times what is issued to the device within. It is used by one goroutine, as every device.
type Device struct {
	kernels.Device
	pool    []kernels.Event
	used    int
	marks   []mark
	chunk   int // index into marks of the open chunk; −1: none
	closed  int // index of the chunk that was closed last with nothing issued since; −1
	step    int
	sampled bool
	inStep  bool
	window  windowEnds
	flows   map[flow]*flowCount
	spans   []Span
	sum     summer
}

// mark is a span before its events have come to pass.
type mark struct {
	span       Span
	start, end int // into pool
}

// flow is what messages are numbered along: the collectives of a communicator, or the transfers between two of its
// ranks in one direction.
type flow struct {
	comm kernels.Comm
	peer int // -1: collectives
	op   string
}

// flowCount numbers the messages of a flow.
type flowCount struct {
	name string
	next int
}

// Wrap puts a timer round a device. Nothing is timed outside BeginStep and EndStep.
func Wrap(dev kernels.Device, o Options) (*Device, error) {
	d := &Device{Device: dev, chunk: -1, closed: -1, flows: map[flow]*flowCount{}}
	n := o.Events
	if n <= 0 {
		n = 512
	}
	for range n {
		if err := d.grow(); err != nil {
			return nil, err
		}
	}
	if err := d.window.init(dev); err != nil {
		return nil, err
	}
	return d, nil
}

func (d *Device) grow() error {
	e, err := d.Device.NewEvent()
	if err != nil {
		return fmt.Errorf("events of the profiler (%d so far): %w", len(d.pool), err)
	}
	d.pool = append(d.pool, e)
	return nil
}

// BeginStep starts timing a step. In a sampled step every operation has a span of its own.
func (d *Device) BeginStep(step int, sampled bool) error {
	d.used, d.marks, d.chunk, d.closed = 0, d.marks[:0], -1, -1
	d.step, d.sampled, d.inStep = step, sampled, true
	return d.window.begin(d.Device)
}

// Do implements kernels.Device.
func (d *Device) Do(c kernels.Call, op kernels.Op) error {
	if !d.inStep {
		return d.Device.Do(c, op)
	}
	class := op.Class()
	if c.Stream == kernels.ComputeStream && class != kernels.Communication && !d.sampled {
		if err := d.enter(c.Label, class, op); err != nil {
			return err
		}
		return d.Device.Do(c, op)
	}
	if c.Stream == kernels.ComputeStream {
		if err := d.leave(); err != nil {
			return err
		}
		d.closed = -1
	}
	i, err := d.open(c, class, op, -1)
	if err != nil {
		return err
	}
	if err := d.Device.Do(c, op); err != nil {
		return err
	}
	return d.close(i)
}

// enter continues the open chunk, or closes it and opens the next. A chunk that begins where the
// last one ended shares its event.
func (d *Device) enter(l kernels.Label, class kernels.Class, op kernels.Op) error {
	if d.chunk >= 0 {
		s := &d.marks[d.chunk].span
		if s.Class == class && s.Label.Phase == l.Phase && s.Label.Layer == l.Layer && s.Label.Micro == l.Micro && s.Label.Chunk == l.Chunk {
			s.FLOPs += op.FLOPs()
			if class == kernels.Memory {
				s.Bytes += copied(op)
			}
			return nil
		}
		if err := d.leave(); err != nil {
			return err
		}
	}
	shared := -1
	if d.closed >= 0 {
		shared = d.marks[d.closed].end
	}
	i, err := d.open(kernels.Call{Stream: kernels.ComputeStream, Label: l}, class, op, shared)
	d.chunk, d.closed = i, -1
	return err
}

// leave closes the open chunk.
func (d *Device) leave() error {
	if d.chunk < 0 {
		return nil
	}
	i := d.chunk
	d.chunk, d.closed = -1, i
	return d.close(i)
}

// open adds a mark and records its start, unless that is an event already there.
func (d *Device) open(c kernels.Call, class kernels.Class, op kernels.Op, shared int) (int, error) {
	var err error
	if shared < 0 {
		if shared, err = d.record(c.Stream); err != nil {
			return -1, err
		}
	}
	m := mark{start: shared, end: -1}
	m.span = Span{Label: c.Label, Op: op.Name(), Stream: c.Stream, Class: class, FLOPs: op.FLOPs(), WaitNanos: record.Unknown}
	switch class {
	case kernels.Communication:
		if g, ok := op.(kernels.Message); ok {
			m.span.Bytes = g.Moved()
			m.span.Group, m.span.Seq = d.number(g)
		}
	case kernels.Memory:
		m.span.Bytes = copied(op)
	}
	d.marks = append(d.marks, m)
	return len(d.marks) - 1, nil
}

func (d *Device) close(i int) error {
	e, err := d.record(d.marks[i].span.Stream)
	d.marks[i].end = e
	return err
}

// record takes the next event of the pool and records it.
func (d *Device) record(s kernels.Stream) (int, error) {
	if d.used == len(d.pool) {
		if err := d.grow(); err != nil {
			return -1, err
		}
	}
	d.used++
	return d.used - 1, d.Device.Record(d.pool[d.used-1], s)
}

// number gives a message's flow by name, and its place in it.
func (d *Device) number(m kernels.Message) (string, int) {
	f := flow{comm: m.Group(), peer: -1}
	switch t := m.(type) {
	case *kernels.Send:
		f.peer, f.op = t.Peer, t.Name()
	case *kernels.Recv:
		f.peer, f.op = t.Peer, t.Name()
	}
	n := d.flows[f]
	if n == nil {
		n = &flowCount{name: m.Flow()}
		d.flows[f] = n
	}
	n.next++
	return n.name, n.next - 1
}

// Wait implements kernels.Device. A wait of the compute stream ends its chunk: what it waits for is no compute.
func (d *Device) Wait(s kernels.Stream, e kernels.Event) error {
	if d.inStep && s == kernels.ComputeStream {
		if err := d.leave(); err != nil {
			return err
		}
		d.closed = -1
	}
	return d.Device.Wait(s, e)
}

// copied is how many bytes a memory operation writes.
func copied(op kernels.Op) int64 {
	switch o := op.(type) {
	case *kernels.Copy:
		return o.Dst.Bytes()
	case *kernels.Fill:
		return o.X.Bytes()
	case *kernels.Upload:
		return o.Dst.Bytes()
	case *kernels.Download:
		return o.Src.Bytes()
	}
	return 0
}
