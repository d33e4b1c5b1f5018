package launch

import (
	"context"
	"maps"
	"strings"
	"time"

	"boost-tui/experiment"

	tea "github.com/charmbracelet/bubbletea"
)

// ruleDevice is the rule of a Violation about a device that this machine does not have.
const ruleDevice = "the device is here"

// emulatedNote is what must be known of the emulated device before its times are read.
const emulatedNote = "slow: the processor runs the CUDA kernels; its times say nothing about a GPU"

// deviceDeadline bounds the looks at devices, beyond what a look allows the libraries that it tries.
const deviceDeadline = 5 * time.Minute

// settledDevices are the devices that something has to be there for.
var settledDevices = []string{experiment.DeviceAuto, experiment.DeviceCUDA, experiment.DeviceEmu}

// question is a device for so many ranks of this machine.
type question struct {
	device string
	ranks  int
}

// answer is what the device is, and what it lacks in a line; empty: nothing.
type answer struct{ device, lacks string }

// devices is what is known of what ranks can compute on. Its map is replaced and never written to, for drafts are copied.
type devices struct{ known map[question]answer }

// devicesKnown answers for a number of ranks.
type devicesKnown struct{ known map[question]answer }

// readDevices asks for the devices of as many ranks as the draft has, each by itself, for one may take its time; nil: they are
// elsewhere, or nobody can be asked. The answers are remembered by whoever gives them.
func (m *Model) readDevices() tea.Cmd {
	look := m.lookAtDevices()
	if look == nil {
		return nil
	}
	cmds := make([]tea.Cmd, len(settledDevices))
	for i, d := range settledDevices {
		cmds[i] = func() tea.Msg { return look(d, deviceDeadline) }
	}
	return tea.Batch(cmds...)
}

// lookAtDevices is a look at one device, for a Cmd. It knows nothing when the time is over.
func (m *Model) lookAtDevices() func(device string, patience time.Duration) devicesKnown {
	check, ranks := m.env.CheckDevice, m.draft.resolved.World()
	if check == nil || !isLocal(m.draft.resolved.Where) || ranks < 1 || len(m.draft.obstaclesBut(ruleDevice)) > 0 {
		return nil
	}
	return func(d string, patience time.Duration) devicesKnown {
		ctx, cancel := context.WithTimeout(context.Background(), patience)
		defer cancel()
		device, err := check(ctx, d, ranks)
		if ctx.Err() != nil {
			return devicesKnown{}
		}
		a := answer{device: device}
		if err != nil {
			a.lacks = lacks(d, err)
		}
		return devicesKnown{map[question]answer{{d, ranks}: a}}
	}
}

// lacks is an error without what stands beside it anyway.
func lacks(device string, err error) string {
	return strings.TrimLeft(strings.TrimPrefix(firstLine(err.Error()), "device "+device+" cannot be had here"), ";: ")
}

// takeDevices keeps the answers, and plans anew where "auto" is another device than was thought.
func (m *Model) takeDevices(in devicesKnown) tea.Cmd {
	known := maps.Clone(m.draft.devices.known)
	if known == nil {
		known = map[question]answer{}
	}
	maps.Copy(known, in.known)
	m.draft.devices.known = known
	before := m.draft.resolved.Step.Device
	m.draft.settle()
	if m.draft.resolved.Step.Device != before {
		return m.changed()
	}
	m.form.SetFields(m.draft.fields())
	return nil
}

// settled is an experiment with what "auto" is for it here, as far as that is known.
func (d *draft) settled(e experiment.Experiment) experiment.Experiment {
	if !isOpen(e) || !isLocal(e.Where) {
		return e
	}
	if a, known := d.devices.of(e); known && a.lacks == "" {
		e.Step.Device = a.device
	}
	return e
}

// isOpen reports whether an experiment leaves its device to the machine.
func isOpen(e experiment.Experiment) bool {
	return e.Step.Device == "" || e.Step.Device == experiment.DeviceAuto
}

// of is what is known of the device of an experiment.
func (k devices) of(e experiment.Experiment) (answer, bool) {
	q := question{e.Step.Device, max(1, e.World())}
	if isOpen(e) {
		q.device = experiment.DeviceAuto
	}
	a, known := k.known[q]
	return a, known
}

// lack is what keeps an experiment from its device; nil: nothing that is known.
func (k devices) lack(e experiment.Experiment) *experiment.Violation {
	a, known := k.of(e)
	if !known || a.lacks == "" || !isLocal(e.Where) || e.Step.Device == experiment.DeviceCPU {
		return nil
	}
	v := &experiment.Violation{Key: "device", Value: e.Step.Device, Rule: ruleDevice, Reason: a.lacks}
	if e.Step.Device == experiment.DeviceCUDA {
		v.Nearest = []string{experiment.DeviceCPU}
	}
	return v
}

// waits reports whether it is not known yet what the draft would compute on.
func (m *Model) waits() bool {
	e := m.draft.set
	if m.env.CheckDevice == nil || !isLocal(e.Where) || e.Step.Device == experiment.DeviceCPU {
		return false
	}
	e.Parallel = m.draft.resolved.Parallel
	_, known := m.draft.devices.of(e)
	return !known
}

// deviceNote stands beside the field; "" where there is nothing to say.
func (d *draft) deviceNote() string {
	switch {
	case d.resolved.Step.Device == experiment.DeviceEmu:
		return emulatedNote
	case isOpen(d.set) && isLocal(d.set.Where):
		e := d.set
		e.Parallel = d.resolved.Parallel
		if a, known := d.devices.of(e); known && a.lacks == "" {
			return a.device + " here"
		}
	}
	return ""
}
