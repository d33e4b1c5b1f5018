// Package check wraps any device and verifies every call before it runs: operands lie in live buffers of
// the device and inside their bounds, shapes and types agree, and outputs alias only what an operation allows. With
// Options.Finite it also looks, after every operation, for the first NaN or infinity that was written, and says which
// element of which operand of which operation it is.
//
// It is for tests and for hunting a fault down: looking for what is not finite waits for the device after every call.
package check

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"boost-tui/kernels"
)

// Options of the decorator.
type Options struct {
	Finite bool // look for NaN and infinities in what was written
}

// device is the decorator. It is used by one goroutine, like the device below.
type device struct {
	kernels.Device
	options Options
	backend string
	live    map[*kernels.Buffer]bool
	freed   map[*kernels.Buffer]bool
	at      kernels.View  // where FindNonFinite puts the element
	host    *kernels.Host // its copy, and the element's value
}

// Wrap makes the decorator. Buffers must be allocated through it.
func Wrap(dev kernels.Device, o Options) kernels.Device {
	return &device{Device: dev, options: o, backend: dev.Info().Backend, live: map[*kernels.Buffer]bool{}, freed: map[*kernels.Buffer]bool{}}
}

// Alloc implements kernels.Device.
func (d *device) Alloc(name string, bytes int64, symmetric bool) (*kernels.Buffer, error) {
	b, err := d.Device.Alloc(name, bytes, symmetric)
	if err == nil {
		d.live[b] = true
	}
	return b, err
}

// Free implements kernels.Device.
func (d *device) Free(b *kernels.Buffer) error {
	if err := d.owned(b); err != nil {
		return d.fail("free", kernels.Label{}, kernels.ErrInvalid, err.Error())
	}
	if err := d.Device.Free(b); err != nil {
		return err
	}
	delete(d.live, b)
	d.freed[b] = true
	return nil
}

func (d *device) owned(b *kernels.Buffer) error {
	switch {
	case d.live[b]:
		return nil
	case d.freed[b]:
		return fmt.Errorf("buffer %s was freed", b.Name)
	case b == nil:
		return fmt.Errorf("no buffer")
	default:
		return fmt.Errorf("buffer %s is not of this device", b.Name)
	}
}

// Do implements kernels.Device.
func (d *device) Do(at kernels.Call, op kernels.Op) error {
	if err := d.verify(op); err != nil {
		return d.fail(op.Name(), at.Label, kernels.ErrInvalid, err.Error())
	}
	if err := d.Device.Do(at, op); err != nil {
		return err
	}
	if !d.options.Finite {
		return nil
	}
	return d.finite(at, op)
}

func (d *device) verify(op kernels.Op) error {
	if err := op.Check(); err != nil {
		return err
	}
	var err error
	var list []kernels.Operand
	kernels.EachOperand(op, func(o kernels.Operand) {
		list = append(list, o)
		if err != nil {
			return
		}
		if err = d.owned(o.View.Buf); err == nil {
			err = o.View.Check()
		}
		if err != nil {
			err = fmt.Errorf("operand %s: %w", o.Name, err)
		}
	})
	if err != nil {
		return err
	}
	return aliasing(op, list)
}

// finite looks at everything that the operation wrote.
func (d *device) finite(at kernels.Call, op kernels.Op) error {
	if f, ok := op.(*kernels.Fill); ok && !isFinite(f.Value) {
		return nil // asked for
	}
	if _, ok := op.(*kernels.Recv); ok {
		return nil // the sender's device looked; and to wait for what comes later would keep from the sender what it waits for
	}
	synced := false
	var err error
	kernels.EachOperand(op, func(o kernels.Operand) {
		if err != nil || o.Access&kernels.Write == 0 || !o.View.DType.Number() || o.View.Len() == 0 {
			return
		}
		if !synced {
			// A communicator that fails ends this wait, and so does closing it.
			if err = d.Device.Sync(context.Background(), at.Stream); err != nil {
				return
			}
			synced = true
		}
		err = d.look(at.Label, op, o)
	})
	return err
}

// look searches one operand. It runs on the compute stream, where every device computes.
func (d *device) look(label kernels.Label, op kernels.Op, o kernels.Operand) error {
	if err := d.prepare(); err != nil {
		return err
	}
	find := label
	find.Op += ".finite"
	if err := d.run(find, &kernels.FindNonFinite{X: o.View, At: d.at}, &kernels.Download{Src: d.at, Dst: d.host}); err != nil {
		return err
	}
	row, col := int(int32(binary.LittleEndian.Uint32(d.host.Bytes))), int(int32(binary.LittleEndian.Uint32(d.host.Bytes[4:])))
	if row < 0 {
		return nil
	}
	element := o.View.RowRange(row, row+1).ColRange(col, col+1)
	if err := d.run(find, &kernels.Download{Src: element, Dst: d.host, Offset: 8}); err != nil {
		return err
	}
	value := math.Float32frombits(binary.LittleEndian.Uint32(d.host.Bytes[8:]))
	if o.View.DType == kernels.BF16 {
		value = kernels.FromBF16(binary.LittleEndian.Uint16(d.host.Bytes[8:]))
	}
	return d.fail(op.Name(), label, kernels.ErrNotFinite, fmt.Sprintf("wrote %g to %s at row %d, column %d of %s", value, o.Name, row, col, o.View))
}

func (d *device) run(label kernels.Label, ops ...kernels.Op) error {
	s := d.Device.Compute()
	for _, op := range ops {
		if err := d.Device.Do(kernels.Call{Stream: s, Label: label}, op); err != nil {
			return fmt.Errorf("look for numbers that are not finite: %w", err)
		}
	}
	return d.Device.Sync(context.Background(), s)
}

func (d *device) prepare() error {
	if d.host != nil {
		return nil
	}
	buf, err := d.Device.Alloc(kernels.MemBuffers, 64, false)
	if err != nil {
		return fmt.Errorf("memory of the check for finite numbers: %w", err)
	}
	d.at = kernels.Matrix(buf, 0, 1, 2, kernels.I32)
	d.host, err = d.Device.Host(16)
	return err
}

func (d *device) fail(op string, label kernels.Label, sentinel error, msg string) error {
	return &kernels.Error{Backend: "check(" + d.backend + ")", Op: op, Label: label, Msg: msg, Err: sentinel}
}

func isFinite(f float32) bool { return !math.IsNaN(float64(f)) && !math.IsInf(float64(f), 0) }
