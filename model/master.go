package model

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"boost-tui/kernels"
)

// Master is F32 copies of the elements [Lo, Hi) of Weights, of which those are the rounded ones. A decoder that works in BF16
// has no use for them itself; whoever steps the weights keeps them, and says so.
type Master struct {
	Lo, Hi int
	View   kernels.View // one row
}

// KeepMasters says where to put what weights are set to before it is rounded.
func (d *Decoder) KeepMasters(list []Master) { d.masters = list }

// First is the place in Weights where a trained parameter's part begins.
func (d *Decoder) First(p Param) int {
	w := d.arenas.weights
	return int((p.Weight.Offset - w.Offset) / w.DType.Bytes())
}

// LoadPart sets a parameter from the elements of the rank's part, row by row.
func (d *Decoder) LoadPart(ctx context.Context, name string, part []float32) error {
	p, err := d.Param(name)
	if err != nil {
		return err
	}
	if int64(len(part)) != p.Weight.Len() {
		return fmt.Errorf("model: the rank's part of %s has %d elements, not %d", name, p.Weight.Len(), len(part))
	}
	return d.setPart(ctx, p, func(i int64) float32 { return part[i] })
}

// setPart uploads f of the places in the rank's part, piece by piece.
func (d *Decoder) setPart(ctx context.Context, p Param, f func(i int64) float32) error {
	trained := p.Weight.Buf == d.arenas.weights.Buf
	return d.pieces(p.Weight, func(host *kernels.Host, from int, piece kernels.View) error {
		for i := range piece.Cols {
			binary.NativeEndian.PutUint32(host.Bytes[4*i:], math.Float32bits(f(int64(from+i))))
		}
		if trained {
			if err := d.setMasters(ctx, p, host, d.First(p)+from, piece.Cols); err != nil {
				return err
			}
		}
		if piece.DType == kernels.BF16 {
			for i := range piece.Cols { // a number moves to where an earlier one was
				f := math.Float32frombits(binary.NativeEndian.Uint32(host.Bytes[4*i:]))
				binary.NativeEndian.PutUint16(host.Bytes[2*i:], kernels.ToBF16(f))
			}
		}
		return d.upload(ctx, p.Name, host, 0, piece)
	})
}

// setMasters uploads the n numbers of the host that belong to the weights from the first, as far as masters are kept.
func (d *Decoder) setMasters(ctx context.Context, p Param, host *kernels.Host, first, n int) error {
	for _, m := range d.masters {
		lo, hi := max(m.Lo, first), min(m.Hi, first+n)
		if lo >= hi {
			continue
		}
		if err := d.upload(ctx, p.Name, host, 4*int64(lo-first), m.View.ColRange(lo-m.Lo, hi-m.Lo)); err != nil {
			return err
		}
	}
	return nil
}

func (d *Decoder) upload(ctx context.Context, name string, host *kernels.Host, offset int64, to kernels.View) error {
	if err := d.dev.Do(kernels.Call{Label: dataLabel(name)}, &kernels.Upload{Src: host, Offset: offset, Dst: to}); err != nil {
		return err
	}
	return d.dev.Sync(ctx, d.dev.Compute())
}
