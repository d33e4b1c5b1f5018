package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"slices"
	"strings"
	"syscall"
	"testing"
	"time"

	"boost-tui/experiment"
	"boost-tui/profiler/compare"
	"boost-tui/trainer/golden"
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
	var list []runView
	oneJSON(t, p.want(exitOK, "runs", "--json").stdout, &list)
	for _, v := range list {
		if emulated := v.Device == experiment.DeviceEmu; v.EmulatedDevice != emulated {
			t.Errorf("runs --json: %+v", v)
		}
	}
	var report golden.Report
	oneJSON(t, p.want(exitOK, "verify", "--case", "cola_base", "--scheme", "btp", "--tp", "1", "--device", "emulated", "--norm", "online", "--grouping", "on", "--recompute", "none", "--json").stdout, &report)
	if !report.EmulatedDevice {
		t.Errorf("verify --json: %+v", report)
	}
	for _, name := range []string{"steps.csv", "collectives.csv", "ranks.csv", "gpus.csv", "trace.json"} {
		data, err := os.ReadFile(filepath.Join(to, name))
		if err != nil || !strings.Contains(string(data), "emulated_device") || !strings.Contains(string(data), "emulated") {
			t.Errorf("%s does not name the device (%v)", name, err)
		}
	}
}

// A rank that is stopped is named by the run that ends for it, and not one that waited.
func TestStoppedRankOnTheEmulatedDeviceIsNamed(t *testing.T) {
	if _, err := exec.LookPath("g++"); err != nil {
		t.Skip("no g++ to compile the emulated device with")
	}
	p := newProgram(t)
	t.Setenv("BOOST_STALL", "3s")
	r := p.want(exitOK, shortRun("--device", "emulated", "--dtype", "fp32", "--tp", "2", "--steps", "100000", "--detach", "--json")...)
	var run struct{ ID, Dir string }
	oneJSON(t, r.stdout, &run)
	until := func(what string, holds func() bool) {
		t.Helper()
		for limit := time.Now().Add(2 * time.Minute); !holds(); time.Sleep(50 * time.Millisecond) {
			if time.Now().After(limit) {
				t.Fatalf("no %s", what)
			}
		}
	}
	until("steps of both ranks", func() bool {
		for _, name := range []string{"r00000.jsonl", "r00001.jsonl"} {
			if lines, _ := os.ReadFile(filepath.Join(run.Dir, "steps", name)); strings.Count(string(lines), "\n") < 3 {
				return false
			}
		}
		return true
	})
	stopped := 0
	for _, q := range processesOf(t, run.Dir) {
		if q.role() == "rank" && slices.Contains(q.argv, "1") {
			stopped++
			if err := syscall.Kill(q.pid, syscall.SIGSTOP); err != nil {
				t.Fatal(err)
			}
		}
	}
	if stopped != 1 {
		t.Fatalf("%d processes are rank 1", stopped)
	}
	var seen struct{ State, Cause string }
	until("end of the run", func() bool {
		oneJSON(t, p.want(exitOK, "show", run.ID, "--json").stdout, &seen)
		return seen.State == "failed"
	})
	if !strings.HasPrefix(seen.Cause, "rank 1 is stopped (SIGSTOP): rank 0: ") || !strings.Contains(seen.Cause, "have not come") {
		t.Errorf("%s", seen.Cause)
	}
}
