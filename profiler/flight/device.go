package flight

import (
	"context"

	"boost-tui/kernels"
)

// Device notes every call before it goes on to the device it wraps, and when it came back.
type Device struct {
	kernels.Device
	w       *Writer
	pending bool // a collective was issued and not waited for yet
}

// Wrap decorates a device. A nil writer gives a decorator that notes nothing.
func Wrap(dev kernels.Device, w *Writer) *Device { return &Device{Device: dev, w: w} }

// SetStep notes the step that begins, counted from 1.
func (d *Device) SetStep(step int) {
	if d.w != nil {
		d.w.SetStep(step)
	}
}

// Do implements kernels.Device.
func (d *Device) Do(c kernels.Call, op kernels.Op) error {
	if d.w == nil {
		return d.Device.Do(c, op)
	}
	if c.Stream != kernels.ComputeStream {
		d.w.Collective(c.Label)
		d.pending = true
		return d.Device.Do(c, op)
	}
	d.w.Do(c.Label)
	err := d.Device.Do(c, op)
	if err == nil {
		d.w.Done() // after an error the note stays: this is where the rank was
	}
	return err
}

// Wait implements kernels.Device. On a device with an eager compute stream this is where a rank
// blocks until its peers arrive.
func (d *Device) Wait(s kernels.Stream, e kernels.Event) error {
	if d.w == nil || s != kernels.ComputeStream || !d.pending {
		return d.Device.Wait(s, e)
	}
	d.w.WaitCollective(false)
	err := d.Device.Wait(s, e)
	if err == nil {
		d.w.WaitCollective(true)
		d.pending = false
	}
	return err
}

// Sync implements kernels.Device.
func (d *Device) Sync(ctx context.Context, s kernels.Stream) error {
	if d.w == nil || !d.pending {
		return d.Device.Sync(ctx, s)
	}
	d.w.WaitCollective(false)
	err := d.Device.Sync(ctx, s)
	if err == nil {
		d.w.WaitCollective(true)
		d.pending = false
	}
	return err
}
