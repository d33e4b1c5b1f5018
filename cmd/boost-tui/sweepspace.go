package main

import (
	"errors"
	"fmt"
	"io"
	"slices"

	"github.com/spf13/cobra"

	"boost-tui/experiment"
	"boost-tui/sweeps/space"
)

// spaceFlags say what a sweep is made of: a sweep's file, and what the command line adds to it. Keys of experiments are given
// as `run` takes them.
type spaceFlags struct {
	in          io.Reader // what - reads as the file
	experiment  experimentFlags
	cmd         *cobra.Command
	axes        []string
	constraints []string
	repeats     int
	twins       *bool
	resumed     func(*experimentFlags, string) (experiment.Experiment, error) // app.resumed
}

// register adds the flags to a command.
func (f *spaceFlags) register(cmd *cobra.Command, a *app) {
	f.in, f.experiment.in, f.resumed = a.in, a.in, a.resumed
	f.axesFlag(cmd)
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringArrayVar(&f.constraints, "constraint", nil, "`EXPRESSION` that every point must meet, repeatable: 'rank * 2 <= d'; a hyphen in a key is written _")
	flags.VarPF(onOff{&f.twins}, "twins", "", "add the full-rank and the vanilla twin of every low-rank point").NoOptDefVal = "on"
	flags.IntVar(&f.repeats, "repeats", 1, "run every point so often, each time with another seed; from three on speed-ups rest on all of them")
}

// axesFlag adds the one that grow has too.
func (f *spaceFlags) axesFlag(cmd *cobra.Command) {
	f.cmd = cmd
	cmd.Flags().StringArrayVar(&f.axes, "axis", nil, "`KEY=VALUES`, repeatable: tp=1,2  rank=32..256*2  lr=1e-4..1e-2/5log  d,ff=512:1376,768:2048  'rank=32,64 if variant != \"full\"'")
}

// file is the sweep's file with the command line over it. The error names all that cannot be read; rules that need the whole
// space are for Expand.
func (f *spaceFlags) file(args []string) (space.File, error) {
	var file space.File
	var errs []error
	if len(args) == 1 && args[0] == "-" && f.experiment.config == "-" {
		return file, usagef("both the sweep file and --config are -: standard input can be one of them")
	}
	if len(args) == 1 {
		data, name, err := readInput(args[0], f.in)
		if err != nil {
			return file, usagef("sweep file: %w; a sweep is made of a FILE.toml or of --axis flags (boost-tui sweep --help)", err)
		}
		if file, err = space.ParseTOML(data, name); err != nil {
			if _, wrong := experiment.ParseTOML(data, name); wrong == nil {
				return file, usagef("%s is the file of an experiment: give it with --config, and the axes with --axis or in a sweep's file", name)
			}
			errs = append(errs, err)
		}
	}
	if f.cmd.Flags().Changed("repeats") && f.repeats < 1 {
		errs = append(errs, fmt.Errorf("--repeats %d: want 1 or more", f.repeats))
	}
	axes, err := f.parsed()
	errs = append(errs, err)
	set, err := f.set()
	errs = append(errs, err)
	if err := errors.Join(errs...); err != nil {
		return file, usage(err)
	}
	f.over(&file.Spec, axes, set)
	return file, nil
}

// parsed are the axes of the command line.
func (f *spaceFlags) parsed() ([]space.Axis, error) {
	var axes []space.Axis
	var errs []error
	for _, text := range f.axes {
		axis, err := space.ParseAxis(text)
		if err != nil {
			errs = append(errs, fmt.Errorf("--axis: %w", err))
			continue
		}
		axes = append(axes, axis)
	}
	return axes, errors.Join(errs...)
}

// set is what the command line says of every point: the file of --config first, then flags and --set in their order.
func (f *spaceFlags) set() ([]space.Assign, error) {
	if _, err := f.experiment.experiment(); err != nil {
		return nil, err
	}
	if name := f.experiment.resume(); name != "" && f.experiment.config == "" { // as in run: the checkpoint's run says the rest
		e, err := f.resumed(&f.experiment, name)
		if err != nil {
			return nil, err
		}
		e.Name, e.Tags = "", nil
		f.experiment.base = e.Minimal()
	}
	var out []space.Assign
	for _, key := range f.experiment.base.Given() {
		out = append(out, space.Assign{Key: key, Value: f.experiment.base.Get(key)})
	}
	for _, a := range f.experiment.assigns {
		out = append(out, space.Assign{Key: a.key, Value: a.value})
	}
	return out, nil
}

// over puts what the command line says over what the file says. An axis takes the place of the file's over the same keys, a
// value that of the file's for the same key.
func (f *spaceFlags) over(s *space.Spec, axes []space.Axis, set []space.Assign) {
	for _, a := range axes {
		s.Axes = slices.DeleteFunc(s.Axes, func(old space.Axis) bool { return slices.Equal(old.Keys, a.Keys) })
	}
	s.Axes = append(s.Axes, axes...)
	for _, a := range set {
		if a.Key == "name" {
			s.Name = a.Value
			continue
		}
		s.Set = append(slices.DeleteFunc(s.Set, func(old space.Assign) bool { return old.Key == a.Key }), a)
	}
	s.Constraints = append(s.Constraints, f.constraints...)
	if f.cmd.Flags().Changed("repeats") {
		s.Repeats = f.repeats
	}
	if f.twins != nil {
		s.Twins = *f.twins
	}
}
