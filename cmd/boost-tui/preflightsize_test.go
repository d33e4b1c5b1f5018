package main

import (
	"os"
	"regexp"
	"strings"
	"testing"

	"github.com/spf13/cobra"

	"boost-tui/docs"
	"boost-tui/experiment"
	"boost-tui/kernels/cuda"
)

// asPreflight is the experiment of a preflight's command line, as the command makes it before it looks at devices.
func asPreflight(t *testing.T, args []string, note func(string, ...any)) experiment.Experiment {
	t.Helper()
	var f experimentFlags
	cmd := &cobra.Command{Use: "preflight", RunE: func(*cobra.Command, []string) error { return nil }}
	f.register(cmd)
	cmd.Flags().String("machine", "", "")
	cmd.Flags().String("save", "", "")
	cmd.SetArgs(args)
	if err := cmd.Execute(); err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	e, err := f.experiment()
	if err != nil {
		t.Fatalf("%v: %v", args, err)
	}
	if f.shapeless() {
		checks{note: note}.shape(&e)
	}
	return e
}

// Every preflight that the README and the pages name is of an experiment that there can be.
func TestPreflightsOfThePagesCanRun(t *testing.T) {
	readme, err := os.ReadFile("../../README.md")
	if err != nil {
		t.Fatal(err)
	}
	texts := map[string]string{"README.md": string(readme)}
	entries, err := docs.FS.ReadDir(".")
	if err != nil {
		t.Fatal(err)
	}
	for _, e := range entries {
		if strings.HasSuffix(e.Name(), ".md") {
			texts[e.Name()] = page(t, e.Name())
		}
	}
	line := regexp.MustCompile("boost-tui preflight( --[^`\n]*?)(`|\n|   )")
	n := 0
	for name, text := range texts {
		for _, found := range line.FindAllStringSubmatch(text, -1) {
			if strings.Contains(found[1], "--save NAME") || !strings.Contains(found[1], "--tp") {
				continue
			}
			n++
			r, err := asPreflight(t, strings.Fields(found[1]), t.Logf).Resolve()
			if err == nil {
				err = experiment.Invalid(r.Validate(experiment.Machine{}))
			}
			if err != nil {
				t.Errorf("%s: preflight%s: %v", name, found[1], err)
			}
		}
	}
	if n < 4 {
		t.Errorf("only %d preflights are named: the pattern is wrong", n)
	}
}

// The size that nobody has named is one that the degrees divide, and one that was named stays.
func TestPreflightTakesASizeThatItsDegreesDivide(t *testing.T) {
	for args, want := range map[string]string{
		"":                                 "tiny",
		"--tp 4":                           "tiny",
		"--tp 8":                           "60m",
		"--tp 8 --device cuda":             "60m",
		"--tp 2 --pp 6 --set accumulate=6": "130m",
		"--tp 8 --size tiny":               "tiny",
		"--tp 8 --set d=256":               "tiny",
		"--tp 7":                           "tiny", // no size will do
	} {
		notes := 0
		e := asPreflight(t, strings.Fields(args), func(string, ...any) { notes++ })
		if e.Model.Size != want || (notes > 0) != (want != "tiny") {
			t.Errorf("%s: size %s with %d notes, want %s", args, e.Model.Size, notes, want)
		}
		if want != "tiny" && (e.Step.Seq != 128 || e.Step.MicroBatch != 8) {
			t.Errorf("%s: %d x %d", args, e.Step.MicroBatch, e.Step.Seq)
		}
	}
}

// An experiment that is wrong and whose GPUs lack something is told of both at once, as much as one that is not wrong.
func TestABrokenExperimentIsToldWhatGPUsLack(t *testing.T) {
	t.Setenv(cuda.EnvLibrary, "/nowhere/lib.so")
	for _, args := range [][]string{{"run", "--tp", "3"}, {"preflight", "--tp", "3", "--size", "tiny"}, {"preflight", "--tp", "8"}} {
		r := try(t, append(args, "--device", "cuda", "--runs", t.TempDir())...)
		if r.code != exitUsage || !strings.Contains(r.err, "libboost_cuda.so was not found") || strings.Contains(r.err, "this machine has no GPU") {
			t.Errorf("%v: exit %d: %s", args, r.code, r.err)
		}
		if broken := args[2] == "3"; strings.Contains(r.err, "tp must divide") != broken {
			t.Errorf("%v: %s", args, r.err)
		}
	}
}
