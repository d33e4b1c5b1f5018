// Package reference is a second implementation of kernels.Device: plain loops in Go over storage in fp32 or
// bf16, every sum in float64. It is slow and simple on purpose; tests compare the other devices
// and the model with it. Ranks are goroutines of one process that share a World.
//
// Start reading at Device.Do; the operations follow METHOD.md §1-3 as the comments of package kernels state them.
package reference

import (
	"context"
	"encoding/binary"
	"fmt"
	"sync"
	"time"

	"boost-tui/kernels"
)

// World is what the ranks of one process share. The zero value is ready to use.
type World struct {
	// Deferred delays what other streams do until the compute stream waits for it, the latest moment
	// that the rules of kernels allow. By default it happens at once, the earliest (receives excepted). A step that reads or
	// writes an operand of a collective under way gives different numbers in the two modes.
	Deferred bool
	// Coarse computes sums in fp32, from the last term to the first, as another device may. How far that moves a step is what
	// tolerances are made of.
	Coarse bool

	mu     sync.Mutex
	last   uint64
	groups map[kernels.UID]*group
}

// Device is one rank's reference device. Use it from one goroutine.
type Device struct {
	world   *World
	rank    int
	mem     map[kernels.Ptr][]uint32
	next    kernels.Ptr
	streams []stream
	events  []event
}

// stream is work that waits for its time; empty unless World.Deferred.
type stream struct {
	name  string
	queue []work
	done  int // works finished since the beginning
}

// work is what a stream has put off.
type work struct {
	run  func() error
	send bool // never blocks
}

type event struct {
	stream kernels.Stream
	mark   int // works of the stream that come before
	at     int64
}

// guard is the unused space between allocations, so that a wrong address hits none.
const guard = 1 << 16

// New makes the device of a rank.
func New(world *World, rank int) *Device {
	return &Device{world: world, rank: rank, mem: map[kernels.Ptr][]uint32{}, next: guard, streams: []stream{{name: "compute"}}}
}

// Info implements kernels.Device.
func (d *Device) Info() kernels.Info {
	if d.world.Coarse {
		return kernels.Info{Backend: "coarse reference", Name: "Go loops, sums in fp32 from the last", Threads: 1}
	}
	return kernels.Info{Backend: "reference", Name: "Go loops, sums in float64", Threads: 1}
}

// Alloc implements kernels.Device.
func (d *Device) Alloc(name string, bytes int64, symmetric bool) (*kernels.Buffer, error) {
	if bytes < 0 {
		return nil, d.fail("alloc", kernels.Label{}, kernels.ErrInvalid, fmt.Sprintf("%d bytes for %s", bytes, name))
	}
	b := &kernels.Buffer{Name: name, Ptr: d.next, Bytes: bytes, Symmetric: symmetric}
	words := (bytes + 3) / 4
	d.mem[b.Ptr] = make([]uint32, words)
	d.next += kernels.Ptr((words*4+guard-1)/guard*guard + guard)
	return b, nil
}

// Free implements kernels.Device.
func (d *Device) Free(b *kernels.Buffer) error {
	if b == nil || d.mem[b.Ptr] == nil {
		return d.fail("free", kernels.Label{}, kernels.ErrInvalid, "not an allocation of this device")
	}
	delete(d.mem, b.Ptr)
	return nil
}

// Host implements kernels.Device.
func (d *Device) Host(bytes int64) (*kernels.Host, error) {
	if bytes < 0 {
		return nil, d.fail("host", kernels.Label{}, kernels.ErrInvalid, fmt.Sprintf("%d bytes", bytes))
	}
	return &kernels.Host{Bytes: make([]byte, bytes)}, nil
}

// Compute implements kernels.Device.
func (d *Device) Compute() kernels.Stream { return kernels.ComputeStream }

// NewStream implements kernels.Device.
func (d *Device) NewStream(name string) (kernels.Stream, error) {
	d.streams = append(d.streams, stream{name: name})
	return kernels.Stream(len(d.streams) - 1), nil
}

// NewEvent implements kernels.Device.
func (d *Device) NewEvent() (kernels.Event, error) {
	d.events = append(d.events, event{})
	return kernels.Event(len(d.events) - 1), nil
}

// Record implements kernels.Device.
func (d *Device) Record(e kernels.Event, s kernels.Stream) error {
	if err := d.known(e, s); err != nil {
		return err
	}
	st := &d.streams[s]
	d.events[e] = event{stream: s, mark: st.done + len(st.queue), at: time.Now().UnixNano()}
	return nil
}

