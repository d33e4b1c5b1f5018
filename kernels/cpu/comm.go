package cpu

/*
#cgo noescape t_comm_uid
#cgo nocallback t_comm_uid
#cgo noescape t_comm_join
#cgo nocallback t_comm_join
#cgo nocallback t_comm_ready
#cgo noescape t_comm_status
#cgo nocallback t_comm_status
#cgo nocallback t_comm_end
#include "api.h"
#include <stdlib.h>
*/
import "C"

import (
	"context"
	"fmt"
	"sync"
	"unsafe"

	"boost-tui/kernels"
	"boost-tui/kernels/wire"
)

// Comm is a communicator over the shared memory of a host. It implements kernels.Comm. Where members are on several
// hosts it is a part of an across.
type Comm struct {
	dev        *Device
	name       string
	rank, size int

	mu sync.Mutex // guards c against Close, since Status and Abort come from any goroutine
	c  *C.bt_comm
}

// UID implements kernels.Device. With a network the identity says where this device can be reached.
func (d *Device) UID() (kernels.UID, error) {
	if err := d.closed("uid"); err != nil {
		return kernels.UID{}, err
	}
	if d.node == nil {
		return d.sharedUID()
	}
	v, err := d.node.Invite()
	if err != nil {
		return kernels.UID{}, &kernels.Error{Backend: "cpu", Op: "uid", Msg: err.Error(), Err: kernels.ErrComm}
	}
	var u kernels.UID
	copy(u[:], v.Bytes())
	return u, nil
}

// sharedUID is the identity of a communicator in the memory that ranks of this host share.
func (d *Device) sharedUID() (kernels.UID, error) {
	var u C.bt_uid
	s := C.t_comm_uid(d.api, d.ctx, &u)
	return *(*kernels.UID)(unsafe.Pointer(&u)), d.fail("uid", kernels.Label{}, s)
}

// Join implements kernels.Device. Members share this device's segment, or reach each other by the network.
func (d *Device) Join(ctx context.Context, id kernels.UID, n, rank int, name string) (kernels.Comm, error) {
	if err := d.closed("join"); err != nil {
		return nil, err
	}
	if v, ok := wire.ParseInvitation(id[:]); ok {
		return d.joinAcross(ctx, v, n, rank, name)
	}
	c, err := d.joinShared(ctx, id, n, rank, name)
	if err != nil {
		return nil, err
	}
	return c, nil
}

func (d *Device) joinShared(ctx context.Context, id kernels.UID, n, rank int, name string) (*Comm, error) {
	text := C.CString(name)
	defer C.free(unsafe.Pointer(text))
	c := &Comm{dev: d, name: name, rank: rank, size: n}
	if s := C.t_comm_join(d.api, d.ctx, (*C.bt_uid)(unsafe.Pointer(&id)), C.int32_t(n), C.int32_t(rank), text, &c.c); s != 0 {
		return nil, d.fail("join", kernels.Label{}, s)
	}
	d.comms = append(d.comms, c)
	for {
		switch s := C.t_comm_ready(d.api, c.c, pollMicros); s {
		case C.BT_OK:
			return c, nil
		case C.BT_ENOTREADY:
			if ctx.Err() != nil {
				c.Abort()
				c.Close()
				return nil, fmt.Errorf("wait for the %d ranks of %s: %w", n, name, context.Cause(ctx))
			}
		default:
			err := d.fail("join", kernels.Label{}, s)
			c.Close()
			return nil, err
		}
	}
}

// Name implements kernels.Comm.
func (c *Comm) Name() string { return c.name }

// Rank implements kernels.Comm.
func (c *Comm) Rank() int { return c.rank }

// Size implements kernels.Comm.
func (c *Comm) Size() int { return c.size }

