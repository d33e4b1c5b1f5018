package main

import (
	"encoding/json"
	"strings"
	"testing"
	"time"

	"boost-tui/experiment"
	"boost-tui/runner"
)

// A run that nobody looks after is told from one that goes on.
func TestStoppedAgentInTheList(t *testing.T) {
	v := viewOf(runner.Info{ID: "a", State: runner.Running, Cause: "its agent is stopped (SIGSTOP, process 7): nobody looks after its ranks"})
	if row := v.row(time.Now()); !strings.Contains(row, "running (its agent is stopped (SIGSTOP") {
		t.Error(row)
	}
	if v = viewOf(runner.Info{ID: "a", State: runner.Running}); strings.Contains(v.row(time.Now()), "(") {
		t.Error(v.row(time.Now()))
	}
}

// The table says what runs computed on as soon as that was not the processor for one of them.
func TestDevicesOfListedRuns(t *testing.T) {
	runs := t.TempDir()
	add := func(id, device string) {
		e := experiment.Default()
		e.Step.Device = device
		resolved, err := e.Resolve()
		if err != nil {
			t.Fatal(err)
		}
		text, err := json.Marshal(map[string]any{"schema": 1, "id": id, "experiment": resolved})
		if err != nil {
			t.Fatal(err)
		}
		fakeRun(t, runs, id, string(text))
	}
	add("a", experiment.DeviceCPU)
	if r := try(t, "runs", "--runs", runs); r.code != exitOK || strings.Contains(r.stdout, "DEVICE") {
		t.Errorf("exit %d: %s%s", r.code, r.stdout, r.err)
	}
	add("b", experiment.DeviceEmu)
	r := try(t, "runs", "--runs", runs)
	lines := strings.Split(strings.TrimSpace(r.stdout), "\n")
	if len(lines) != 3 || !strings.HasSuffix(lines[0], "DEVICE") || !strings.HasSuffix(lines[1], "emulated") || !strings.HasSuffix(lines[2], "cpu") {
		t.Errorf("exit %d: %s%s", r.code, r.stdout, r.err)
	}
	var views []struct{ Device string }
	oneJSON(t, try(t, "runs", "--json", "--runs", runs).stdout, &views)
	if len(views) != 2 || views[0].Device != experiment.DeviceEmu || views[1].Device != experiment.DeviceCPU {
		t.Errorf("%+v", views)
	}
}
