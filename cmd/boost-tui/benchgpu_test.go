package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"boost-tui/trainer/prove"
)

// What there is not, and what means nothing, is refused before anything is measured.
func TestBenchDeviceRefuses(t *testing.T) {
	dir := t.TempDir()
	t.Chdir(dir)
	there := filepath.Join(dir, "there.json")
	if err := os.WriteFile(there, []byte("mine"), 0o600); err != nil {
		t.Fatal(err)
	}
	for args, want := range map[string]string{
		"--device cpu":                             "cuda or emulated",
		"--part attention --device foo":            "cuda or emulated",
		"--part attention --device cpu":            "cuda or emulated",
		"--part attentino":                         "there are",
		"--part=":                                  "there are",
		"--part small-step --limit 3s":             "means nothing",
		"--part small-step --out x":                "means nothing",
		"--part small-step --budget -1s":           "below 0",
		"--budget 1s":                              "means nothing",
		"--check x --device cuda":                  "means nothing",
		"--check=":                                 "empty",
		"--check nowhere":                          "no such file",
		"--only produts --device emulated":         "there are",
		"--only= --device emulated":                "there are",
		"--limit -1s":                              "at least 10s",
		"--limit 0":                                "at least 10s",
		"--device emulated --tiny --limit 9.99s":   "at least 10s",
		"--out=":                                   "empty",
		"--device emulated --out " + dir:           "folder",
		"--device emulated --out x/":               "folder",
		"--device emulated --out no/x":             "no such file",
		"--device emulated --out " + there:         "already",
		"--device emulated --tiny --out /dev/full": "already",
	} {
		r := try(t, append([]string{"bench-gpu"}, strings.Fields(args)...)...)
		if r.code != exitUsage || !strings.Contains(r.err, want) {
			t.Errorf("%s: exit %d, %s", args, r.code, r.err)
		}
	}
	for env, device := range map[string]string{"BOOST_STALL": "cuda", "BOOST_EMU": "emulated"} {
		t.Run(env, func(t *testing.T) {
			t.Setenv(env, "abc")
			for _, args := range [][]string{{}, {"--part", "small-step"}} {
				if r := try(t, append([]string{"bench-gpu", "--device", device}, args...)...); r.code != exitUsage || !strings.Contains(r.err, env) {
					t.Errorf("exit %d, %s", r.code, r.err)
				}
			}
		})
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("it leaves %v, %v", left, err)
	}
}

// Where cuda cannot be had, there is a report that says so, under a name of its own, and the program says that it failed.
func TestBenchDeviceWithoutGPU(t *testing.T) {
	p := newProgram(t)
	dir := t.TempDir()
	out := filepath.Join(dir, "r.json")
	env := []string{"CUDA_VISIBLE_DEVICES=", "BOOST_CUDA_LIB=/nowhere/libboost_cuda.so", "HOME=/nowhere", "TMPDIR=" + dir}
	r := p.with(env, "bench-gpu", "--out", out)
	if r.code != exitUsage || !strings.Contains(r.err, "cannot be had") || !strings.Contains(r.err, "/nowhere/libboost_cuda.so") {
		t.Errorf("exit %d, %s", r.code, r.err)
	}
	data, err := os.ReadFile(out)
	if err != nil {
		t.Fatal(err)
	}
	report, err := prove.Parse(data)
	if err != nil || report.Complete || report.Figures != "nothing was measured: no GPU" || len(report.Parts) != len(prove.Parts()) {
		t.Fatalf("%v\n%s", err, data)
	}
	for _, part := range report.Parts[1:] {
		if part.State != prove.StateLeftOut || !strings.Contains(part.Reason, "driver") && !strings.Contains(part.Reason, "GPU") {
			t.Errorf("%s is %s: %s", part.Name, part.State, part.Reason)
		}
	}
	if checked := p.want(exitCheck, "bench-gpu", "--check", out); !strings.Contains(checked.stdout, report.Figures) || !strings.Contains(checked.stdout, "0 failed, 18 left out") {
		t.Errorf("%+v", checked)
	}
	if left, err := os.ReadDir(dir); err != nil || len(left) != 1 {
		t.Errorf("it leaves %v, %v", left, err)
	}
}

// What ranks would refuse of the environment is refused before there is a run.
func TestWrongEnvironmentOfADevice(t *testing.T) {
	p := newProgram(t)
	for _, env := range []string{"BOOST_EMU=foo", "BOOST_EMU=random=x", "BOOST_STALL=abc"} {
		t.Run(env, func(t *testing.T) {
			q := p
			q.t = t
			if r := q.with([]string{env}, shortRun("--device", "emulated", "--dtype", "fp32")...); r.code != exitUsage {
				t.Errorf("exit %d, %s", r.code, r.err)
			}
			q.nothingStarted()
		})
	}
}
