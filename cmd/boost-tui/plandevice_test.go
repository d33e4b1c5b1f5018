package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"boost-tui/experiment"
	"boost-tui/kernels/cuda"
	"boost-tui/trainer/devices"
)

// A plan says what it is for, and an auto that was said is what a run would take here.
func TestPlanNamesItsDevice(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv(cuda.EnvLibrary, "/nowhere/lib.so") // auto is the processor on every machine
	file := filepath.Join(t.TempDir(), "x.toml")
	if err := os.WriteFile(file, []byte("[step]\ndevice = \"auto\"\n"), 0o600); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args         string
		device, note string
		dtype        string
	}{
		{"", "left open: ", "", experiment.BF16},
		{"--dtype fp32", "left open: ", "", experiment.FP32},
		{"--device cpu", "cpu", "", experiment.FP32},
		{"--device cuda", "cuda", "", experiment.BF16},
		{"--device emulated", "emulated: the processor runs", "", experiment.FP32},
		{"--device auto", "cpu", "device auto is cpu here: ", experiment.FP32},
		{"--set device=auto", "cpu", "device auto is cpu here: ", experiment.FP32},
		{"--config " + file, "cpu", "device auto is cpu here: ", experiment.FP32},
		{"--device auto --where slurm", "left open: ", "", experiment.BF16},
		{"--machine ../../docs/machine.toml --device auto", "left open: planned for GPUs", "", experiment.BF16},
	} {
		r := try(t, append([]string{"plan"}, strings.Fields(c.args)...)...)
		lines := strings.Split(r.stdout, "\n")
		if r.code != exitOK || len(lines) < 2 {
			t.Fatalf("%s: exit %d: %s", c.args, r.code, r.err)
		}
		name, text, _ := strings.Cut(lines[1], " ")
		text = strings.TrimSpace(text)
		if name != "device" || !strings.HasPrefix(text, c.device) || !strings.Contains(c.device, " ") && text != c.device {
			t.Errorf("%s: %q, want device %q", c.args, lines[1], c.device)
		}
		if !strings.Contains(lines[0], ", "+c.dtype) || !strings.Contains(r.err, c.note) || c.note == "" && strings.Contains(r.err, "device auto") {
			t.Errorf("%s: %s, want %s: %s", c.args, lines[0], c.dtype, r.err)
		}
	}
	t.Setenv(devices.EnvStall, "never")
	if r := try(t, "plan", "--device", "auto"); r.code != exitUsage || !strings.Contains(r.err, devices.EnvStall) {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
}
