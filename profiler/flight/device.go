package flight

import (
	"context"

	"boost-tui/kernels"
)

// Device notes every call before it goes on to the device it wraps, and when it came back.
type Device struct {
	kernels.Device
	w    *Writer
	step int
	// latest is the last operation handed to each stream but the compute stream, and at the one that
	// an event stands behind: what a rank waits for is known by the event.
	latest map[kernels.Stream]kernels.Label
	at     map[kernels.Event]kernels.Label
}

// Wrap decorates a device. A nil writer gives a decorator that notes nothing.
func Wrap(dev kernels.Device, w *Writer) *Device {
	return &Device{Device: dev, w: w, latest: map[kernels.Stream]kernels.Label{}, at: map[kernels.Event]kernels.Label{}}
}

// SetStep notes the step that begins, counted from 1.
func (d *Device) SetStep(step int) {
	d.step = step
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
		d.latest[c.Stream] = c.Label
		return d.Device.Do(c, op)
	}
	d.w.Set(d.step, c.Label)
	err := d.Device.Do(c, op)
	if err == nil {
		d.w.Done() // after an error the note stays: this is where the rank was
	}
	return err
}

// Record implements kernels.Device.
func (d *Device) Record(e kernels.Event, s kernels.Stream) error {
	if d.w != nil {
		if l, ok := d.latest[s]; ok {
			d.at[e] = l
		} else {
			delete(d.at, e)
		}
	}
	return d.Device.Record(e, s)
}

// Wait implements kernels.Device. On a device with an eager compute stream this is where a rank
// blocks until its peers arrive.
func (d *Device) Wait(s kernels.Stream, e kernels.Event) error {
	l, ok := d.at[e]
	if s != kernels.ComputeStream || !ok {
		return d.Device.Wait(s, e)
	}
	d.w.Wait(l)
	err := d.Device.Wait(s, e)
	if err == nil {
		d.w.Arrived()
	}
	return err
}

// Sync implements kernels.Device.
func (d *Device) Sync(ctx context.Context, s kernels.Stream) error {
	l, ok := d.latest[s]
	if !ok {
		return d.Device.Sync(ctx, s)
	}
	d.w.Wait(l)
	err := d.Device.Sync(ctx, s)
	if err == nil {
		d.w.Arrived()
	}
	return err
}
