package main

import (
	"strings"
	"testing"
	"time"

	"boost-tui/planner"
)

// A plan for another place is judged by what is known of that place, and says so.
func TestPlanForAnotherPlace(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	plan := func(where ...string) string {
		t.Helper()
		r := try(t, append([]string{"plan", "--tp", "2"}, where...)...)
		if r.code != exitOK {
			t.Fatalf("exit %d: %s", r.code, r.err)
		}
		return r.stdout
	}
	slurm := []string{"--where", "slurm", "--partition", "dev", "--nodes", "2"}
	for _, where := range [][]string{slurm, {"--where", "ssh", "--hosts", "a,b"}} {
		if text := plan(where...); strings.Contains(text, "this machine") || !strings.Contains(text, "unknown: all ranks need") || !strings.Contains(text, "bf16 (as on GPUs") {
			t.Errorf("%v: %s", where, text)
		}
	}
	for _, name := range []string{"slurm-dev", "lab"} {
		if _, err := saveMachine(planner.MachineFile{Name: name, MemoryBytes: 1 << 30, Cores: 4, Measured: time.Unix(1e9, 0).UTC()}); err != nil {
			t.Fatal(err)
		}
	}
	if text := plan(slurm...); !strings.Contains(text, "yes: all ranks need") || !strings.Contains(text, "2 of machine slurm-dev have 2") || !strings.Contains(text, "fp32 (as a run takes without GPUs)") {
		t.Error(text)
	}
	if text := plan("--machine", "lab"); !strings.Contains(text, "machine lab has 1") || !strings.Contains(text, "fp32") {
		t.Error(text)
	}
	if text := plan("--machine", "lab", "--dtype", "bf16"); !strings.Contains(text, "bf16\n") {
		t.Error(text)
	}
	if text := plan(); !strings.Contains(text, "this machine has") || !strings.Contains(text, "bf16\n") {
		t.Error(text)
	}
}
