package main

import (
	"fmt"
	"io"
	"os"
	"strings"

	"github.com/spf13/cobra"

	"boost-tui/experiment"
)

// maxConfigBytes bounds an experiment file: a mistaken path to a data set must not be read whole.
const maxConfigBytes = 1 << 20

// experimentFlags collects what the command line says about an experiment. What stands in a file comes
// first; flags and --set follow in the order of the command line, so that the last word wins.
type experimentFlags struct {
	config  string
	assigns []assignment
}

type assignment struct{ key, value string }

// keyFlag is the flag of one key. It refuses a value when it is parsed, so that the error names the flag.
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

func (f *keyFlag) Set(value string) error { return f.all.assign(f.key.Name, value) }

// setFlag is --set key=value.
type setFlag struct{ all *experimentFlags }

func (f setFlag) String() string { return "" }
func (f setFlag) Type() string   { return "key=value" }

func (f setFlag) Set(text string) error {
	key, value, ok := strings.Cut(text, "=")
	if !ok {
		return fmt.Errorf("want key=value; keys are the names of the flags")
	}
	return f.all.assign(strings.TrimSpace(key), value)
}

func (f *experimentFlags) assign(key, value string) error {
	scratch := experiment.Default()
	if err := scratch.Set(key, value); err != nil {
		return err
	}
	f.assigns = append(f.assigns, assignment{key, value})
	return nil
}

// register adds the flags to a command, in the order of the keys.
func (f *experimentFlags) register(cmd *cobra.Command) {
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.config, "config", "", "experiment `FILE` (TOML); flags win over it")
	flags.Var(setFlag{f}, "set", "set any key, repeatable; the last word on the command line wins")
	for _, k := range experiment.Keys() {
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

// experiment is the file and the flags together, not yet resolved.
func (f *experimentFlags) experiment() (experiment.Experiment, error) {
	e := experiment.Default()
	if f.config != "" {
		data, err := readSmall(f.config, maxConfigBytes)
		if err != nil {
			return e, usagef("--config: %w", err)
		}
		if e, err = experiment.ParseTOML(data, f.config); err != nil {
			return e, usage(err)
		}
	}
	for _, a := range f.assigns {
		if err := e.Set(a.key, a.value); err != nil {
			return e, usage(err)
		}
	}
	return e, nil
}

// readSmall reads a file that must not be larger than limit.
func readSmall(path string, limit int64) ([]byte, error) {
	file, err := os.Open(path)
	if err != nil {
		return nil, err
	}
	defer file.Close()
	data, err := io.ReadAll(io.LimitReader(file, limit+1))
	if err != nil {
		return nil, err
	}
	if int64(len(data)) > limit {
		return nil, fmt.Errorf("%s is larger than %d bytes: is it an experiment file?", path, limit)
	}
	return data, nil
}
