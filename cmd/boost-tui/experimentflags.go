package main

import (
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"boost-tui/experiment"
)

// experimentFlags collects what the command line says about an experiment. What stands in a file comes
// first; flags and --set follow in the order of the command line, so that the last word wins.
type experimentFlags struct {
	in      io.Reader // what --config - reads
	config  string
	assigns []said
	base    experiment.Experiment // what the file says by itself, once experiment has read it
	device  bool                  // the file names a device, be it auto
}

type assignment struct{ key, value string }

// said is an assignment by a flag, which errors name.
type said struct {
	flag string
	assignment
}

// keyFlag is the flag of one key. What is wrong with values is told when all are known, not at the first.
type keyFlag struct {
	all *experimentFlags
	key experiment.Key
}

func (f *keyFlag) String() string { return "" }

func (f *keyFlag) Type() string {
	switch f.key.Kind {
	case experiment.Int:
		return "n"
	case experiment.Float:
		return "x"
	case experiment.Switch:
		return "on|off"
	case experiment.List:
		return "words"
	default:
		return "text"
	}
}

func (f *keyFlag) Set(value string) error { return f.all.assign("--"+f.key.Name, f.key.Name, value) }

// setFlag is --set key=value.
type setFlag struct{ all *experimentFlags }

func (f setFlag) String() string { return "" }
func (f setFlag) Type() string   { return "key=value" }

func (f setFlag) Set(text string) error {
	key, value, ok := strings.Cut(text, "=")
	if !ok {
		return fmt.Errorf("want key=value; keys are the names of the flags")
	}
	return f.all.assign("--set", strings.TrimSpace(key), value)
}

func (f *experimentFlags) assign(flag, key, value string) error {
	f.assigns = append(f.assigns, said{flag, assignment{key, value}})
	return nil
}

// register adds the flags to a command, in the order of the keys.
func (f *experimentFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.config, "config", "", "experiment `FILE` (TOML), - for stdin; flags win over it")
	flags.Var(setFlag{f}, "set", "set any key, repeatable; the last word on the command line wins")
	for _, k := range experiment.Keys() {
		if flags.Lookup(k.Name) != nil { // the command's own word (constraint, of a sweep); --set says the key
			continue
		}
		help := k.Help
		if k.Kind == experiment.Choice {
			help += ": " + strings.Join(k.Choices, ", ")
		}
		flag := flags.VarPF(&keyFlag{f, k}, k.Name, "", help)
		flag.DefValue = k.Default
		values := k.Choices
		if k.Kind == experiment.Switch {
			values = []string{"on", "off"}
		}
		if len(values) > 0 {
			// The one error is a flag that was registered twice, which this loop cannot do.
			_ = cmd.RegisterFlagCompletionFunc(k.Name, cobra.FixedCompletions(values, cobra.ShellCompDirectiveNoFileComp))
		}
	}
}

// experiment is the file and the flags together, not yet resolved. The error names everything that is wrong with
// them: what cannot be read as its key's type, and of the rest what is out of range. Rules between values are for
// experiments whose values are all known.
func (f *experimentFlags) experiment() (experiment.Experiment, error) {
	e := experiment.Default()
	f.base = e
	if f.config == "" {
		return f.over(e)
	}
	data, name, err := readInput(f.config, f.in)
	if err != nil {
		return e, usagef("--config: %w", err)
	}
	e, err = experiment.ParseTOML(data, name)
	f.base, f.device = e, experiment.Names(data, "device")
	return f.over(e, err)
}

// over is an experiment with what the flags say; errs are what is known to be wrong with it already.
func (f *experimentFlags) over(e experiment.Experiment, errs ...error) (experiment.Experiment, error) {
	errs = slices.DeleteFunc(errs, func(err error) bool { return err == nil })
	for _, a := range f.assigns {
		if err := e.Set(a.key, a.value); err != nil {
			if a.flag == "--"+a.key {
				err = fmt.Errorf("--%w", err) // the error begins with the key
			} else {
				err = fmt.Errorf("%s: %w", a.flag, err)
			}
			errs = append(errs, err)
		}
	}
	if len(errs) == 0 {
		return e, nil
	}
	if r, err := e.Resolve(); err == nil {
		for _, v := range r.OutOfRange() {
			errs = append(errs, errors.New(v.String()))
		}
	}
	return e, usage(errors.Join(errs...))
}

// namesDevice reports whether a device is named, be it auto: that leaves nothing open, for this machine says what it is.
func (f *experimentFlags) namesDevice() bool {
	return f.device || slices.ContainsFunc(f.assigns, func(a said) bool { return a.key == "device" && a.value != "" })
}

// resume is what --resume, or --set resume=, says; empty: nothing.
func (f *experimentFlags) resume() string {
	e := experiment.Default()
	for _, a := range f.assigns {
		if a.key == "resume" {
			_ = e.Set(a.key, a.value) // what is wrong with it is told by over
		}
	}
	return e.Train.Resume
}
