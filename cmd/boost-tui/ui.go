package main

import (
	"context"

	"github.com/spf13/pflag"
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
	flags.StringVar(&f.theme, "theme", "", "colours of the UI")
}

// openUI starts the terminal UI, where there is a terminal.
func (a *app) openUI(ctx context.Context, f uiFlags) error {
	if !isTerminal(a.in) || !isTerminal(a.out) {
		return usagef("the UI needs a terminal; without one: boost-tui demo, or boost-tui --help for the commands")
	}
	return usagef("the UI needs a terminal")
}
