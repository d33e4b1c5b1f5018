// Package record is a device that computes nothing and writes down what it was asked to compute:
// operations, shapes, bytes, FLOPs, collectives, memory by name, and the order between streams.
//
// The planner reads a step off it, and tests count bytes and look for races with it. Memory is only numbers
// here, so a step of any size can be recorded on any machine; only Host memory is real.
// Start reading at Device.Do; call.go holds what is written down, races.go the check of the fences.
package record

import (
	"context"
	"encoding/binary"
	"fmt"

	"boost-tui/kernels"
)

// backend is the device's name in errors and in Info.
const backend = "record"

// Options of a recorder.
type Options struct {
	MemBytes int64 // Alloc fails beyond this; 0: no limit
}

// Device records. It is used by one goroutine, like every device.
type Device struct {
	options  Options
	next     kernels.Ptr
	live     map[*kernels.Buffer]bool
	now      map[string]int64 // bytes by buffer name
	peak     map[string]int64
	total    int64
	most     int64
	uids     uint64
	log      []entry
	calls    []Call
	accesses []access
	streams  []stream
	events   []mark
}

// stream is what is known of a stream: its name and what its next call waits for.
type stream struct {
	name  string
	last  int // index of its latest call; -1: none
	waits []int
}

// mark is the latest Record of an event.
type mark struct {
	recorded bool
	call     int // last call of the stream at that time; -1: none
	waits    []int
}

// New makes a recorder.
func New(o Options) *Device {
	return &Device{options: o, next: 1 << 12, live: map[*kernels.Buffer]bool{}, now: map[string]int64{}, peak: map[string]int64{},
		streams: []stream{{name: "compute", last: -1}}}
}

// Info implements kernels.Device.
func (d *Device) Info() kernels.Info {
	return kernels.Info{Backend: backend, Name: "recorder", MemTotal: d.options.MemBytes, MemFree: max(d.options.MemBytes-d.total, 0), Threads: 1}
}

// Alloc implements kernels.Device: it hands out addresses that nothing lies at.
func (d *Device) Alloc(name string, bytes int64, symmetric bool) (*kernels.Buffer, error) {
	if bytes < 0 {
		return nil, d.fail("alloc", kernels.ErrInvalid, fmt.Sprintf("%d bytes for %s", bytes, name))
	}
	if most := d.options.MemBytes; most > 0 && d.total+bytes > most {
		return nil, d.fail("alloc", kernels.ErrNoMemory, fmt.Sprintf("%d bytes for %s, %d of %d are taken", bytes, name, d.total, most))
	}
	b := &kernels.Buffer{Name: name, Ptr: d.next, Bytes: bytes, Symmetric: symmetric}
	const page = 1 << 12
	d.next += kernels.Ptr((bytes + 2*page - 1) / page * page)
	d.live[b] = true
	d.now[name] += bytes
	d.total += bytes
	d.peak[name] = max(d.peak[name], d.now[name])
	d.most = max(d.most, d.total)
	return b, nil
}

// Free implements kernels.Device.
func (d *Device) Free(b *kernels.Buffer) error {
	if b == nil || !d.live[b] {
		return d.fail("free", kernels.ErrInvalid, "the buffer is not allocated")
	}
	delete(d.live, b)
	d.now[b.Name] -= b.Bytes
	d.total -= b.Bytes
	return nil
}

// Memory is the most bytes that were allocated at a time under each buffer name (the kernels.Mem names).
func (d *Device) Memory() map[string]int64 {
	out := make(map[string]int64, len(d.peak))
	for name, n := range d.peak {
		out[name] = n
	}
	return out
}

// PeakBytes is the most that was allocated at a time, all names together.
func (d *Device) PeakBytes() int64 { return d.most }

// Host implements kernels.Device.
func (d *Device) Host(bytes int64) (*kernels.Host, error) {
	if bytes < 0 {
		return nil, d.fail("host", kernels.ErrInvalid, fmt.Sprintf("%d bytes", bytes))
	}
	return &kernels.Host{Bytes: make([]byte, bytes)}, nil
}

