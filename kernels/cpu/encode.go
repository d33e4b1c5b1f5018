package cpu

/*
#cgo noescape t_launch
#cgo nocallback t_launch
#cgo nocallback t_stream_issued
#cgo noescape t_launch_coll
#cgo nocallback t_launch_coll
#include "api.h"
*/
import "C"

import (
	"fmt"
	"unsafe"

	"boost-tui/kernels"
)

// Do implements kernels.Device.
func (d *Device) Do(c kernels.Call, op kernels.Op) error {
	if err := d.closed(op.Name()); err != nil {
		return err
	}
	if int(c.Stream) >= len(d.streams) {
		return invalid(op.Name(), c.Label, fmt.Sprintf("stream %d of %d", c.Stream, len(d.streams)))
	}
	if err := kernels.Validate(op); err != nil {
		return invalid(op.Name(), c.Label, err.Error())
	}
	switch e := op.(type) {
	case *kernels.Upload:
		return d.transfer(c, e.Src, e.Offset, e.Dst, true)
	case *kernels.Download:
		return d.transfer(c, e.Dst, e.Offset, e.Src, false)
	case kernels.Message:
		return d.message(c, e)
	case *kernels.Gemm:
		if e.A.DType != kernels.F32 || e.D.DType != kernels.F32 {
			return &kernels.Error{Backend: "cpu", Op: "gemm", Label: c.Label, Msg: "computes in fp32 only", Err: kernels.ErrUnsupported}
		}
		if d.blas.gonum && c.Stream == kernels.ComputeStream {
			gonumGemm(e)
			return nil
		}
		d.gemm(e)
	case *kernels.LowRankStep:
		return d.lowRankStep(c, e)
	default:
		if !d.block(op) && !d.rest(op) && !d.variant(op) {
			return &kernels.Error{Backend: "cpu", Op: op.Name(), Label: c.Label, Err: kernels.ErrUnsupported}
		}
	}
	return d.launch(c, op.Name())
}

// begin empties the operation under construction.
func (d *Device) begin(kind C.uint32_t, rows, cols int) *C.bt_op {
	d.op = C.bt_op{rows: C.int64_t(rows), cols: C.int64_t(cols)}
	d.op.h.size, d.op.h.kind = C.uint32_t(unsafe.Sizeof(d.op)), kind
	return &d.op
}

// over is begin with the shape of a view and the matrices in the order of boost_backend.h.
func (d *Device) over(kind C.uint32_t, shape *kernels.View, mats ...*kernels.View) *C.bt_op {
	o := d.begin(kind, shape.Rows, shape.Cols)
	for i, v := range mats {
		if v.Buf != nil {
			o.m[i].p, o.m[i].ld = C.bt_ptr(v.Ptr()), C.int64_t(v.LD)
		}
	}
	return o
}

// launch hands the operation under construction to its stream.
func (d *Device) launch(c kernels.Call, name string) error {
	s := d.streams[c.Stream]
	if c.Stream != kernels.ComputeStream {
		d.remember(s, c, name)
	}
	if r := C.t_launch(d.api, d.ctx, s.c, &d.op); r != 0 {
		return d.launchFailed(c, name, r)
	}
	return nil
}

func (d *Device) launchFailed(c kernels.Call, name string, r C.bt_status) error {
	if c.Stream != kernels.ComputeStream {
		return d.failed(name, r)
	}
	return d.fail(name, c.Label, r)
}

