package main

import (
	"context"
	"errors"
	"fmt"

	"boost-tui/experiment"
	"boost-tui/kernels/cuda"
	"boost-tui/sweeps"
	"boost-tui/sweeps/space"
	"boost-tui/trainer/devices"
)

// deviceHere says what keeps so many ranks of this machine from a device, and what "auto" is for them. What is missing is wrong input.
func deviceHere(ctx context.Context, kind string, ranks int) (string, error) {
	device, _, err := settleHere(ctx, kind, ranks)
	return device, err
}

// settleHere is deviceHere that says, too, why auto is not the GPUs here.
func settleHere(ctx context.Context, kind string, ranks int) (device string, why, err error) {
	device, why, err = devices.Settle(ctx, kind, ranks)
	if err == nil && device == experiment.DeviceEmu {
		if _, absent := cuda.Compiled(); absent != nil {
			if err = absent; !errors.Is(err, cuda.ErrPlace) {
				_, err = cuda.Compiler(ctx)
			}
			if err != nil {
				err = fmt.Errorf("device %s cannot be had here: %w", device, err)
			}
		}
	}
	return device, why, usage(err)
}

// deviceCheck is deviceHere for what asks about many points. auto is told what a device that points leave open is here, in words; nil:
// nobody is.
func deviceCheck(ctx context.Context, auto func(text string)) space.DeviceCheck {
	return func(kind string, ranks int) (string, error) {
		device, why, err := settleHere(ctx, kind, ranks)
		if kind == experiment.DeviceAuto && err == nil && auto != nil {
			auto(settled(device, why))
		}
		return device, err
	}
}

// readyDevices sees to the devices of the points that a sweep has yet to run, before any of them is: all that is missing is one
// error, and the emulated device is compiled. Where another program looks after the sweep, that is its business.
func (a *app) readyDevices(ctx context.Context, st *sweeps.State) error {
	if st.Held {
		return nil
	}
	points := st.Waiting()
	if err := space.CheckDevices(st.Base, points, deviceCheck(ctx, nil)); err != nil {
		return usage(fmt.Errorf("sweep %s cannot go on here: %w", st.ID, err))
	}
	return a.compileFor(ctx, st.Base, points)
}

// compileFor makes the emulated device where points want it, so that it is this command that takes the time and says so.
func (a *app) compileFor(ctx context.Context, base experiment.Experiment, points []space.Point) error {
	for _, p := range points {
		e, err := p.Experiment(base)
		if err != nil {
			return err
		}
		if e.Step.Device == experiment.DeviceEmu && onThisMachine(e) {
			return compile(ctx, e, a.note)
		}
	}
	return nil
}
