package main

import (
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"

	"boost-tui/kernels/cuda"
	"boost-tui/trainer/golden"
)

// with runs a command in a changed environment.
func (p program) with(env []string, args ...string) result {
	p.t.Helper()
	for _, kv := range env {
		name, value, _ := strings.Cut(kv, "=")
		p.t.Setenv(name, value)
	}
	return p.run(args...)
}

// nothingStarted fails when the store has a run.
func (p program) nothingStarted() {
	p.t.Helper()
	if found, _ := filepath.Glob(filepath.Join(p.runs, "*", "run.json")); len(found) > 0 {
		p.t.Errorf("there are runs: %v", found)
	}
}

// On a machine without a GPU a run on one says all that is missing before anything starts, whatever library there is.
func TestCUDAThatCannotBeHad(t *testing.T) {
	if d, err := cuda.FindDriver(); err == nil && d.Cards > 0 {
		t.Skipf("there are %d GPUs", d.Cards)
	}
	p := newProgram(t)
	faulty := func(flag string) string {
		cc, err := exec.LookPath("gcc")
		if err != nil {
			t.Skip("no gcc")
		}
		path := filepath.Join(t.TempDir(), cuda.LibraryName)
		if out, err := exec.Command(cc, "-shared", "-fPIC", "-I../../kernels/backend", flag, "-o", path, "../../kernels/cuda/testdata/library.c").CombinedOutput(); err != nil {
			t.Fatalf("%v: %s", err, out)
		}
		return path
	}
	for name, c := range map[string]struct {
		library string
		want    []string
	}{
		"none":      {"/nowhere/" + cuda.LibraryName, []string{"driver: no NVIDIA driver", "library: ", "/nowhere/", "not found"}},
		"too old":   {faulty("-DOLD"), []string{"driver: no NVIDIA driver", "library: ", "another version", "make cuda"}},
		"a symbol":  {faulty("-DNO_SYMBOL"), []string{"driver: no NVIDIA driver", "no function bt_backend"}},
		"a lack":    {faulty("-DLACKS"), []string{"lacks launch"}},
		"crashes":   {faulty("-DAT_ONCE=abort()"), []string{"driver: no NVIDIA driver", "library: ", "crashes (aborted) when it is opened"}},
		"ends":      {faulty("-DAT_ONCE=exit(0)"), []string{"ends the process (exit code 0) when it is opened"}},
		"just NCCL": {faulty("-DFINE"), []string{"driver: no NVIDIA driver", "NCCL: libnccl.so.2 was not found"}},
	} {
		t.Run(name, func(t *testing.T) {
			q := p
			q.t = t
			r := q.with([]string{cuda.EnvLibrary + "=" + c.library}, shortRun("--device", "cuda", "--steps", "2")...)
			if r.code != exitUsage || r.stdout != "" || strings.Count(strings.TrimSpace(r.err), "\n") > 0 {
				t.Errorf("exit %d, stdout %q, stderr %q", r.code, r.stdout, r.err)
			}
			for _, want := range c.want {
				if !strings.Contains(r.err, want) {
					t.Errorf("%q does not say %q", r.err, want)
				}
			}
			if r := q.run("verify", "--device", "cuda", "--case", "cola_base"); r.code != exitUsage || !strings.Contains(r.err, "driver") {
				t.Errorf("verify: exit %d, %s", r.code, r.err)
			}
			doctor := q.want(exitOK, "doctor").stdout
			for _, want := range c.want {
				if _, text, cut := strings.Cut(want, ": "); cut {
					want = text
				}
				if !strings.Contains(doctor, want) {
					t.Errorf("doctor does not say %q:\n%s", want, doctor)
				}
			}
			q.nothingStarted()
		})
	}
	r := p.want(exitOK, shortRun("--steps", "2")...)
	if !strings.Contains(r.err, "device auto is cpu here: no NVIDIA driver (libcuda.so.1 cannot be opened)") {
		t.Errorf("auto: %s", r.err)
	}
	d := p.want(exitOK, "doctor").stdout
	for _, want := range []string{"NVIDIA driver", "CUDA library", "emulated device", "missing: driver, for runs on GPUs", "missing: library, for runs on GPUs"} {
		if !strings.Contains(d, want) {
			t.Errorf("doctor does not say %q:\n%s", want, d)
		}
	}
}

// A run, and the reference cases, on the emulated device.
func TestEmulatedDevice(t *testing.T) {
	if _, err := exec.LookPath("g++"); err != nil {
		t.Skip("no g++")
	}
	p := newProgram(t)
	r := p.want(exitOK, shortRun("--device", "emulated", "--steps", "5", "--json")...)
	var said runResult
	oneJSON(t, r.stdout, &said)
	if said.State != "finished" || said.Steps != 5 {
		t.Errorf("%+v", said)
	}
	log, err := os.ReadFile(filepath.Join(said.Dir, "logs", "rank-0000.log"))
	if err != nil {
		logs := p.want(exitOK, "logs", said.ID)
		log = []byte(logs.stdout)
	}
	if !strings.Contains(string(log), "emulated (") {
		t.Errorf("the log does not say what computed: %s", log)
	}
	v := p.want(exitOK, "verify", "--device", "emulated", "--case", "cola_base", "--scheme", "btp", "--tp", "2", "--json")
	var report golden.Report
	oneJSON(t, v.stdout, &report)
	if !report.OK || report.Device != "emulated" {
		t.Errorf("%+v", report)
	}
	p.want(exitUsage, shortRun("--device", "emulated", "--where", "ssh", "--hosts", "a,b", "--nodes", "2")...)
	empty := t.TempDir()
	r = p.with([]string{"XDG_CACHE_HOME=" + empty, "PATH=" + empty}, shortRun("--device", "emulated", "--steps", "2")...)
	if r.code != exitUsage || !strings.Contains(r.err, "no g++") || !strings.Contains(r.err, "apt-get install g++") {
		t.Errorf("without a compiler: exit %d, %s", r.code, r.err)
	}
}
