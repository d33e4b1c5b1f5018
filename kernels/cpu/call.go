package cpu

/*
#include "api.h"
extern bt_status boostOutside(uint64_t handle, uint64_t *wait_ns, char *err);
static inline bt_call outside_call(uint64_t handle) {
  bt_call c = {{sizeof c, BT_CALL}, boostOutside, handle};
  return c;
}
*/
import "C"

import (
	"errors"
	"runtime/cgo"
	"sync"
	"time"
	"unsafe"

	"boost-tui/kernels"
)

// call is a message over the network in its stream's queue. It runs in Go, on the stream's thread.
type call struct {
	comm *across
	what C.bt_coll
	home *calls
}

// calls are those that have not run yet: a stream that fails or is closed leaves some.
type calls struct {
	mu      sync.Mutex
	waiting map[cgo.Handle]bool
}

func (s *calls) add(c *call) cgo.Handle {
	h := cgo.NewHandle(c)
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting == nil {
		s.waiting = map[cgo.Handle]bool{}
	}
	s.waiting[h] = true
	return h
}

func (s *calls) done(h cgo.Handle) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.waiting[h] {
		delete(s.waiting, h)
		h.Delete()
	}
}

func (s *calls) forget() {
	s.mu.Lock()
	defer s.mu.Unlock()
	for h := range s.waiting {
		h.Delete()
	}
	s.waiting = nil
}

// call launches a message over the network.
func (d *Device) call(c kernels.Call, a *across, name string, o *C.bt_coll) error {
	h := d.calls.add(&call{comm: a, what: *o, home: &d.calls})
	op := C.outside_call(C.uint64_t(h))
	if err := d.LaunchRaw(c, name, unsafe.Pointer(&op)); err != nil {
		d.calls.done(h)
		return err
	}
	return nil
}

//export boostOutside
func boostOutside(handle C.uint64_t, waitNanos *C.uint64_t, text *C.char) C.bt_status {
	h := cgo.Handle(handle)
	c := h.Value().(*call)
	c.home.done(h)
	wait, err := c.comm.run(&c.what)
	*waitNanos += C.uint64_t(max(wait, 0) / time.Nanosecond)
	if err == nil {
		return C.BT_OK
	}
	place := unsafe.Slice((*byte)(unsafe.Pointer(text)), C.BT_ERRLEN)
	clear(place)
	copy(place[:len(place)-1], err.Error())
	switch {
	case errors.Is(err, kernels.ErrAborted):
		return C.BT_EABORTED
	case errors.Is(err, kernels.ErrInvalid):
		return C.BT_EINVAL
	default:
		return C.BT_ECOMM
	}
}
