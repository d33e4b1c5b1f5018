package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"boost-tui/experiment"
)

// parse runs a command that has the experiment flags and gives back what they make.
func parse(t *testing.T, args ...string) (experiment.Experiment, error) {
	t.Helper()
	var f experimentFlags
	var e experiment.Experiment
	cmd := &cobra.Command{Use: "x", SilenceErrors: true, SilenceUsage: true, RunE: func(*cobra.Command, []string) (err error) {
		e, err = f.experiment()
		return err
	}}
	f.register(cmd)
	cmd.SetArgs(append([]string{}, args...)) // nil would mean os.Args
	err := cmd.Execute()
	return e, err
}

func TestFileThenFlagsInOrder(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.toml")
	if err := os.WriteFile(file, []byte("name = 'from file'\n[train]\nsteps = 7\nlr = 0.5\n[parallel]\ntp = 4\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		name string
		args []string
		want map[string]string
	}{
		{"defaults", nil, map[string]string{"steps": "100", "variant": "cola", "size": "tiny"}},
		{"file", []string{"--config", file}, map[string]string{"steps": "7", "lr": "0.5", "tp": "4", "name": "from file"}},
		{"flag beats file, wherever it stands", []string{"--steps", "9", "--config", file}, map[string]string{"steps": "9", "tp": "4"}},
		{"set beats file", []string{"--config", file, "--set", "steps=11"}, map[string]string{"steps": "11"}},
		{"the last word wins: set", []string{"--steps", "9", "--set", "steps=11"}, map[string]string{"steps": "11"}},
		{"the last word wins: flag", []string{"--set", "steps=11", "--steps", "9"}, map[string]string{"steps": "9"}},
		{"values may hold =", []string{"--set", "name=a=b"}, map[string]string{"name": "a=b"}},
	} {
		e, err := parse(t, c.args...)
		if err != nil {
			t.Errorf("%s: %v", c.name, err)
			continue
		}
		for k, want := range c.want {
			if got := e.Get(k); got != want {
				t.Errorf("%s: %s = %q, want %q", c.name, k, got, want)
			}
		}
	}
}

func TestEveryKeyHasAFlagThatSetsIt(t *testing.T) {
	for _, k := range experiment.Keys() {
		value := "3"
		switch k.Kind {
		case experiment.Choice:
			value = k.Choices[len(k.Choices)-1]
		case experiment.Switch:
			value = "on"
		case experiment.Float:
			value = "0.25"
		}
		if k.Name == "link" {
			value = "bw=2GB/s,latency=20us"
		}
		for _, args := range [][]string{{"--" + k.Name, value}, {"--set", k.Name + "=" + value}} {
			e, err := parse(t, args...)
			if err != nil {
				t.Errorf("%v: %v", args, err)
			} else if got := e.Get(k.Name); got != value {
				t.Errorf("%v gives %q", args, got)
			}
		}
	}
}

func TestWrongValuesSayWhereAndWhatIsAllowed(t *testing.T) {
	big := filepath.Join(t.TempDir(), "big.toml")
	if err := os.WriteFile(big, make([]byte, maxConfigBytes+1), 0o600); err != nil {
		t.Fatal(err)
	}
	fifo := filepath.Join(t.TempDir(), "fifo")
	if err := unix.Mkfifo(fifo, 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ args, want string }{
		{"--variant colla", "cola"},
		{"--tp many", "--tp"},
		{"--set tp=many", "--set"},
		{"--set steps", "key=value"},
		{"--set step=3", "steps"},
		{"--config /nowhere/x.toml", "/nowhere/x.toml"},
		{"--config " + big, "longer than"},
		{"--config " + fifo, "is a FIFO; - reads from stdin"},
		{"--config /dev/zero", "not a regular file"},
	} {
		_, err := parse(t, strings.Fields(c.args)...)
		if err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%s: %v, want an error with %q", c.args, err, c.want)
		}
	}
}

func TestAllThatIsWrongAtOnce(t *testing.T) {
	file := filepath.Join(t.TempDir(), "x.toml")
	if err := os.WriteFile(file, []byte("[train]\nsteps = 'many'\nlr = -1\n[step]\nseq = 0\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	_, err := parse(t, "--config", file, "--tp", "two", "--variant", "colla", "--set", "nope=1", "--micro-batch", "0", "--stop-after", "-1")
	for _, want := range []string{"x.toml:2: steps", "lr -1", "seq 0", `--tp: "two"`, `--variant: "colla"`, "--set: key", "micro-batch 0", "stop-after -1"} {
		if err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%v\nlacks %q", err, want)
		}
	}
}

func TestConfigFromStdin(t *testing.T) {
	f := experimentFlags{in: strings.NewReader("[train]\nsteps = 7\n"), config: "-"}
	if e, err := f.experiment(); err != nil || e.Train.Steps != 7 {
		t.Errorf("%v, %v", e.Train, err)
	}
}
