package backend

/*
#cgo noescape t_launch_coll
#cgo nocallback t_launch_coll
#include "table.h"
static inline bt_status t_launch_coll(const bt_api *a, bt_ctx *c, bt_stream *s, const bt_coll *o) { return a->launch(c, s, &o->h); }
*/
import "C"

import (
	"fmt"
	"unsafe"

	"boost-tui/kernels"
)

// message encodes and launches a group call or a transfer.
func (d *Device) message(c kernels.Call, e kernels.Message) error {
	if err := d.encode(&d.coll, c, e); err != nil {
		return err
	}
	comm, ok := e.Group().(*Comm)
	if !ok {
		return d.foreign(c, e.Name())
	}
	return d.deliver(c, e.Name(), comm, &d.coll)
}

func (d *Device) foreign(c kernels.Call, name string) error {
	return d.invalid(name, c.Label, "the communicator is closed or not one of this device")
}

// Message encodes a message as a bt_coll, whose communicator is left open: for a package that does some messages itself.
// The memory is the device's own and stays until the next.
func (d *Device) Message(c kernels.Call, e kernels.Message) (coll unsafe.Pointer, err error) {
	return unsafe.Pointer(&d.coll), d.encode(&d.coll, c, e)
}

// Deliver launches what Message gave on a communicator.
func (d *Device) Deliver(c kernels.Call, name string, comm *Comm, coll unsafe.Pointer) error {
	return d.deliver(c, name, comm, (*C.bt_coll)(coll))
}

func (d *Device) deliver(c kernels.Call, name string, comm *Comm, o *C.bt_coll) error {
	if comm.dev != d || comm.c == nil {
		return d.foreign(c, name)
	}
	o.comm = C.uint64_t(uintptr(unsafe.Pointer(comm.c)))
	s := d.streams[c.Stream]
	if !s.eager {
		d.remember(s, c, name)
	}
	if r := C.t_launch_coll(d.api, d.ctx, s.c, o); r != 0 {
		return d.launchFailed(c, name, r)
	}
	s.issued++
	return nil
}

// LaunchRaw hands a stream something that a package made itself: a bt_head and what follows it. It may run Go before it returns.
func (d *Device) LaunchRaw(c kernels.Call, name string, head unsafe.Pointer) error {
	s := d.streams[c.Stream]
	if !s.eager {
		d.remember(s, c, name)
	}
	if r := C.t_launch(d.api, d.ctx, s.c, (*C.bt_head)(head)); r != 0 {
		return d.launchFailed(c, name, r)
	}
	s.issued++
	return nil
}

// encode fills in a message.
func (d *Device) encode(o *C.bt_coll, c kernels.Call, e kernels.Message) error {
	if err := d.parts(o, c, e); err != nil {
		return err
	}
	o.least_ns = C.int64_t(d.o.Link.Time(e))
	setText(o.label[:], c.Label.String())
	return nil
}

func (d *Device) parts(o *C.bt_coll, c kernels.Call, e kernels.Message) error {
	*o = C.bt_coll{}
	n := 0
	narrow := false
	add := func(kind C.int32_t, root int, v kernels.View) *C.bt_part {
		narrow = narrow || v.DType != kernels.F32
		if n == len(o.part) {
			n++ // too many: told below
			return new(C.bt_part)
		}
		q := &o.part[n]
		n++
		q.kind, q.root, q._type, q.n = kind, C.int32_t(root), C.int32_t(v.DType), C.uint64_t(v.Len())
		return q
	}
	switch m := e.(type) {
	case *kernels.Collective:
		for _, p := range m.Parts {
			q := add(C.int32_t(p.Kind), p.Root, p.Send)
			q.reduce, q.src = C.int32_t(p.Reduce), C.bt_ptr(p.Send.Ptr())
			if !p.Recv.IsZero() {
				q.dst = C.bt_ptr(p.Recv.Ptr())
			}
		}
	case *kernels.Send:
		for _, v := range m.Views {
			add(C.BT_SEND, m.Peer, v).src = C.bt_ptr(v.Ptr())
		}
	case *kernels.Recv:
		for _, v := range m.Views {
			add(C.BT_RECV, m.Peer, v).dst = C.bt_ptr(v.Ptr())
		}
	}
	if n > len(o.part) {
		return d.invalid(e.Name(), c.Label, fmt.Sprintf("more parts than %d; a group call holds no more", len(o.part)))
	}
	if narrow && d.o.SinglePrecision {
		return d.unsupported(e.Name(), c.Label, "carries fp32 only")
	}
	o.parts, o.ranks = C.int32_t(n), C.int32_t(e.Group().Size())
	o.h.size = C.uint32_t(unsafe.Offsetof(o.part) + uintptr(n)*unsafe.Sizeof(o.part[0]))
	o.h.kind = C.BT_COLLECTIVE
	return nil
}
