package main

import (
	"context"
	"errors"
	"io/fs"
	"slices"
	"strings"

	"boost-tui/kernels/cuda"
	"boost-tui/runner"
	"boost-tui/trainer/devices"
)

// cudaHere is what this machine has for runs on GPUs.
type cudaHere struct {
	Driver   string         `json:"driver,omitempty"`  // version and path; absent: none
	Cards    int            `json:"cards"`             // that are visible
	Library  string         `json:"library,omitempty"` // path of libboost_cuda.so; absent: none will do
	Findings []cuda.Finding `json:"findings"`          // what the library says: cards, cuBLASLt, NCCL
}

// emulatedHere is what it has for the emulated device.
type emulatedHere struct {
	Compiler string `json:"compiler,omitempty"` // version and path; absent: none
	Library  string `json:"library,omitempty"`  // where it is, once it has been compiled; absent: not yet, or it will not do
	Problem  string `json:"problem,omitempty"`  // what is wrong with the library that is there, or with the place for it

	unsure bool // g++ is there and does not answer
}

// examineDevices finds out, and notes what is missing.
func (d *diagnosis) examineDevices(ctx context.Context) {
	g := devices.Look(ctx)
	d.CUDA = cudaHere{g.Driver, g.Cards, g.Library, g.Findings}
	if d.CUDA.Findings == nil {
		d.CUDA.Findings = []cuda.Finding{}
	}
	for _, l := range g.Lacks(1) {
		d.Missing = append(d.Missing, missing{l.What, "runs on GPUs (--device cuda)", runner.Clean(l.Why)})
	}
	for _, f := range g.Findings {
		if f.Lacks != "" && strings.Contains(f.What, "NCCL") {
			d.Missing = append(d.Missing, missing{f.What, "runs of several ranks on GPUs", runner.Clean(f.Lacks)})
		}
	}
	d.examineEmulated(ctx)
}

// examineEmulated looks at the library that was compiled, and for what compiles it.
func (d *diagnosis) examineEmulated(ctx context.Context) {
	const use = "the emulated device (--device emulated)"
	path, err := cuda.Compiled()
	switch {
	case err == nil:
		d.Emulated.Library = path
	case errors.Is(err, cuda.ErrDamaged) && !errors.Is(err, cuda.ErrPlace):
		d.Emulated.Problem = runner.Clean(err.Error())
	case errors.Is(err, cuda.ErrPlace) || !errors.Is(err, fs.ErrNotExist):
		d.Emulated.Problem = runner.Clean(err.Error())
		what := "a library that can be used"
		if errors.Is(err, cuda.ErrPlace) && !strings.HasPrefix(d.Emulated.Problem, "library ") {
			what = "a folder for the compiled library"
		}
		d.Missing = append(d.Missing, missing{what, use, d.Emulated.Problem})
		return
	}
	compiler, err := cuda.Compiler(ctx)
	switch {
	case err == nil:
		d.Emulated.Compiler = runner.Clean(compiler)
	case d.Emulated.Library != "": // nothing is to be compiled
	case errors.Is(err, cuda.ErrNoCompiler):
		d.Missing = append(d.Missing, missing{"g++", use, runner.Clean(err.Error())})
	default:
		d.Emulated.unsure = true
		d.Missing = append(d.Missing, missing{"a g++ that answers", use, runner.Clean(err.Error())})
	}
}

// String says what there is, in a line.
func (e emulatedHere) String() string {
	with := ", with " + e.Compiler
	switch {
	case e.Library != "":
		return cuda.Shown(e.Library)
	case e.unsure:
		with = ", if its g++ answers then"
	case e.Compiler == "" && e.Problem == "":
		return "none: no g++ to compile it with"
	case e.Compiler == "":
		return "none: " + e.Problem
	}
	if e.Problem != "" {
		return e.Problem + "; the next use compiles it anew" + with
	}
	return "not compiled yet; the first use does" + with
}

// lacking is how something that will not do stands in its line: what is there is not missing.
func lacking(value string) string {
	if value == "" {
		return "missing"
	}
	return value + " unsuitable"
}

// printDevices are the lines about GPUs and what is emulated.
func (d *diagnosis) printDevices(line func(name, text string, args ...any)) {
	if len(d.NVIDIA.GPUs) == 0 {
		line("GPUs", "none: %s", d.NVIDIA.Reason)
	} else {
		line("GPUs", "%s", strings.Join(d.NVIDIA.GPUs, ", "))
	}
	driver := d.CUDA.Driver
	if driver == "" {
		driver = "none"
	}
	line("NVIDIA driver", "%s", runner.Clean(driver))
	library := d.CUDA.Library
	if library == "" {
		library = "none"
	}
	line("CUDA library", "%s", cuda.Shown(library))
	for _, f := range d.CUDA.Findings {
		value := f.Value
		if f.Lacks != "" && slices.ContainsFunc(d.Missing, func(m missing) bool { return m.What == f.What }) {
			value = lacking(value) + ", see below"
		} else if f.Lacks != "" {
			value = lacking(value) + ": " + f.Lacks
		}
		line("  "+runner.Clean(f.What), "%s", runner.Clean(value))
	}
	line("emulated device", "%s", d.Emulated)
}
