package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"runtime"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"boost-tui/experiment"
	"boost-tui/kernels"
	"boost-tui/trainer/devices"
	"boost-tui/trainer/prove"
)

// benchDevice are the flags of `bench-gpu`.
type benchDevice struct {
	part, check string
	all         prove.AllOptions
	budget      time.Duration
	given       func(flag string) bool // says whether a flag was
}

// newBenchDevice is what scripts/gpu.sh runs. Nobody types it.
func newBenchDevice(a *app) *cobra.Command {
	var f benchDevice
	cmd := &cobra.Command{
		Use: "bench-gpu", Short: "Measure a GPU, and check what it computes", Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			f.given = cmd.Flags().Changed
			if err := f.known(); err != nil {
				return usage(err)
			}
			switch {
			case f.given("check"):
				return a.checkReport(f.check)
			case f.given("part"):
				return a.benchPart(cmd.Context(), f)
			}
			a.orderly.Store(true) // a part that is broken off ends in good order
			return a.benchAll(cmd.Context(), f)
		},
	}
	flags := cmd.Flags()
	flags.StringVar(&f.all.Device, "device", experiment.DeviceCUDA, "what computes: cuda or emulated")
	flags.BoolVar(&f.all.Tiny, "tiny", false, "tiny sizes, which say nothing about speed")
	flags.StringVar(&f.part, "part", "", "measure this part alone, in this process, and print its result")
	flags.DurationVar(&f.budget, "budget", 0, "of --part: begin nothing more after so long")
	flags.StringVar(&f.all.Out, "out", "", "report of all parts, a new file (default gpu-DATE.json, or emulated-DATE.json)")
	flags.StringSliceVar(&f.all.Only, "only", nil, "do these parts and leave out the others")
	flags.DurationVar(&f.all.Limit, "limit", prove.TotalLimit, fmt.Sprintf("for all parts together, at least %v", prove.LeastLimit))
	flags.StringVar(&f.all.Python, "python", "python3", "that may have PyTorch and NVIDIA's wheels")
	flags.StringVar(&f.check, "check", "", "say whether a report is one, and complete, and nothing else")
	return cmd
}

// benchPart measures one part in this process.
func (a *app) benchPart(ctx context.Context, f benchDevice) error {
	open := func(kind string) func(rank, n int) (kernels.Device, error) {
		return devices.InProcess(ctx, kind, a.note)
	}
	out, err := prove.Measure(ctx, f.part, prove.Options{Device: f.all.Device, Tiny: f.all.Tiny, Budget: f.budget, Open: open})
	if out != nil {
		err = errors.Join(a.printJSON(out), err)
	}
	return err
}

// benchAll measures all parts, each in a process of its own.
func (a *app) benchAll(ctx context.Context, f benchDevice) error {
	o := f.all
	if !f.given("out") {
		o.Out = map[bool]string{true: "emulated", false: "gpu"}[o.Device == experiment.DeviceEmu] + time.Now().UTC().Format("-20060102-150405.json")
	}
	var err error
	if o.Program, err = os.Executable(); err != nil {
		return err
	}
	o.Beside = filepath.Dir(o.Program)
	if o.Version, err = json.Marshal(thisVersion()); err != nil {
		return err
	}
	o.Machine = prove.Machine{Cores: runtime.NumCPU(), OS: runtime.GOOS + "/" + runtime.GOARCH}
	o.Lacks = func(ctx context.Context) []prove.Lack { return a.deviceLacks(ctx, o.Device) }
	o.Say = a.note
	report, err := prove.All(ctx, o)
	switch {
	case errors.Is(err, prove.ErrOut):
		return usage(err)
	case errors.Is(err, prove.ErrLacks):
		err = usage(err)
	}
	a.note("%s: %v; %s", o.Out, report.Sum(), report.Figures)
	return err
}

// deviceLacks makes a device ready, and says what it lacks here.
func (a *app) deviceLacks(ctx context.Context, device string) (out []prove.Lack) {
	if device == experiment.DeviceCUDA {
		for _, l := range devices.Missing(ctx, 1) {
			out = append(out, prove.Lack{What: l.What, Why: l.Why, Machine: l.What == "driver" || strings.HasPrefix(l.What, "GPU")})
		}
		if out != nil {
			return out
		}
	}
	if _, err := devices.CheckRun(ctx, device, 1); err != nil {
		return []prove.Lack{{What: "device " + device, Why: err.Error()}}
	}
	if err := devices.Prepare(ctx, device, a.note); err != nil {
		out = append(out, prove.Lack{What: "device " + device, Why: err.Error()})
	}
	return out
}