// Status implements kernels.Comm.
func (c *Comm) Status() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.c == nil {
		return nil
	}
	var text [512]C.char
	if s := C.t_comm_status(c.dev.api, c.c, &text[0], C.size_t(len(text))); s != 0 {
		return &kernels.Error{Backend: "cpu", Op: "communicator " + c.name, Msg: C.GoString(&text[0]), Err: sentinel(s)}
	}
	return nil
}

// Abort implements kernels.Comm.
func (c *Comm) Abort() error { return c.end(C.BT_END_ABORT) }

// Close leaves the communicator. Collectives of others that are still to come fail.
func (c *Comm) Close() error {
	err := c.end(C.BT_END_FINALIZE)
	c.mu.Lock()
	c.c = nil
	c.mu.Unlock()
	return err
}

func (c *Comm) end(how C.int32_t) error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.c != nil {
		C.t_comm_end(c.dev.api, c.c, how)
	}
	return nil
}

// message encodes and launches a group call or a transfer.
func (d *Device) message(c kernels.Call, e kernels.Message) error {
	o := &d.coll
	if err := encode(o, e); err != nil {
		return invalid(e.Name(), c.Label, err.Error())
	}
	o.least_ns = C.int64_t(d.link.Time(e))
	setText(o.label[:], c.Label.String())
	comm, shared := e.Group().(*Comm)
	if a, ok := e.Group().(*across); ok && a.dev == d {
		if comm, shared = a.here(o); !shared {
			return d.call(c, a, e.Name(), o)
		}
	}
	if !shared || comm.dev != d || comm.c == nil {
		return invalid(e.Name(), c.Label, "the communicator is closed or not one of this device")
	}
	o.comm = C.uint64_t(uintptr(unsafe.Pointer(comm.c)))
	s := d.streams[c.Stream]
	if c.Stream != kernels.ComputeStream {
		d.remember(s, c, e.Name())
	}
	if r := C.t_launch_coll(d.api, d.ctx, s.c, o); r != 0 {
		return d.launchFailed(c, e.Name(), r)
	}
	return nil
}

// encode fills in the parts of a message.
func encode(o *C.bt_coll, e kernels.Message) error {
	*o = C.bt_coll{}
	n := 0
	add := func(kind C.int32_t, root int) *C.bt_part {
		if n == len(o.part) {
			n++ // too many: told below
			return new(C.bt_part)
		}
		q := &o.part[n]
		n++
		q.kind, q.root = kind, C.int32_t(root)
		return q
	}
	switch m := e.(type) {
	case *kernels.Collective:
		for _, p := range m.Parts {
			q := add(C.int32_t(p.Kind), p.Root)
			q.reduce, q.n, q.src = C.int32_t(p.Reduce), C.uint64_t(p.Send.Len()), C.bt_ptr(p.Send.Ptr())
			if !p.Recv.IsZero() {
				q.dst = C.bt_ptr(p.Recv.Ptr())
			}
		}
	case *kernels.Send:
		for _, v := range m.Views {
			q := add(C.BT_SEND, m.Peer)
			q.n, q.src = C.uint64_t(v.Len()), C.bt_ptr(v.Ptr())
		}
	case *kernels.Recv:
		for _, v := range m.Views {
			q := add(C.BT_RECV, m.Peer)
			q.n, q.dst = C.uint64_t(v.Len()), C.bt_ptr(v.Ptr())
		}
	}
	if n > len(o.part) {
		return fmt.Errorf("more parts than %d; a group call holds no more", len(o.part))
	}
	o.parts, o.ranks = C.int32_t(n), C.int32_t(e.Group().Size())
	o.h.size = C.uint32_t(unsafe.Offsetof(o.part) + uintptr(n)*unsafe.Sizeof(o.part[0]))
	o.h.kind = C.BT_COLLECTIVE
	return nil
}

// setText fills a zeroed C array, which stays terminated.
func setText(dst []C.char, s string) {
	for i := range min(len(s), len(dst)-1) {
		dst[i] = C.char(s[i])
	}
}
