package backend

/*
#cgo noescape t_comm_uid
#cgo nocallback t_comm_uid
#cgo noescape t_comm_join
#cgo nocallback t_comm_join
#cgo nocallback t_comm_ready
#cgo noescape t_comm_status
#cgo nocallback t_comm_status
#cgo nocallback t_comm_end
#include "table.h"
#include <stdlib.h>
*/
import "C"

import (
	"context"
	"fmt"
	"sync"
	"unsafe"

	"boost-tui/kernels"
)

// Comm is a communicator of a table. It implements kernels.Comm.
type Comm struct {
	dev        *Device
	name       string
	rank, size int

	mu sync.Mutex // guards c against Close, since Status and Abort come from any goroutine
	c  *C.bt_comm
}

// UID implements kernels.Device.
func (d *Device) UID() (kernels.UID, error) {
	if err := d.closed("uid"); err != nil {
		return kernels.UID{}, err
	}
	var u C.bt_uid
	s := C.t_comm_uid(d.api, d.ctx, &u)
	return *(*kernels.UID)(unsafe.Pointer(&u)), d.fail("uid", kernels.Label{}, s)
}

// Join implements kernels.Device.
func (d *Device) Join(ctx context.Context, id kernels.UID, n, rank int, name string) (kernels.Comm, error) {
	c, err := d.JoinComm(ctx, id, n, rank, name)
	if err != nil {
		return nil, err
	}
	return c, nil
}

// JoinComm is Join, with the communicator's own type.
func (d *Device) JoinComm(ctx context.Context, id kernels.UID, n, rank int, name string) (*Comm, error) {
	if err := d.closed("join"); err != nil {
		return nil, err
	}
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
			err := d.joinFailed(c, s)
			c.Close()
			return nil, err
		}
	}
}

// joinFailed is why ranks did not come together: the communicator's own word where it has one, else the context's.
func (d *Device) joinFailed(c *Comm, s C.bt_status) error {
	if err := c.Status(); err != nil && !d.o.Eager {
		return err
	}
	return d.fail("join", kernels.Label{}, s)
}

// Name implements kernels.Comm.
func (c *Comm) Name() string { return c.name }

// Rank implements kernels.Comm.
func (c *Comm) Rank() int { return c.rank }

// Size implements kernels.Comm.
func (c *Comm) Size() int { return c.size }

// Handle is the communicator's bt_comm, for a package that has functions of its own beside the table; nil after Close.
func (c *Comm) Handle() unsafe.Pointer {
	c.mu.Lock()
	defer c.mu.Unlock()
	return unsafe.Pointer(c.c)
}

// With calls f with the bt_comm, which stays until f returns; after Close it does not.
func (c *Comm) With(f func(handle unsafe.Pointer)) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.c != nil {
		f(unsafe.Pointer(c.c))
	}
}

// Status implements kernels.Comm.
func (c *Comm) Status() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.c == nil {
		return nil
	}
	var text [C.BT_ERRLEN]C.char
	if s := C.t_comm_status(c.dev.api, c.c, &text[0], C.size_t(len(text))); s != 0 {
		return &kernels.Error{Backend: c.dev.o.Name, Op: "communicator " + c.name, Msg: C.GoString(&text[0]), Err: sentinel(s)}
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
