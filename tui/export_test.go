package tui

import (
	"context"
	"time"

	"boost-tui/experiment"
	"boost-tui/planner"
	"boost-tui/runner"
	"boost-tui/tui/screen"
)

// RunScreens is Run with other screens; Screens are the program's.
var (
	RunScreens = run
	Screens    = screens
)

// NewSweepStore makes what the Sweep screen asks, for tests.
func NewSweepStore(runs *runner.Store, binary string, machine func(experiment.Experiment) planner.Machine) screen.Sweeps {
	return newSweepStore(runs, binary, machine, nil)
}

// NewSweepStoreOn is that with devices to ask for.
func NewSweepStoreOn(runs *runner.Store, machine func(experiment.Experiment) planner.Machine, device func(context.Context, string, int) (string, error)) screen.Sweeps {
	return newSweepStore(runs, "/nowhere/boost-tui", machine, device)
}

// Remembered keeps the answers about devices, by a clock.
func Remembered(device func(context.Context, string, int) (string, error), now func() time.Time) func(context.Context, string, int) (string, error) {
	return deviceCheck(device).remembered(now)
}
