package backend

/*
#cgo noescape t_launch_op
#cgo nocallback t_launch_op
#include "table.h"
*/
import "C"

import (
	"unsafe"

	"boost-tui/kernels"
)

// Do implements kernels.Device.
func (d *Device) Do(c kernels.Call, op kernels.Op) error {
	if err := d.ready(c, op); err != nil {
		return err
	}
	switch e := op.(type) {
	case *kernels.Upload:
		return d.transfer(c, e.Src, e.Offset, e.Dst, true)
	case *kernels.Download:
		return d.transfer(c, e.Dst, e.Offset, e.Src, false)
	case kernels.Message:
		return d.message(c, e)
	case *kernels.Gemm:
		d.gemm(e)
	case *kernels.LowRankStep:
		return d.lowRankStep(c, e)
	default:
		if !d.block(op) && !d.rest(op) && !d.variant(op) {
			return d.unsupported(op.Name(), c.Label, "")
		}
	}
	return d.launch(c, op.Name())
}

// begin empties the operation under construction.
func (d *Device) begin(kind C.uint32_t, rows, cols int) *C.bt_op {
	d.op = C.bt_op{rows: C.int64_t(rows), cols: C.int64_t(cols)}
	d.op.h.size, d.op.h.kind = C.uint32_t(unsafe.Sizeof(d.op)), kind
	d.narrow = false
	return &d.op
}

// over is begin with the shape of a view and the matrices in the order of boost_backend.h.
func (d *Device) over(kind C.uint32_t, shape *kernels.View, mats ...*kernels.View) *C.bt_op {
	o := d.begin(kind, shape.Rows, shape.Cols)
	for i, v := range mats {
		if v.Buf != nil {
			o.m[i].p, o.m[i].ld, o.t[i] = C.bt_ptr(v.Ptr()), C.int64_t(v.LD), C.uint8_t(v.DType)
			d.narrow = d.narrow || v.DType == kernels.BF16 || v.DType == kernels.F16
		}
	}
	return o
}

// launch hands the operation under construction to its stream.
func (d *Device) launch(c kernels.Call, name string) error {
	if d.narrow && d.o.SinglePrecision {
		return d.unsupported(name, c.Label, "computes in fp32 only")
	}
	s := d.streams[c.Stream]
	if !s.eager {
		d.remember(s, c, name)
	}
	if r := C.t_launch_op(d.api, d.ctx, s.c, &d.op); r != 0 {
		return d.launchFailed(c, name, r)
	}
	s.issued++
	return nil
}

// launchFailed is the error of a launch: the operation's own, unless its stream had failed before.
func (d *Device) launchFailed(c kernels.Call, name string, r C.bt_status) error {
	s := d.streams[c.Stream]
	if s.eager {
		return d.fail(name, c.Label, r)
	}
	var text *C.char
	var ticket C.uint64_t
	if C.t_stream_error(d.api, d.ctx, s.c, &text, &ticket) == C.BT_OK {
		return d.fail(name, c.Label, r)
	}
	return d.failed(name, r)
}

func flag(b bool) C.int64_t {
	if b {
		return 1
	}
	return 0
}

func (d *Device) gemm(e *kernels.Gemm) {
	_, _, k := e.Dims()
	o := d.over(C.BT_GEMM, &e.D, &e.A, &e.B, &e.C, &e.D)
	o.i = [8]C.int64_t{C.int64_t(k), C.int64_t(e.Count()), flag(e.TransA), flag(e.TransB),
		C.int64_t(e.StrideA), C.int64_t(e.StrideB), C.int64_t(e.StrideC), C.int64_t(e.StrideD)}
	o.f[0], o.f[1] = C.double(e.Alpha), C.double(e.Beta)
}
