package cpu

/*
#cgo noescape t_alloc
#cgo nocallback t_alloc
#cgo nocallback t_free
#cgo noescape t_host_alloc
#cgo nocallback t_host_alloc
#include "api.h"
*/
import "C"

import (
	"fmt"
	"unsafe"

	"boost-tui/kernels"
)

// Alloc implements kernels.Device. Symmetric memory is shared with the other ranks of the segment, which need not
// allocate alike: stages of a pipeline hold different things.
func (d *Device) Alloc(name string, bytes int64, symmetric bool) (*kernels.Buffer, error) {
	if err := d.closed("alloc"); err != nil {
		return nil, err
	}
	if bytes < 0 {
		return nil, invalid("alloc", kernels.Label{}, fmt.Sprintf("%d bytes of %s", bytes, name))
	}
	var flags C.uint32_t
	if symmetric {
		flags = C.BT_ALLOC_SYMMETRIC
	}
	var p C.bt_ptr
	if s := C.t_alloc(d.api, d.ctx, C.uint64_t(bytes), flags, &p); s != 0 {
		err := d.fail("alloc", kernels.Label{}, s).(*kernels.Error)
		err.Msg = name + ": " + err.Msg
		return nil, err
	}
	return &kernels.Buffer{Name: name, Ptr: kernels.Ptr(p), Bytes: bytes, Symmetric: symmetric}, nil
}

// Free implements kernels.Device. The buffer has no bytes afterwards, so that views of it fail their check.
func (d *Device) Free(b *kernels.Buffer) error {
	if err := d.closed("free"); err != nil {
		return err
	}
	if b == nil || b.Ptr == 0 {
		return invalid("free", kernels.Label{}, "a buffer that is not allocated")
	}
	s := C.t_free(d.api, d.ctx, C.bt_ptr(b.Ptr))
	if s == 0 {
		b.Ptr, b.Bytes = 0, 0
	}
	return d.fail("free", kernels.Label{}, s)
}

// Host implements kernels.Device. The memory lives until Close.
func (d *Device) Host(bytes int64) (*kernels.Host, error) {
	if err := d.closed("host"); err != nil {
		return nil, err
	}
	if bytes < 0 {
		return nil, invalid("host", kernels.Label{}, fmt.Sprintf("%d bytes", bytes))
	}
	var p unsafe.Pointer
	if s := C.t_host_alloc(d.api, d.ctx, C.uint64_t(bytes), &p); s != 0 {
		return nil, d.fail("host", kernels.Label{}, s)
	}
	d.host[p] = bytes
	return &kernels.Host{Bytes: unsafe.Slice((*byte)(p), bytes)}, nil
}

// at is device memory as bytes of this process.
func at(v kernels.View) []byte {
	return unsafe.Slice((*byte)(C.t_at(C.bt_ptr(v.Ptr()))), v.Bytes())
}

// sharedCopy is from how many bytes on a copy is worth the pool's threads.
const sharedCopy = 1 << 20

// transfer copies between host and device: at once on the compute stream, else in the stream's turn,
// which only memory from Host can wait for.
func (d *Device) transfer(c kernels.Call, h *kernels.Host, offset int64, v kernels.View, upload bool) error {
	n := v.Bytes()
	if n == 0 {
		return nil
	}
	base := unsafe.Pointer(unsafe.SliceData(h.Bytes))
	size, ok := d.host[base]
	ok = ok && offset+n <= size
	if c.Stream == kernels.ComputeStream && (n < sharedCopy || !ok) {
		if upload {
			copy(at(v), h.Bytes[offset:offset+n])
		} else {
			copy(h.Bytes[offset:offset+n], at(v))
		}
		return nil
	}
	if !ok {
		return invalid("copy", c.Label, "a copy on a stream of its own needs host memory from Host")
	}
	host, dev := C.bt_ptr(uintptr(base)+uintptr(offset)), C.bt_ptr(v.Ptr())
	o := d.begin(C.BT_MEMCPY, 1, 1)
	o.i[0] = C.int64_t(n)
	o.m[0].p, o.m[1].p = host, dev
	if !upload {
		o.m[0].p, o.m[1].p = dev, host
	}
	return d.launch(c, "copy")
}

// bytesAt is the start of a buffer.
func bytesAt(b *kernels.Buffer) unsafe.Pointer { return C.t_at(C.bt_ptr(b.Ptr)) }
