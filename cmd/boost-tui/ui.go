package main

import (
	"context"

	"github.com/spf13/pflag"

	"boost-tui/experiment"
	"boost-tui/planner"
	"boost-tui/tui"
)

// uiFlags are the flags of the terminal UI.
type uiFlags struct {
	readOnly, ascii, noMouse bool
	theme                    string
}

func (f *uiFlags) register(flags *pflag.FlagSet) {
	flags.BoolVar(&f.readOnly, "read-only", false, "the UI starts, cancels and deletes nothing")
	flags.BoolVar(&f.ascii, "ascii", false, "the UI draws with ASCII alone")
	flags.BoolVar(&f.noMouse, "no-mouse", false, "the UI leaves the mouse to the terminal")
	flags.StringVar(&f.theme, "theme", "auto", "colours of the UI: auto, dark, light or mono")
}

// openUI starts the terminal UI, where there is a terminal.
func (a *app) openUI(ctx context.Context, f uiFlags) error {
	if !isTerminal(a.in) || !isTerminal(a.out) {
		return usagef("the UI needs a terminal; without one: boost-tui demo, or boost-tui --help for the commands")
	}
	s, err := a.store()
	if err != nil {
		return err
	}
	return tui.Run(ctx, tui.Options{Store: s, Version: thisVersion().String(), Prepare: a.prepareLaunch,
		Machine: func(e experiment.Experiment) (planner.Machine, error) { return machineOf(e, "") },
		Preflight: func(ctx context.Context, e experiment.Experiment) (string, error) {
			return a.launchPreflight(ctx, s, e)
		},
		CheckDevice: deviceHere,
		Start:       a.start, ReadOnly: f.readOnly, Theme: f.theme, ASCII: f.ascii, NoMouse: f.noMouse})
}
