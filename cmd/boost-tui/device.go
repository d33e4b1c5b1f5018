package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"boost-tui/experiment"
	"boost-tui/kernels/cuda"
	"boost-tui/planner"
	"boost-tui/profiler/sample"
	"boost-tui/profiler/sample/nvml"
	"boost-tui/trainer/devices"
)

// missingCompiler is wrong input where the emulated device was asked for and there is nothing to compile it with, or no folder for it.
func missingCompiler(err error) error {
	if errors.Is(err, cuda.ErrNoCompiler) || errors.Is(err, cuda.ErrPlace) {
		return usage(err)
	}
	return err
}

// auto settles what a run computes on that names no device, before its type of numbers follows from that: cuda where this machine can
// have it, else cpu. Other machines are not asked.
func (c checks) auto(e *experiment.Experiment) error {
	if d := e.Step.Device; d != "" && d != experiment.DeviceAuto || !onThisMachine(*e) {
		return nil
	}
	device, why, err := devices.Settle(context.Background(), experiment.DeviceAuto, e.World())
	if err != nil {
		return err
	}
	c.note("%s", settled(device, why))
	e.Step.Device = device
	return nil
}

// settled says what auto is, and why it is not the GPUs where it is not.
func settled(device string, why error) string {
	text := "device auto is " + device + " here"
	if why != nil {
		text += ": " + why.Error()
	}
	return text
}

// checkDevice refuses a device that cannot be had where the ranks are, as far as that can be known here.
func checkDevice(e experiment.Experiment) error {
	if e.Step.Device == experiment.DeviceEmu && nodesOf(e.Where) > 1 {
		return fmt.Errorf("device %s is for one machine: its ranks meet in the memory of one host; the cpu device reaches others", e.Step.Device)
	}
	if !onThisMachine(e) {
		return nil
	}
	_, err := devices.CheckRun(context.Background(), e.Step.Device, e.World())
	return err
}

// sayLacks says, of an experiment that breaks other rules too, all that its GPUs lack here: it is refused before it is asked for them, and is
// to learn no less than one that breaks none.
func sayLacks(e experiment.Experiment, found []experiment.Violation) []experiment.Violation {
	if e.Step.Device != experiment.DeviceCUDA || !onThisMachine(e) || experiment.Invalid(found) == nil {
		return found
	}
	err := devices.Look(context.Background()).Check(max(e.World(), 1))
	if err == nil {
		return found
	}
	v := experiment.Violation{Key: "device", Value: e.Step.Device, Rule: experiment.RuleGPUs, Nearest: []string{experiment.DeviceCPU},
		Reason: strings.TrimPrefix(err.Error(), "device cuda ")}
	return append(slices.DeleteFunc(found, func(v experiment.Violation) bool { return v.Key == "device" }), v)
}

// slowEmulation says of a run on the emulated device that it will take long, where its steps do much more than those of the size that the
// device is made for; empty: they do not.
func slowEmulation(e experiment.Experiment, p *planner.Plan) string {
	const many = 8
	if e.Step.Device != experiment.DeviceEmu {
		return ""
	}
	tiny, err := experiment.Default().Resolve()
	if err != nil {
		return ""
	}
	least, err := planner.New(tiny, planner.Machine{})
	if err != nil || least.FLOPs == 0 || p.FLOPs/least.FLOPs < many {
		return ""
	}
	return fmt.Sprintf("device %s is slow: the processor runs the CUDA kernels thread by thread; a step has %d times the arithmetic of one of %s, which takes about a second",
		e.Step.Device, p.FLOPs/least.FLOPs, tiny.Model.Size)
}

// compile makes the emulated device before a run on this machine starts, so that it is this command that takes the time and says
// so. Agents see to it on other machines.
func compile(ctx context.Context, e experiment.Experiment, note func(string, ...any)) error {
	if !onThisMachine(e) {
		return nil
	}
	return missingCompiler(devices.Prepare(ctx, e.Step.Device, note))
}

// withGPUs is this machine with what the driver says of its GPUs, where an experiment may compute on them. One that leaves its device open
// is not told that there are none.
func withGPUs(m planner.Machine, e experiment.Experiment) planner.Machine {
	d := e.Step.Device
	if d != experiment.DeviceCUDA && d != experiment.DeviceAuto && d != "" {
		return m
	}
	open := func() (sample.GPUs, error) { return nvml.Open(context.Background()) }
	return seen(m, d == experiment.DeviceCUDA, open, cuda.FindDriver)
}

// seen asks for the GPUs: the driver's library of measurements for their memory, and the driver itself for how many are visible, where some
// are hidden or it alone is there. insist says that none is to be told.
func seen(m planner.Machine, insist bool, open func() (sample.GPUs, error), driver func() (cuda.Driver, error)) planner.Machine {
	gpus, err := open()
	if err == nil && gpus != nil {
		defer gpus.Close()
		for _, g := range gpus.List() {
			m.GPUs++
			if b := g.Describe().MemTotalBytes; b > 0 && (m.GPUMemBytes == 0 || b < m.GPUMemBytes) {
				m.GPUMemBytes = b
			}
		}
	}
	if m.GPUs == 0 || cuda.Hidden() != "" {
		if d, err := driver(); err == nil {
			m.GPUs = d.Cards
		}
	}
	if m.GPUs == 0 {
		m.GPUMemBytes, m.NoGPUs = 0, insist
	}
	if devices.Shared() { // more ranks than GPUs are asked for
		m.GPUs = 0
	}
	return m
}
