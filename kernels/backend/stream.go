package backend

/*
#cgo noescape t_stream_new
#cgo nocallback t_stream_new
#cgo nocallback t_stream_wait
#cgo nocallback t_stream_query
#cgo noescape t_stream_error
#cgo nocallback t_stream_error
#cgo nocallback t_stream_issued
#cgo noescape t_event_new
#cgo nocallback t_event_new
#cgo nocallback t_event_record
#cgo noescape t_event_time
#cgo nocallback t_event_time
#include "table.h"
*/
import "C"

import (
	"context"
	"fmt"

	"boost-tui/kernels"
)

// pollMicros is how long a blocking call stays in C before it looks at its context.
const pollMicros = 5000

// labelRing is how many operations a stream remembers the labels of. One that fails is named if no more
// than this many were issued behind it.
const labelRing = 1024

// stream is one stream; the compute stream is the first and has no C handle.
type stream struct {
	c      *C.bt_stream
	name   string
	eager  bool   // its operations' errors are told by the calls themselves
	issued uint64 // launches, records and waits so far, of a stream without a handle that could tell
	labels [labelRing]struct {
		ticket uint64
		op     string
		label  kernels.Label
	}
}

// Compute implements kernels.Device.
func (d *Device) Compute() kernels.Stream { return kernels.ComputeStream }

// NewStream implements kernels.Device.
func (d *Device) NewStream(name string) (kernels.Stream, error) {
	if err := d.closed("new_stream"); err != nil {
		return 0, err
	}
	s := &stream{name: name}
	if e := C.t_stream_new(d.api, d.ctx, &s.c); e != 0 {
		return 0, d.fail("new_stream", kernels.Label{}, e)
	}
	d.streams = append(d.streams, s)
	return kernels.Stream(len(d.streams) - 1), nil
}

// NewEvent implements kernels.Device.
func (d *Device) NewEvent() (kernels.Event, error) {
	if err := d.closed("new_event"); err != nil {
		return 0, err
	}
	var e *C.bt_event
	if s := C.t_event_new(d.api, d.ctx, &e); s != 0 {
		return 0, d.fail("new_event", kernels.Label{}, s)
	}
	d.events = append(d.events, e)
	return kernels.Event(len(d.events) - 1), nil
}

func (d *Device) handles(op string, s kernels.Stream, e kernels.Event, withEvent bool) (*stream, *C.bt_event, error) {
	if err := d.closed(op); err != nil {
		return nil, nil, err
	}
	if int(s) >= len(d.streams) {
		return nil, nil, d.invalid(op, kernels.Label{}, fmt.Sprintf("stream %d of %d", s, len(d.streams)))
	}
	if !withEvent {
		return d.streams[s], nil, nil
	}
	if int(e) >= len(d.events) {
		return nil, nil, d.invalid(op, kernels.Label{}, fmt.Sprintf("event %d of %d", e, len(d.events)))
	}
	return d.streams[s], d.events[e], nil
}

// Record implements kernels.Device.
func (d *Device) Record(e kernels.Event, s kernels.Stream) error {
	st, ev, err := d.handles("record", s, e, true)
	if err != nil {
		return err
	}
	if r := C.t_event_record(d.api, d.ctx, ev, st.c); r != 0 {
		return d.failed("record", r)
	}
	st.issued++
	return nil
}

// Wait implements kernels.Device. On an eager compute stream it blocks, and ends with the error of a stream that
// failed before it came to the event.
func (d *Device) Wait(s kernels.Stream, e kernels.Event) error {
	st, ev, err := d.handles("wait", s, e, true)
	if err != nil {
		return err
	}
	if r := C.t_stream_wait(d.api, d.ctx, st.c, ev); r != 0 {
		return d.failed("wait", r)
	}
	st.issued++
	return nil
}

// Sync implements kernels.Device.
func (d *Device) Sync(ctx context.Context, s kernels.Stream) error {
	st, _, err := d.handles("sync", s, 0, false)
	if err != nil {
		return err
	}
	w := watch{d: d}
	for {
		switch r := C.t_stream_query(d.api, d.ctx, st.c, pollMicros); r {
		case C.BT_OK:
			w.over()
			return nil
		case C.BT_ENOTREADY:
			if err := ctx.Err(); err != nil {
				return fmt.Errorf("wait for stream %s: %w", st.name, context.Cause(ctx))
			}
			if err := d.broken(); err != nil {
				return err
			}
			w.look()
		default:
			return d.failed("sync", r)
		}
	}
}

// broken is the failure of a communicator, of a device whose streams may not notice it by themselves.
func (d *Device) broken() error {
	if d.o.Eager {
		return nil // a message that fails ends its stream's work there
	}
	for _, c := range d.comms {
		if err := c.Status(); err != nil {
			return err
		}
	}
	return nil
}

// EventTime implements kernels.Device.
func (d *Device) EventTime(e kernels.Event) (kernels.EventTime, error) {
	_, ev, err := d.handles("event_time", kernels.ComputeStream, e, true)
	if err != nil {
		return kernels.EventTime{}, err
	}
	var t C.bt_time
	w := watch{d: d}
	for {
		switch r := C.t_event_time(d.api, d.ctx, ev, pollMicros, &t); r {
		case C.BT_OK:
			w.over()
			return kernels.EventTime{AtNanos: int64(t.at_ns), WaitNanos: int64(t.wait_ns)}, nil
		case C.BT_ENOTREADY:
			if err := d.broken(); err != nil {
				return kernels.EventTime{}, err
			}
			w.look()
		default:
			return kernels.EventTime{}, d.failed("event_time", r)
		}
	}
}

// failed is the error of a call that met a stream's failure: it names the operation that failed, not the call. A stream that
// failed because it waited for another remembers no operation there.
func (d *Device) failed(op string, s C.bt_status) error {
	for _, st := range d.streams {
		if st.eager {
			continue
		}
		var text *C.char
		var ticket C.uint64_t
		if r := C.t_stream_error(d.api, d.ctx, st.c, &text, &ticket); r == s {
			if l := &st.labels[uint64(ticket)%labelRing]; l.ticket == uint64(ticket) {
				return &kernels.Error{Backend: d.o.Name, Op: l.op, Label: l.label, Msg: C.GoString(text), Err: sentinel(r)}
			}
		}
	}
	return d.fail(op, kernels.Label{}, s)
}

// remember keeps the label of the operation that is about to be queued.
func (d *Device) remember(s *stream, c kernels.Call, name string) {
	ticket := s.issued + 1
	if s.c != nil {
		ticket = uint64(C.t_stream_issued(d.api, s.c)) + 1
	}
	l := &s.labels[ticket%labelRing]
	l.ticket, l.op, l.label = ticket, name, c.Label
}
