package main

import (
	"encoding/json"
	"os"
	"os/exec"
	"path/filepath"
	"syscall"
	"testing"
	"time"

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
	p.want(exitOK, "bench-gpu", "--check", found[0])
	brokenOff(t, filepath.Join(folder, "gpu.sh"))
	if err := os.WriteFile(found[0], []byte(`{"schema": 1, "parts": [{"name": "x"}]}`), 0o600); err != nil {
		t.Fatal(err)
	}
	p.want(exitCheck, "bench-gpu", "--check", found[0])
}

// brokenOff ends the script by a signal when the first part is done: what there is is a report.
func brokenOff(t *testing.T, script string) {
	t.Helper()
	out := t.TempDir()
	cmd := exec.Command(script)
	cmd.Env = append(os.Environ(), "DEVICE=emulated", "OUT="+out)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	var found []string
	for deadline := time.Now().Add(time.Minute); len(found) == 0 && time.Now().Before(deadline); time.Sleep(5 * time.Millisecond) {
		found, _ = filepath.Glob(filepath.Join(out, "*.json")) // the pattern is right
	}
	_ = cmd.Process.Signal(syscall.SIGTERM) // it may have ended
	err := cmd.Wait()
	if len(found) != 1 {
		t.Fatalf("there is no report: %v", err)
	}
	data, readErr := os.ReadFile(found[0])
	r, parseErr := prove.Parse(data)
	if readErr != nil || parseErr != nil || len(r.Parts) == 0 {
		t.Errorf("%v, %v\n%s", readErr, parseErr, data)
	}
	if !r.Complete && (err == nil || len(r.Parts) > 18) {
		t.Errorf("broken off after %d parts, and it ends with %v", len(r.Parts), err)
	}
}
