package results

import "boost-tui/experiment"

// Marks say what a reader must know to trust a figure. They belong to a row, a speed-up or a cell, and to whatever is
// derived from those.
type Marks struct {
	// Partial: a run that it rests on has not done all of its work. It goes on, or is Unfinished.
	Partial bool `json:"partial,omitempty"`
	// Unfinished: one ended before its work was done. It failed, was stopped, or was cancelled.
	Unfinished bool `json:"unfinished,omitempty"`
	// Overlapped: another run was at work on the machine while one ran, and slowed it.
	Overlapped bool `json:"overlapped,omitempty"`
	// Emulated: messages of one were slowed down to an emulated link, so that its times are not this machine's.
	Emulated bool `json:"emulated_link,omitempty"`
	// EmulatedDevice: one ran on the emulated device, whose times say nothing about a GPU.
	EmulatedDevice bool `json:"emulated_device,omitempty"`
}

// Signs of marks, as text shows them.
const (
	signFront      = "*"
	signPartial    = "…"
	signOverlapped = "!"
)

// On writes the marks around a figure: "! 12.3 …".
func (k Marks) On(figure string) string {
	if k.Overlapped {
		figure = signOverlapped + " " + figure
	}
	if k.Partial {
		figure += " " + signPartial
	}
	return figure
}

// or is what is to be known of a figure that rests on two.
func (k Marks) or(o Marks) Marks {
	return Marks{k.Partial || o.Partial, k.Unfinished || o.Unfinished, k.Overlapped || o.Overlapped, k.Emulated || o.Emulated, k.EmulatedDevice || o.EmulatedDevice}
}

// Marks of the row's run, which hold for all of its figures; Overlapped and Emulated do for those alone that come from times.
func (r *Row) Marks() Marks {
	return Marks{r.Partial, r.Unfinished, len(r.Overlapped) > 0, r.Link() != "", r.onEmulator()}
}

// Link is the emulated link that the messages of the row's run are slowed down to; empty: none.
func (r *Row) Link() string { return r.Experiment.Parallel.Link }

// onEmulator reports whether the row's run is one on the emulated device.
func (r *Row) onEmulator() bool { return r.Experiment.Step.Device == experiment.DeviceEmu }

// emulator is the device of the row's run where that is the emulated one.
func (r *Row) emulator() string {
	if r.onEmulator() {
		return experiment.DeviceEmu
	}
	return ""
}

// EmulatedMark is how times are marked that are not the machine's; empty: they are.
func (k Marks) EmulatedMark() string {
	switch {
	case k.EmulatedDevice:
		return experiment.EmulatedDevice
	case k.Emulated:
		return experiment.EmulatedLink
	}
	return ""
}

// ofTime, ofWork and ofPlan are the marks of figures that come from a run's times, from what else it did, and from neither.
func ofTime(r *Row) Marks { return r.Marks() }

func ofWork(r *Row) Marks { return Marks{Partial: r.Partial, Unfinished: r.Unfinished} }

func ofPlan(*Row) Marks { return Marks{} }

func (v *Versus) marks() Marks {
	if v == nil {
		return Marks{}
	}
	return v.Marks
}
