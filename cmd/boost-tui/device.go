package main

import (
	"context"
	"errors"
	"fmt"

	"boost-tui/experiment"
	"boost-tui/kernels/cuda"
	"boost-tui/planner"
	"boost-tui/profiler/sample/nvml"
	"boost-tui/trainer/devices"
)

// missingCompiler is wrong input where the emulated device was asked for and there is nothing to compile it with.
func missingCompiler(err error) error {
	if errors.Is(err, cuda.ErrNoCompiler) {
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
	device, err := devices.CheckRun(experiment.DeviceAuto, e.World())
	if err != nil {
		return err
	}
	c.note("device auto is %s here", device)
	e.Step.Device = device
	return nil
}

// checkDevice refuses a device that cannot be had where the ranks are, as far as that can be known here.
func checkDevice(e experiment.Experiment) error {
	if e.Step.Device == experiment.DeviceEmu && nodesOf(e.Where) > 1 {
		return fmt.Errorf("device %s is for one machine: its ranks meet in the memory of one host; the cpu device reaches others", e.Step.Device)
	}
	if !onThisMachine(e) {
		return nil
	}
	_, err := devices.CheckRun(e.Step.Device, e.World())
	return err
}

// compile makes the emulated device before a run on this machine starts, so that it is this command that takes the time and says
// so. Agents see to it on other machines.
func compile(ctx context.Context, e experiment.Experiment, note func(string, ...any)) error {
	if !onThisMachine(e) {
		return nil
	}
	return missingCompiler(devices.Prepare(ctx, e.Step.Device, note))
}

// gpuMachine is this machine for a run on its GPUs: their memory is what counts. m is the machine otherwise.
func gpuMachine(m planner.Machine, ranks int) planner.Machine {
	m.Name, m.MemBytes, m.AvailableBytes = "the GPUs of this machine", 0, 0
	gpus, err := nvml.Open()
	if err != nil {
		return m
	}
	defer gpus.Close()
	for i, g := range gpus.List() {
		if b := g.Describe().MemTotalBytes; i == 0 || b < m.MemBytes {
			m.MemBytes = b
		}
	}
	m.MemBytes *= int64(ranks) // each has a card of its own
	return m
}
