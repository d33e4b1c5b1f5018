package main

import (
	"encoding/json"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
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
	folder, out := bundle(t, p), t.TempDir()
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

// bundle is what of make gpu-bundle needs no compiler of NVIDIA's.
func bundle(t *testing.T, p program) (folder string) {
	t.Helper()
	folder = t.TempDir()
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
	return folder
}

// Without a GPU the script leaves a report that says so, and says where it looked; the libraries of a Python's wheels are for GPUs
// alone.
func TestGPUScriptWithoutGPU(t *testing.T) {
	p := newProgram(t)
	folder, dir := bundle(t, p), t.TempDir()
	python, bare := filepath.Join(dir, "python"), filepath.Join(dir, "bare")
	lt, nccl := filepath.Join(dir, "libcublasLt.so.13"), filepath.Join(dir, "libnccl.so.2")
	err := errors.Join(os.WriteFile(python, []byte("#!/bin/sh\necho lt "+lt+"\necho nccl "+nccl+"\n"), 0o700),
		os.WriteFile(bare, []byte("#!/bin/sh\necho 'lt '\necho 'nccl '\n"), 0o700),
		os.Rename(filepath.Join(folder, "boost-tui"), filepath.Join(folder, "real")),
		os.WriteFile(filepath.Join(folder, "boost-tui"), []byte("#!/bin/sh\necho \"$BOOST_CUBLASLT $BOOST_NCCL\" >\"$SEEN\"\nexec \"$(dirname \"$0\")/real\" \"$@\"\n"), 0o700))
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		device, python, seen string
		code                 int
		says                 []string
	}{
		{"cuda", python, lt + " " + nccl, exitUsage, []string{"device cuda cannot be had"}},
		{"cuda", "/nowhere/python3", " ", exitUsage, []string{"device cuda cannot be had", "there is no /nowhere/python3", "PYTHON="}},
		{"cuda", "/bin/true", " ", exitUsage, []string{"/bin/true does not answer as a Python does", "PYTHON="}},
		{"cuda", bare, " ", exitUsage, []string{"no cuBLASLt among the wheels of " + bare + ": it is looked for in the usual places", "PYTHON="}},
		{"emulated", python, " ", exitOK, nil},
	} {
		out, seen := t.TempDir(), filepath.Join(t.TempDir(), "seen")
		cmd := exec.Command(filepath.Join(folder, "gpu.sh"), "--only", prove.PartVersions)
		cmd.Env = append(os.Environ(), "DEVICE="+c.device, "PYTHON="+c.python, "OUT="+out, "SEEN="+seen, "CUDA_VISIBLE_DEVICES=",
			"BOOST_CUDA_LIB=/nowhere/libboost_cuda.so", "BOOST_CUBLASLT=", "BOOST_NCCL=")
		text, err := cmd.CombinedOutput()
		if cmd.ProcessState == nil || cmd.ProcessState.ExitCode() != c.code {
			t.Errorf("%v: %v, %s", c, err, text)
		}
		for _, says := range c.says {
			if !strings.Contains(string(text), says) {
				t.Errorf("%v: it does not say %q: %s", c, says, text)
			}
		}
		if got, err := os.ReadFile(seen); err != nil || string(got) != c.seen+"\n" {
			t.Errorf("%v: the program sees %q, %v", c, got, err)
		}
		found, err := filepath.Glob(filepath.Join(out, map[string]string{"cuda": "gpu", "emulated": "emulated"}[c.device]+"-*.json"))
		if err != nil || len(found) != 1 {
			t.Errorf("%v: reports %v, %v", c, found, err)
			continue
		}
		if checked := p.want(exitCheck, "bench-gpu", "--check", found[0]); !strings.Contains(checked.stdout, "incomplete") || !strings.Contains(checked.stdout, "nothing was measured") {
			t.Errorf("%v: %+v", c, checked)
		}
	}
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
	begun := func() bool { // a report is there before its first part
		found, _ = filepath.Glob(filepath.Join(out, "*.json")) // the pattern is right
		if len(found) == 0 {
			return false
		}
		data, err := os.ReadFile(found[0])
		return err == nil && strings.Contains(string(data), `"name": "`+prove.PartVersions)
	}
	for deadline := time.Now().Add(5 * time.Minute); !begun() && time.Now().Before(deadline); {
		time.Sleep(5 * time.Millisecond)
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
	if left, err := filepath.Glob(filepath.Join(out, "*")); err != nil || len(left) != 1 {
		t.Errorf("it leaves %v, %v", left, err)
	}
	if !r.Complete && (err == nil || len(r.Parts) > 18) {
		t.Errorf("broken off after %d parts, and it ends with %v", len(r.Parts), err)
	}
}
