package backend

import (
	"context"
	"encoding/binary"
	"math"

	"boost-tui/kernels"
	"boost-tui/kernels/lowrank"
)

// lowRankStep is computed in Go, in float64: it is rare, and small beside a step. Where device memory is not mapped the
// matrices come to the host and go back, and the host waits for the device.
func (d *Device) lowRankStep(c kernels.Call, e *kernels.LowRankStep) error {
	if c.Stream != kernels.ComputeStream {
		return d.unsupported(e.Name(), c.Label, "runs on the compute stream only")
	}
	over := map[bool]func(kernels.View) lowrank.Matrix{true: mapped, false: packed}[d.o.Mapped]
	a, b, da, db := over(e.A), over(e.B), over(e.DA), over(e.DB)
	scale := []float32{0}
	if d.o.Mapped {
		scale = Floats(e.Scale, 0)
	} else if err := d.fetch(c, []kernels.View{e.A, e.B, e.DA, e.DB, e.Scale}, [][]float32{a.Data, b.Data, da.Data, db.Data, scale}); err != nil {
		return err
	}
	if s := float64(scale[0]); math.IsNaN(s) || math.IsInf(s, 0) {
		return nil
	}
	if err := lowrank.Step(a, b, da, db, float64(e.Rate)); err != nil {
		return &kernels.Error{Backend: d.o.Name, Op: e.Name(), Label: c.Label, Msg: err.Error(), Err: kernels.ErrDevice}
	}
	if d.o.Mapped {
		return nil
	}
	if err := d.move(c, e.A, a.Data, true); err != nil {
		return err
	}
	return d.move(c, e.B, b.Data, true)
}

// mapped is a matrix where it lies.
func mapped(v kernels.View) lowrank.Matrix {
	return lowrank.Matrix{Rows: v.Rows, Cols: v.Cols, Stride: max(v.LD, v.Cols), Data: Floats(v, 0)}
}

// packed is room for a matrix on the host.
func packed(v kernels.View) lowrank.Matrix {
	return lowrank.Matrix{Rows: v.Rows, Cols: v.Cols, Stride: v.Cols, Data: make([]float32, v.Len())}
}

// fetch brings matrices to the host once the work that was issued before is done.
func (d *Device) fetch(c kernels.Call, views []kernels.View, to [][]float32) error {
	for i, v := range views {
		if err := d.move(c, v, to[i], false); err != nil {
			return err
		}
	}
	return nil
}

// move copies a matrix, which may have gaps between its rows, to or from packed numbers.
func (d *Device) move(c kernels.Call, v kernels.View, x []float32, up bool) error {
	pieces := []kernels.View{v}
	if !v.Contiguous() {
		pieces = pieces[:0]
		for r := range v.Rows {
			pieces = append(pieces, v.RowRange(r, r+1))
		}
	}
	for _, p := range pieces {
		bytes := make([]byte, p.Bytes())
		if up {
			for i := range p.Len() {
				binary.NativeEndian.PutUint32(bytes[4*i:], math.Float32bits(x[i]))
			}
		}
		if err := d.staged(c, bytes, p, up); err != nil {
			return err
		}
		if !up {
			for i := range p.Len() {
				x[i] = math.Float32frombits(binary.NativeEndian.Uint32(bytes[4*i:]))
			}
		}
		x = x[p.Len():]
	}
	return d.Sync(context.Background(), c.Stream)
}