// Wait implements kernels.Device: the work before the event is done now, if it was put off.
func (d *Device) Wait(s kernels.Stream, e kernels.Event) error {
	if err := d.known(e, s); err != nil {
		return err
	}
	ev := d.events[e]
	if s == kernels.ComputeStream {
		return d.drain(ev.stream, ev.mark)
	}
	if d.streams[ev.stream].done < ev.mark && s != ev.stream {
		st := &d.streams[s]
		st.queue = append(st.queue, work{run: func() error { return d.drain(ev.stream, ev.mark) }})
	}
	return nil
}

func (d *Device) known(e kernels.Event, s kernels.Stream) error {
	if int(e) >= len(d.events) || int(s) >= len(d.streams) {
		return d.fail("event", kernels.Label{}, kernels.ErrInvalid, fmt.Sprintf("event %d or stream %d is not of this device", e, s))
	}
	return nil
}

func (d *Device) drain(s kernels.Stream, mark int) error {
	st := &d.streams[s]
	for len(st.queue) > 0 && st.done < mark {
		if err := d.advance(st); err != nil {
			return err
		}
	}
	return nil
}

// advance does the first of what a stream has put off.
func (d *Device) advance(st *stream) error {
	w := st.queue[0]
	st.queue = st.queue[1:]
	st.done++
	return w.run()
}

// hand does the sends that were put off and could be done: whoever is about to wait for peers must not keep from
// them what they wait for.
func (d *Device) hand() error {
	for i := range d.streams {
		for st := &d.streams[i]; len(st.queue) > 0 && st.queue[0].send; {
			if err := d.advance(st); err != nil {
				return err
			}
		}
	}
	return nil
}

// Sync implements kernels.Device.
func (d *Device) Sync(ctx context.Context, s kernels.Stream) error {
	if err := ctx.Err(); err != nil {
		return fmt.Errorf("reference: sync: %w", err)
	}
	if int(s) >= len(d.streams) {
		return d.fail("sync", kernels.Label{}, kernels.ErrInvalid, fmt.Sprintf("stream %d is not of this device", s))
	}
	return d.drain(s, d.streams[s].done+len(d.streams[s].queue))
}

// EventTime implements kernels.Device.
func (d *Device) EventTime(e kernels.Event) (kernels.EventTime, error) {
	if err := d.known(e, 0); err != nil {
		return kernels.EventTime{}, err
	}
	return kernels.EventTime{AtNanos: d.events[e].at, WaitNanos: -1}, nil
}

// Do implements kernels.Device.
func (d *Device) Do(call kernels.Call, op kernels.Op) error {
	if err := kernels.Validate(op); err != nil {
		return d.fail(op.Name(), call.Label, kernels.ErrInvalid, err.Error())
	}
	var err error
	op.Operands(func(o kernels.Operand) {
		if err == nil && d.mem[o.View.Buf.Ptr] == nil {
			err = d.fail(op.Name(), call.Label, kernels.ErrInvalid, "operand "+o.Name+" is not allocated")
		}
	})
	if err != nil {
		return err
	}
	if int(call.Stream) >= len(d.streams) {
		return d.fail(op.Name(), call.Label, kernels.ErrInvalid, fmt.Sprintf("stream %d is not of this device", call.Stream))
	}
	run := func() error {
		if err := d.run(op); err != nil {
			return &kernels.Error{Backend: "reference", Op: op.Name(), Label: call.Label, Msg: err.Error(), Err: err}
		}
		return nil
	}
	if st := &d.streams[call.Stream]; call.Stream != kernels.ComputeStream {
		// What a peer sends may depend on what this rank does next, so that a receive is always put off, and what is behind it.
		_, send := op.(*kernels.Send)
		if _, receive := op.(*kernels.Recv); receive || d.world.Deferred || len(st.queue) > 0 {
			st.queue = append(st.queue, work{run, send})
			return nil
		}
		st.done++
	}
	return run()
}

// Close implements kernels.Device.
func (d *Device) Close() error {
	clear(d.mem)
	return nil
}

// UID implements kernels.Device.
func (d *Device) UID() (kernels.UID, error) {
	d.world.mu.Lock()
	defer d.world.mu.Unlock()
	d.world.last++
	var id kernels.UID
	binary.LittleEndian.PutUint64(id[:], d.world.last)
	return id, nil
}

func (d *Device) fail(op string, l kernels.Label, sentinel error, msg string) error {
	return &kernels.Error{Backend: "reference", Op: op, Label: l, Msg: msg, Err: sentinel}
}
