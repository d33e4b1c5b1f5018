package main

import (
	"context"
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
	Library  string `json:"library,omitempty"`  // where it is, once it has been compiled
}

// examineDevices finds out, and notes what is missing.
func (d *diagnosis) examineDevices(ctx context.Context) {
	g := devices.Look()
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
	if path, there := cuda.Compiled(); there {
		d.Emulated.Library = path
	}
	compiler, err := cuda.Compiler(ctx)
	if err == nil {
		d.Emulated.Compiler = runner.Clean(compiler)
	} else if d.Emulated.Library == "" {
		d.Missing = append(d.Missing, missing{"g++", "the emulated device (--device emulated)", runner.Clean(err.Error())})
	}
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
	line("NVIDIA driver", "%s", driver)
	library := d.CUDA.Library
	if library == "" {
		library = "none"
	}
	line("CUDA library", "%s", library)
	for _, f := range d.CUDA.Findings {
		value := f.Value
		if f.Lacks != "" {
			value = strings.TrimSpace(value + " missing: " + f.Lacks)
		}
		line("  "+runner.Clean(f.What), "%s", runner.Clean(value))
	}
	emulated := "not compiled yet; the first use does, with " + d.Emulated.Compiler
	switch {
	case d.Emulated.Library != "":
		emulated = d.Emulated.Library
	case d.Emulated.Compiler == "":
		emulated = "none: no g++ to compile it with"
	}
	line("emulated device", "%s", emulated)
}
