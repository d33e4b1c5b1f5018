package cpu

/*
#include "api.h"
*/
import "C"

import (
	"math"

	"boost-tui/kernels"
	"boost-tui/kernels/lowrank"
)

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

// lowRankStep is computed in Go, in float64: it is rare, and small beside a step.
func (d *Device) lowRankStep(c kernels.Call, e *kernels.LowRankStep) error {
	if c.Stream != kernels.ComputeStream {
		return &kernels.Error{Backend: "cpu", Op: e.Name(), Label: c.Label, Msg: "runs on the compute stream only", Err: kernels.ErrUnsupported}
	}
	if scale := float64(floats(e.Scale, 0)[0]); math.IsNaN(scale) || math.IsInf(scale, 0) {
		return nil
	}
	over := func(v kernels.View) lowrank.Matrix {
		return lowrank.Matrix{Rows: v.Rows, Cols: v.Cols, Stride: max(v.LD, v.Cols), Data: floats(v, 0)}
	}
	if err := lowrank.Step(over(e.A), over(e.B), over(e.DA), over(e.DB), float64(e.Rate)); err != nil {
		return &kernels.Error{Backend: "cpu", Op: e.Name(), Label: c.Label, Msg: err.Error(), Err: kernels.ErrDevice}
	}
	return nil
}