// Compute implements kernels.Device.
func (d *Device) Compute() kernels.Stream { return kernels.ComputeStream }

// NewStream implements kernels.Device.
func (d *Device) NewStream(name string) (kernels.Stream, error) {
	d.streams = append(d.streams, stream{name: name, last: -1})
	return kernels.Stream(len(d.streams) - 1), nil
}

// NewEvent implements kernels.Device.
func (d *Device) NewEvent() (kernels.Event, error) {
	d.events = append(d.events, mark{})
	return kernels.Event(len(d.events) - 1), nil
}

// Record implements kernels.Device.
func (d *Device) Record(e kernels.Event, s kernels.Stream) error {
	if err := d.known("record", s, e); err != nil {
		return err
	}
	st := &d.streams[s]
	d.events[e] = mark{recorded: true, call: st.last, waits: append([]int(nil), st.waits...)}
	d.log = append(d.log, entry{kind: recorded, stream: s, event: e})
	return nil
}

// Wait implements kernels.Device. Waiting for an event that was never recorded waits for nothing.
func (d *Device) Wait(s kernels.Stream, e kernels.Event) error {
	if err := d.known("wait", s, e); err != nil {
		return err
	}
	st, m := &d.streams[s], d.events[e]
	for _, c := range append(m.waits, m.call) {
		if m.recorded && c >= 0 && d.calls[c].Stream != s {
			st.waits = appendNew(st.waits, c)
		}
	}
	d.log = append(d.log, entry{kind: waited, stream: s, event: e})
	return nil
}

func appendNew(list []int, n int) []int {
	for _, x := range list {
		if x == n {
			return list
		}
	}
	return append(list, n)
}

func (d *Device) known(op string, s kernels.Stream, e kernels.Event) error {
	if int(s) >= len(d.streams) || int(e) >= len(d.events) {
		return d.fail(op, kernels.ErrInvalid, fmt.Sprintf("stream %d or event %d is not of this device", s, e))
	}
	return nil
}

// Sync implements kernels.Device: recorded work is done at once.
func (d *Device) Sync(ctx context.Context, s kernels.Stream) error {
	if int(s) >= len(d.streams) {
		return d.fail("sync", kernels.ErrInvalid, fmt.Sprintf("stream %d is not of this device", s))
	}
	return ctx.Err()
}

// EventTime implements kernels.Device. Nothing takes time here: the times are 0.
func (d *Device) EventTime(e kernels.Event) (kernels.EventTime, error) {
	if int(e) >= len(d.events) || !d.events[e].recorded {
		return kernels.EventTime{}, d.fail("event time", kernels.ErrInvalid, fmt.Sprintf("event %d was not recorded", e))
	}
	return kernels.EventTime{WaitNanos: -1}, nil
}

// UID implements kernels.Device.
func (d *Device) UID() (kernels.UID, error) {
	d.uids++
	var id kernels.UID
	binary.LittleEndian.PutUint64(id[:], d.uids)
	return id, nil
}

// Join implements kernels.Device. It needs no peers: one rank's recording is the whole group's.
func (d *Device) Join(ctx context.Context, _ kernels.UID, n, rank int, name string) (kernels.Comm, error) {
	if n < 1 || rank < 0 || rank >= n {
		return nil, d.fail("join", kernels.ErrInvalid, fmt.Sprintf("rank %d of %d", rank, n))
	}
	if err := ctx.Err(); err != nil {
		return nil, fmt.Errorf("join %s: %w", name, err)
	}
	return &comm{name: name, rank: rank, size: n}, nil
}

// Close implements kernels.Device. What was recorded can still be read.
func (d *Device) Close() error { return nil }

func (d *Device) fail(op string, sentinel error, msg string) error {
	return &kernels.Error{Backend: backend, Op: op, Msg: msg, Err: sentinel}
}
