package backend

/*
#include "table.h"
*/
import "C"

import "boost-tui/kernels"

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
		d.narrow = false // bytes are bytes
	case *kernels.Convert:
		d.over(C.BT_CONVERT, &e.Out, &e.X, &e.Out)
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

// variant encodes the operations that only some variants need.
func (d *Device) variant(op kernels.Op) bool {
	switch e := op.(type) {
	case *kernels.Cross:
		d.over(C.BT_CROSS, &e.U, &e.U, &e.Prev, &e.Gate, &e.H).i[0] = flag(e.Silu)
	case *kernels.CrossBwd:
		o := d.over(C.BT_CROSS_BWD, &e.DH, &e.DH, &e.Carry, &e.Prev, &e.Gate, &e.DGate)
		o.i[0], o.i[1] = flag(e.Silu), flag(e.Fresh)
	case *kernels.Scatter:
		d.over(C.BT_SCATTER, &e.Values, &e.Values, &e.Index, &e.Out).i[0] = C.int64_t(e.Out.Len())
	case *kernels.Pick:
		o := d.over(C.BT_PICK, &e.Out, &e.X, &e.Index, &e.Out)
		o.i[0], o.f[0] = C.int64_t(e.X.Len()), C.double(e.Beta)
	case *kernels.Draw:
		o := d.over(C.BT_DRAW, &e.X, &e.X)
		o.i = [8]C.int64_t{C.int64_t(e.Key), C.int64_t(e.Row), C.int64_t(e.Col), C.int64_t(e.Width)}
		o.f[0] = C.double(e.Bound)
	case *kernels.Adam:
		flat := e.M.Flat()
		o := d.over(C.BT_ADAM, &flat, &e.Param, &e.M, &e.V, &e.Grad, &e.Scale, &e.Out)
		o.f = [6]C.double{C.double(e.Rate), C.double(e.Decay), C.double(e.Beta1), C.double(e.Beta2), C.double(e.Eps)}
	default:
		return false
	}
	return true
}
