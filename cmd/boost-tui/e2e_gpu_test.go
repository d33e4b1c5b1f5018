package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"testing"

	"boost-tui/trainer/prove"
)

// scripts/gpu.sh walks through all parts on the emulated device, and leaves a report that is one.
func TestGPUScript(t *testing.T) {
	if _, err := exec.LookPath("g++"); err != nil {
		t.Skip("no g++")
	}
	p := newProgram(t)
	folder, out := t.TempDir(), t.TempDir()
	if err := os.Link(p.bin, filepath.Join(folder, "boost-tui")); err != nil {
		t.Skip(err)
	}
	for _, name := range []string{"gpu.sh", "sdpa.py"} {
		data, err := os.ReadFile(filepath.Join("../../scripts", name))
		if err != nil {
			t.Fatal(err)
		}
		if err := os.WriteFile(filepath.Join(folder, name), data, 0o700); err != nil {
			t.Fatal(err)
		}
	}
	cmd := exec.Command(filepath.Join(folder, "gpu.sh"), "--limit", "10m")
	cmd.Env = append(os.Environ(), "DEVICE=emulated", "OUT="+out)
	if text, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	found, err := filepath.Glob(filepath.Join(out, "*"))
	if err != nil || len(found) != 1 {
		t.Fatalf("%v, %v", found, err)
	}
	data, err := os.ReadFile(found[0])
	if err != nil {
		t.Fatal(err)
	}
	r, err := prove.Parse(data)
	if err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	leftOut := map[string]bool{prove.PartTorch: true, prove.PartKernels: true, prove.PartMemcheck: true, prove.PartRacecheck: true}
	for _, part := range r.Parts {
		if want := map[bool]string{true: prove.StateLeftOut, false: prove.StateOK}[leftOut[part.Name]]; part.State != want {
			t.Errorf("%s is %s: %s", part.Name, part.State, part.Reason)
		}
		if part.Name == prove.PartTwoRanks {
			var run runResult
			if err := json.Unmarshal(part.Result, &run); err != nil || run.State != "finished" || run.Steps != 5 {
				t.Errorf("two ranks: %v, %s", err, part.Result)
			}
		}
	}
	if !r.Complete || !r.Tiny || r.Device != "emulated" {
		t.Errorf("%+v", r)
	}
	p.want(exitOK, "bench-device", "--check", found[0])
	if err := os.WriteFile(found[0], []byte(`{"schema": 1, "parts": [{"name": "x"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	p.want(exitCheck, "bench-device", "--check", found[0])
}