// remember keeps the label of the operation that is about to be queued.
func (d *Device) remember(s *stream, c kernels.Call, name string) {
	ticket := uint64(C.t_stream_issued(d.api, s.c)) + 1
	l := &s.labels[ticket%labelRing]
	l.ticket, l.op, l.label = ticket, name, c.Label
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

// block encodes the operations of a decoder block.
func (d *Device) block(op kernels.Op) bool {
	switch e := op.(type) {
	case *kernels.NormStats:
		d.over(C.BT_NORM_STATS, &e.X, &e.X, &e.Stat)
	case *kernels.NormRStd:
		o := d.over(C.BT_NORM_RSTD, &e.Stat, &e.Stat, &e.RStd)
		o.i[0], o.f[0] = C.int64_t(e.Width), C.double(e.Eps)
	case *kernels.NormApply:
		d.over(C.BT_NORM_APPLY, &e.X, &e.X, &e.W, &e.RStd, &e.Y)
	case *kernels.NormBwdStats:
		d.over(C.BT_NORM_BWD_STATS, &e.X, &e.X, &e.W, &e.RStd, &e.DY, &e.Dot)
	case *kernels.NormBwdApply:
		d.over(C.BT_NORM_BWD_APPLY, &e.X, &e.X, &e.W, &e.RStd, &e.DY, &e.Dot, &e.Base, &e.DX, &e.DW).i[0] = C.int64_t(e.Width)
	case *kernels.Latent:
		d.over(C.BT_LATENT, &e.P, &e.P, &e.RStd, &e.U, &e.H).i[0] = flag(e.Silu)
	case *kernels.LatentBwd:
		d.over(C.BT_LATENT_BWD, &e.U, &e.DH, &e.U, &e.DU, &e.Dot).i[0] = flag(e.Silu)
	case *kernels.SwiGLU:
		d.over(C.BT_SWIGLU, &e.G, &e.G, &e.U, &e.Y).i[0] = flag(e.Silu)
	case *kernels.SwiGLUBwd:
		d.over(C.BT_SWIGLU_BWD, &e.G, &e.G, &e.U, &e.DY, &e.DG, &e.DU).i[0] = flag(e.Silu)
	case *kernels.Rope:
		o := d.over(C.BT_ROPE, &e.X, &e.X)
		o.i[0], o.i[1], o.i[2], o.f[0] = C.int64_t(e.Seq), C.int64_t(e.HeadDim), flag(e.Inverse), C.double(e.Theta)
	case *kernels.Attention:
		o := d.over(C.BT_ATTENTION, &e.Q, &e.Q, &e.K, &e.V, &e.O, &e.LSE)
		o.i[0], o.i[1], o.f[0] = C.int64_t(e.Seq), C.int64_t(e.HeadDim), C.double(e.Scale)
	case *kernels.AttentionBwd:
		o := d.over(C.BT_ATTENTION_BWD, &e.Q, &e.Q, &e.K, &e.V, &e.O, &e.LSE, &e.DO, &e.DQ, &e.DK, &e.DV, &e.Work)
		o.i[0], o.i[1], o.f[0] = C.int64_t(e.Seq), C.int64_t(e.HeadDim), C.double(e.Scale)
	default:
		return false
	}
	return true
}

// rest encodes the operations over the vocabulary, of the optimizer, and of memory.
func (d *Device) rest(op kernels.Op) bool {
	switch e := op.(type) {
	case *kernels.Axpby:
		o := d.over(C.BT_AXPBY, &e.Out, &e.X, &e.Y, &e.Out)
		o.f[0], o.f[1] = C.double(e.A), C.double(e.B)
	case *kernels.Copy:
		d.over(C.BT_COPY, &e.Dst, &e.Src, &e.Dst).i[0] = C.int64_t(e.Dst.DType.Bytes())
	case *kernels.Fill:
		d.over(C.BT_FILL, &e.X, &e.X).f[0] = C.double(e.Value)
	case *kernels.Embed:
		o := d.over(C.BT_EMBED, &e.Out, &e.IDs, &e.Table, &e.Out)
		o.i[0], o.i[1] = C.int64_t(e.First), C.int64_t(e.Table.Rows)
	case *kernels.EmbedBwd:
		o := d.over(C.BT_EMBED_BWD, &e.DOut, &e.IDs, &e.DOut, &e.DTable)
		o.i[0], o.i[1] = C.int64_t(e.First), C.int64_t(e.DTable.Rows)
	case *kernels.XentMax:
		d.over(C.BT_XENT_MAX, &e.Logits, &e.Logits, &e.Max)
	case *kernels.XentSum:
		d.over(C.BT_XENT_SUM, &e.Logits, &e.Logits, &e.Targets, &e.Max, &e.Sum, &e.Target).i[0] = C.int64_t(e.First)
	case *kernels.XentLoss:
		o := d.over(C.BT_XENT_LOSS, &e.Logits, &e.Logits, &e.Targets, &e.Max, &e.Sum, &e.Target, &e.Loss, &e.DLogits)
		o.i[0], o.f[0] = C.int64_t(e.First), C.double(e.Scale)
	case *kernels.SumSq:
		o := d.over(C.BT_SUMSQ, &e.X, &e.X, &e.Out)
		o.rows, o.cols = 1, C.int64_t(e.X.Len())
	case *kernels.ClipScale:
		d.over(C.BT_CLIP_SCALE, &e.Norm, &e.SumSq, &e.Norm, &e.Scale).f[0] = C.double(e.MaxNorm)
	case *kernels.AdamW:
		o := d.over(C.BT_ADAMW, &e.Param, &e.Param, &e.M, &e.V, &e.Grad, &e.Scale)
		o.rows, o.cols, o.i[0] = 1, C.int64_t(e.Param.Len()), C.int64_t(e.Step)
		for i, f := range []float32{e.LR, e.Beta1, e.Beta2, e.Eps, e.WeightDecay} {
			o.f[i] = C.double(f)
		}
	case *kernels.FindNonFinite:
		d.over(C.BT_FIND_NON_FINITE, &e.X, &e.X, &e.At)
	default:
		return false
	}
	return true
}
