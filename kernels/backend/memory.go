package backend

/*
#cgo noescape t_alloc
#cgo nocallback t_alloc
#cgo nocallback t_free
#cgo noescape t_host_alloc
#cgo nocallback t_host_alloc
#include "table.h"
*/
import "C"

import (
	"context"
	"fmt"
	"unsafe"

	"boost-tui/kernels"
)

// Alloc implements kernels.Device.
func (d *Device) Alloc(name string, bytes int64, symmetric bool) (*kernels.Buffer, error) {
	if err := d.closed("alloc"); err != nil {
		return nil, err
	}
	if bytes < 0 {
		return nil, d.invalid("alloc", kernels.Label{}, fmt.Sprintf("%d bytes of %s", bytes, name))
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
		return d.invalid("free", kernels.Label{}, "a buffer that is not allocated")
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
		return nil, d.invalid("host", kernels.Label{}, fmt.Sprintf("%d bytes", bytes))
	}
	var p unsafe.Pointer
	if s := C.t_host_alloc(d.api, d.ctx, C.uint64_t(bytes), &p); s != 0 {
		return nil, d.fail("host", kernels.Label{}, s)
	}
	d.host[p] = bytes
	return &kernels.Host{Bytes: unsafe.Slice((*byte)(p), bytes)}, nil
}

// at is mapped device memory as bytes.
func at(v kernels.View) []byte {
	return unsafe.Slice((*byte)(C.t_at(C.bt_ptr(v.Ptr()))), v.Bytes())
}

// Floats is the memory of an fp32 matrix of a mapped device, from its first element to its last, offset elements on.
func Floats(v kernels.View, offset int64) []float32 {
	n := int64(v.Rows-1)*int64(v.LD) + int64(v.Cols)
	return unsafe.Slice((*float32)(C.t_at(C.bt_ptr(v.Ptr())+C.bt_ptr(4*offset))), n)
}

// sharedCopy is from how many bytes on a copy is worth the threads of a mapped device.
const sharedCopy = 1 << 20

// transfer copies between host and device, in the stream's turn, for which the memory must be from Host. On the compute
// stream other memory will do: it is copied at once where the device is mapped, else by way of memory that is.
func (d *Device) transfer(c kernels.Call, h *kernels.Host, offset int64, v kernels.View, upload bool) error {
	n := v.Bytes()
	if n == 0 {
		return nil
	}
	base := unsafe.Pointer(unsafe.SliceData(h.Bytes))
	size, ok := d.host[base]
	ok = ok && offset+n <= size
	if c.Stream == kernels.ComputeStream {
		switch {
		case d.o.Mapped && (n < sharedCopy || !ok):
			if upload {
				copy(at(v), h.Bytes[offset:offset+n])
			} else {
				copy(h.Bytes[offset:offset+n], at(v))
			}
			return nil
		case !ok:
			return d.staged(c, h.Bytes[offset:offset+n], v, upload)
		}
	}
	if !ok {
		return d.invalid("copy", c.Label, "a copy on a stream of its own needs host memory from Host")
	}
	return d.copy(c, C.bt_ptr(uintptr(base)+uintptr(offset)), v, upload)
}

func (d *Device) copy(c kernels.Call, host C.bt_ptr, v kernels.View, upload bool) error {
	dev := C.bt_ptr(v.Ptr())
	o := d.begin(C.BT_MEMCPY, 1, 1)
	o.i[0] = C.int64_t(v.Bytes())
	o.m[0].p, o.m[1].p = host, dev
	if !upload {
		o.m[0].p, o.m[1].p = dev, host
	}
	o.t[0], o.t[1] = C.BT_U8, C.BT_U8
	return d.launch(c, "copy")
}

// stagingBytes is how much a staged copy moves at a time.
const stagingBytes = 1 << 20

// staged copies by way of host memory that copies may touch while they run, and waits for each piece.
func (d *Device) staged(c kernels.Call, bytes []byte, v kernels.View, upload bool) error {
	if d.staging == nil {
		var err error
		if d.staging, err = d.Host(stagingBytes); err != nil {
			return err
		}
	}
	stage := C.bt_ptr(uintptr(unsafe.Pointer(unsafe.SliceData(d.staging.Bytes))))
	for done := 0; done < len(bytes); {
		part := bytes[done:min(done+stagingBytes, len(bytes))]
		piece := kernels.View{Buf: v.Buf, Offset: v.Offset + int64(done), Rows: 1, Cols: len(part), LD: len(part), DType: kernels.U8}
		if upload {
			copy(d.staging.Bytes, part)
		}
		if err := d.copy(c, stage, piece, upload); err != nil {
			return err
		}
		if err := d.Sync(context.Background(), c.Stream); err != nil {
			return err
		}
		if !upload {
			copy(part, d.staging.Bytes)
		}
		done += len(part)
	}
	return nil
}

// ready is what every operation must pass before it is encoded.
func (d *Device) ready(c kernels.Call, op kernels.Op) error {
	if err := d.closed(op.Name()); err != nil {
		return err
	}
	if int(c.Stream) >= len(d.streams) {
		return d.invalid(op.Name(), c.Label, fmt.Sprintf("stream %d of %d", c.Stream, len(d.streams)))
	}
	if err := kernels.Validate(op); err != nil {
		return d.invalid(op.Name(), c.Label, err.Error())
	}
	return nil
}

// Ready reports why an operation cannot be done on a stream: for a package that does some operations itself.
func (d *Device) Ready(c kernels.Call, op kernels.Op) error { return d.ready(c, op) }
