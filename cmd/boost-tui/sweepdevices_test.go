package main

import (
	"context"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"boost-tui/experiment"
	"boost-tui/kernels/cuda"
	"boost-tui/planner"
	"boost-tui/runner"
	"boost-tui/sweeps"
	"boost-tui/sweeps/space"
)

// A sweep whose points want a device that is not here starts nothing, and says so once.
func TestSweepAsksForDevicesBeforeAnythingStarts(t *testing.T) {
	if _, err := cuda.FindDriver(); err == nil {
		t.Skip("there is a driver")
	}
	runs := t.TempDir()
	t.Setenv("BOOST_RUNS", runs)
	for _, args := range [][]string{{"--device", "cuda", "--axis", "tp=1,2"}, {"--axis", "device=cpu,cuda", "--axis", "tp=1,2"},
		{"--axis", "device=cpu,cuda", "--detach"}, {"--axis", "device=cpu,cuda", "--dry-run"}} {
		r := try(t, append([]string{"sweep", "--size", "tiny"}, args...)...)
		if r.code != exitUsage || r.stdout != "" || strings.Count(r.err, "no NVIDIA driver") != 1 || !strings.Contains(r.err, "libboost_cuda.so was not found") {
			t.Errorf("%v: exit %d, %q, %s", args, r.code, r.stdout, r.err)
		}
	}
	if _, err := os.Stat(filepath.Join(runs, sweeps.FolderName)); err == nil {
		t.Error("a sweep was made")
	}
	id := plannedElsewhere(t, runs)
	for _, args := range [][]string{{"sweep", "resume", id}, {"sweep", "resume", id, "--detach"}} {
		r := try(t, args...)
		if r.code != exitUsage || strings.Count(r.err, "no NVIDIA driver") != 1 || !strings.Contains(r.err, "cannot go on here") {
			t.Errorf("%v: exit %d, %s", args, r.code, r.err)
		}
	}
	sw, err := sweeps.OpenFolder(runner.NewStore(runs)).Find(id)
	if err != nil {
		t.Fatal(err)
	}
	if st, err := sw.Load(t.Context()); err != nil || len(st.Waiting()) != 2 || st.Phase != sweeps.PhaseWaiting {
		t.Errorf("the sweep was touched: %+v, %v", st, err)
	}
}

func TestSweepWithoutACompilerForTheEmulatedDevice(t *testing.T) {
	t.Setenv("BOOST_RUNS", t.TempDir())
	t.Setenv("XDG_CACHE_HOME", t.TempDir())
	t.Setenv("PATH", t.TempDir())
	r := try(t, "sweep", "--size", "tiny", "--axis", "device=cpu,emulated", "--axis", "tp=1,2")
	if r.code != exitUsage || strings.Count(r.err, "g++") == 0 || strings.Count(r.err, "cannot be had") != 1 {
		t.Errorf("exit %d, %s", r.code, r.err)
	}
}

// A sweep says what its open device is here, and why, as a run does; one that leaves none open does not.
func TestSweepSaysWhatAutoIs(t *testing.T) {
	t.Setenv(cuda.EnvLibrary, "/nowhere/lib.so") // auto is the processor on every machine
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	for args, want := range map[string]bool{
		"": true, "--set device=auto": true, "--device cpu": false, "--axis device=auto,cpu": true,
		"--where slurm": false, "--json": true,
	} {
		r := try(t, append([]string{"sweep", "--dry-run", "--axis", "tp=1,2"}, strings.Fields(args)...)...)
		says := strings.Count(r.err, "device auto is cpu here: ")
		if r.code != exitOK || (says == 1) != want || says > 1 {
			t.Errorf("%q: exit %d: %s", args, r.code, r.err)
		}
	}
}

// plannedElsewhere is a sweep of two points on GPUs as a machine that has some makes it.
func plannedElsewhere(t *testing.T, runs string) string {
	t.Helper()
	axis, err := space.ParseAxis("tp=1,2")
	if err != nil {
		t.Fatal(err)
	}
	file := space.File{Spec: space.Spec{Set: []space.Assign{{Key: "size", Value: "tiny"}}, Axes: []space.Axis{axis}}}
	all := func(device string, _ int) (string, error) { return experiment.DeviceCUDA, nil }
	x, err := space.ExpandHere(context.Background(), file.Spec, func(experiment.Experiment) planner.Machine { return planner.Machine{} }, all)
	if err != nil {
		t.Fatal(err)
	}
	file.Spec = file.Spec.Settled(x)
	sw, err := sweeps.OpenFolder(runner.NewStore(runs)).Create(file, x, sweeps.DefaultOptions(), nil)
	if err != nil {
		t.Fatal(err)
	}
	return sw.ID
}
