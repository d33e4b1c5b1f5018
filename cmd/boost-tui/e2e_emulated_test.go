package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"boost-tui/experiment"
	"boost-tui/profiler/compare"
)

// A run on the emulated device says so wherever its times are shown, and no speed-up over or of it has a verdict.
func TestEmulatedDeviceIsMarkedEverywhere(t *testing.T) {
	if _, err := exec.LookPath("g++"); err != nil {
		t.Skip("no g++ to compile the emulated device with")
	}
	p := newProgram(t)
	emulated := []string{"--device", "emulated", "--dtype", "fp32", "--steps", "12"}
	var plain, one runResult
	oneJSON(t, p.want(exitOK, shortRun("--steps", "3", "--json")...).stdout, &plain)
	oneJSON(t, p.want(exitOK, shortRun(append(emulated, "--json")...)...).stdout, &one)
	if plain.EmulatedDevice || plain.Device != experiment.DeviceCPU || !one.EmulatedDevice || one.Device != experiment.DeviceEmu || one.DType != experiment.FP32 {
		t.Errorf("%+v\n%+v", plain.Summary, one.Summary)
	}
	var table compare.Table
	oneJSON(t, p.want(exitOK, "compare", plain.ID, one.ID, "--json").stdout, &table)
	if len(table.Rows) != 2 || table.Rows[0].EmulatedDevice || !table.Rows[1].EmulatedDevice || table.Rows[1].Comparable {
		t.Errorf("%+v", table.Rows)
	}
	shown := p.want(exitOK, "show", one.ID).stdout
	for what, text := range map[string]string{
		"run":      p.want(exitOK, shortRun(emulated...)...).stdout,
		"show":     shown,
		"log":      p.want(exitOK, "logs", one.ID).stdout,
		"compare":  p.want(exitOK, "compare", plain.ID, one.ID).stdout,
		"markdown": p.want(exitOK, "compare", plain.ID, one.ID, "--format", "markdown").stdout,
	} {
		if !strings.Contains(text, experiment.EmulatedDevice) {
			t.Errorf("%s does not say that the device is emulated:\n%s", what, text)
		}
	}
	if strings.Contains(shown, "blas") {
		t.Errorf("show names a library that the run did not use:\n%s", shown)
	}
	to := filepath.Join(t.TempDir(), "out")
	p.want(exitOK, "export", one.ID, "--to", to)
	for _, name := range []string{"steps.csv", "collectives.csv", "ranks.csv", "trace.json"} {
		data, err := os.ReadFile(filepath.Join(to, name))
		if err != nil || !strings.Contains(string(data), "emulated_device") || !strings.Contains(string(data), "emulated") {
			t.Errorf("%s does not name the device (%v)", name, err)
		}
	}
}
