package house

import (
	"context"
	"errors"
	"os"
	"os/exec"
	"path/filepath"
	"strings"
	"testing"
	"time"
)

// script runs one of scripts/ in a project of its own, which has one source for GPUs.
func script(t *testing.T, env []string, name string, args ...string) (said string, code int) {
	t.Helper()
	dir := t.TempDir()
	text, err := os.ReadFile(filepath.Join("../../scripts", name))
	if err != nil {
		t.Fatal(err)
	}
	path := filepath.Join(dir, "scripts", name)
	src := filepath.Join(dir, "kernels", "cuda", "src")
	err = errors.Join(os.Mkdir(filepath.Dir(path), 0o700), os.WriteFile(path, text, 0o600), os.MkdirAll(src, 0o700),
		os.WriteFile(filepath.Join(src, "one.cu"), nil, 0o600))
	if err != nil {
		t.Fatal(err)
	}
	ctx, stop := context.WithTimeout(t.Context(), 5*time.Minute)
	defer stop()
	cmd := exec.CommandContext(ctx, "bash", append([]string{path}, args...)...)
	cmd.Env = append(os.Environ(), env...)
	out, err := cmd.CombinedOutput()
	if cmd.ProcessState == nil {
		t.Fatal(err)
	}
	return string(out), cmd.ProcessState.ExitCode()
}

// What a script does not know it refuses, in its own words and with what there is.
func TestScriptsRefuseWhatTheyDoNotKnow(t *testing.T) {
	for name, lines := range map[string][]string{
		"cuda.sh":       {"bogus", "setup x", "--bogus", "libraries --help"},
		"cuda-check.sh": {"bogus", "--updat", "--update x", "x --update"},
		"emu-matrix.sh": {"bogus", "mode", "mode bogus", "mode order x", "fault", "fault bogus", "fault NO_SYNC bogus", "all x", "modes x"},
		"gpu.sh":        {"bundle a b", "bundle --help", "--device emulated", "--out=x"},
	} {
		for _, line := range lines {
			said, code := script(t, nil, name, strings.Fields(line)...)
			if own := strings.TrimSuffix(name, ".sh"); code != 2 || !strings.HasPrefix(said, strings.TrimSuffix(own, "-matrix")) && !strings.HasPrefix(said, "emulator: ") {
				t.Errorf("%s %s: exit %d, %s", name, line, code, said)
			}
			if strings.Contains(said, "unbound") || strings.Contains(said, "\n#") {
				t.Errorf("%s %s: %s", name, line, said)
			}
		}
		for _, help := range []string{"--help", "-h"} {
			if said, code := script(t, nil, name, help); code != 0 || !strings.Contains(said, "scripts/"+name) || strings.Contains(said, "#") || strings.Contains(said, "set -") {
				t.Errorf("%s %s: exit %d, %s", name, help, code, said)
			}
		}
	}
}

// A compiler that does not do its work is named, with what it says.
func TestFaultyNVCC(t *testing.T) {
	if _, err := exec.LookPath("flock"); err != nil {
		t.Skip(err)
	}
	for body, want := range map[string]string{
		"exit 3":                        "fails with 3: nothing",
		"echo no licence >&2; exit 1":   "fails with 1: no licence",
		"kill -SEGV $$":                 "fails with 139",
		"exit 0":                        "does not say its version, but: nothing",
		"echo hello":                    "does not say its version, but: hello",
		"echo 'release 11.8, V11.8.89'": "11.8.89; 12.0 or newer",
		"printf 'bad \\033[31m\\n'":     "but: bad [31m",
	} {
		home := t.TempDir()
		nvcc := filepath.Join(home, "bin", "nvcc")
		if err := errors.Join(os.Mkdir(filepath.Dir(nvcc), 0o700), os.WriteFile(nvcc, []byte("#!/bin/sh\n"+body+"\n"), 0o700)); err != nil {
			t.Fatal(err)
		}
		for _, what := range []string{"setup", "build"} {
			said, code := script(t, []string{"CUDA_HOME=" + home}, "cuda.sh", what)
			if code != 3 || !strings.HasPrefix(said, "cuda: "+nvcc) || !strings.Contains(said, want) || strings.Contains(said, "\x1b") {
				t.Errorf("%s, %s: exit %d, %s", body, what, code, said)
			}
		}
	}
}

// A compiler that does its work until a certain point is never the end without a word.
func TestNVCCThatStops(t *testing.T) {
	for _, need := range []string{"flock", "g++"} {
		if _, err := exec.LookPath(need); err != nil {
			t.Skip(err)
		}
	}
	home := t.TempDir()
	nvcc := filepath.Join(home, "bin", "nvcc")
	const body = `#!/bin/sh
case "$*" in --version) echo 'release 13.0, V13.0.88'; exit;; esac
[ "$STOPS" = no ] || exit "$STOPS"
for last; do case $before in -o) : >"$last";; esac; before=$last; done
`
	if err := errors.Join(os.Mkdir(filepath.Dir(nvcc), 0o700), os.WriteFile(nvcc, []byte(body), 0o700)); err != nil {
		t.Fatal(err)
	}
	for stops, want := range map[string]string{"1": "does not compile", "0": "makes nothing of"} {
		said, code := script(t, []string{"CUDA_HOME=" + home, "STOPS=" + stops}, "cuda.sh", "build")
		if code != 1 || !strings.Contains(said, want) || !strings.Contains(said, "cuda: failed") {
			t.Errorf("exit %s: exit %d, %s", stops, code, said)
		}
	}
	if said, code := script(t, []string{"CUDA_HOME=" + home, "STOPS=no"}, "cuda.sh", "build"); code != 0 || !strings.Contains(said, "libboost_cuda.so, ") || strings.Contains(said, "failed") {
		t.Errorf("a compiler that works: exit %d, %s", code, said)
	}
}

// A report of the processor has a name and a place of its own, and a folder that cannot be is said.
func TestGPUScriptPlaces(t *testing.T) {
	for _, c := range []struct {
		device, out string
		where       string // of the report, relative to the project; empty: nothing is run
	}{
		{"cuda", "", "bench/results/gpu-"}, {"emulated", "", "here/emulated-"},
		{"cuda", "there", "here/there/gpu-"}, {"emulated", "there/", "here/there/emulated-"},
		{"cuda", "/proc/none", ""}, {"emulated", "/dev/null/x", ""},
	} {
		dir := t.TempDir()
		text, err := os.ReadFile("../../scripts/gpu.sh")
		if err != nil {
			t.Fatal(err)
		}
		at := func(name string) string { return filepath.Join(dir, name) }
		err = errors.Join(os.MkdirAll(at("bench/results"), 0o700), os.Mkdir(at("scripts"), 0o700), os.Mkdir(at("build"), 0o700), os.Mkdir(at("here"), 0o700),
			os.WriteFile(at("scripts/gpu.sh"), text, 0o700), os.WriteFile(at("scripts/sdpa.py"), nil, 0o600),
			os.WriteFile(at("build/boost-tui"), []byte("#!/bin/sh\necho \"$@\"\n"), 0o700))
		if err != nil {
			t.Fatal(err)
		}
		cmd := exec.Command("bash", "../scripts/gpu.sh")
		cmd.Dir = at("here")
		cmd.Env = append(os.Environ(), "DEVICE="+c.device, "OUT="+c.out, "PYTHON=/nowhere/python")
		said, err := cmd.CombinedOutput()
		if cmd.ProcessState == nil {
			t.Fatal(err)
		}
		code := cmd.ProcessState.ExitCode()
		if c.where == "" {
			if code != 2 || !strings.Contains(string(said), "no report in "+c.out) || strings.Contains(string(said), "line ") || strings.Contains(string(said), "mkdir") {
				t.Errorf("%v: exit %d, %s", c, code, said)
			}
			continue
		}
		want := at(c.where)
		if c.out != "" {
			want = strings.TrimPrefix(c.where, "here/")
		}
		if code != 0 || !strings.Contains(string(said), "--out "+want) {
			t.Errorf("%v: exit %d, %s", c, code, said)
		}
	}
}

// What CUDA_ARCHS and CUDA_WHEELS name and is not there is said by their names, before anything is compiled or installed; what they name
// and is not needed is said, too.
func TestVariablesOfCUDAScript(t *testing.T) {
	for _, need := range []string{"flock", "g++"} {
		if _, err := exec.LookPath(need); err != nil {
			t.Skip(err)
		}
	}
	home := t.TempDir()
	nvcc := filepath.Join(home, "bin", "nvcc")
	const body = `#!/bin/sh
case "$*" in
--version) echo 'release 13.0, V13.0.88';;
--list-gpu-code) [ -n "$SILENT" ] || printf 'sm_75\nsm_80\nsm_90\n';;
*) exit 1;;
esac
`
	if err := errors.Join(os.Mkdir(filepath.Dir(nvcc), 0o700), os.WriteFile(nvcc, []byte(body), 0o700)); err != nil {
		t.Fatal(err)
	}
	for env, want := range map[string]string{
		"CUDA_ARCHS=80 xx": `CUDA_ARCHS is "80 xx": xx is none`, "CUDA_ARCHS=80,90": "80,90 is none", "CUDA_ARCHS=sm_80": "sm_80 is none", "CUDA_ARCHS=8.0": "8.0 is none",
		"CUDA_ARCHS= ": "it names none", "CUDA_ARCHS=75": "75 is too old", "CUDA_ARCHS=80 90 80": "80 stands there twice",
		"CUDA_ARCHS=80 99":        "nvcc 13.0.88 does not know 99, but 80 90",
		"CUDA_WHEELS=/nonexist":   "CUDA_WHEELS is /nonexist, and there is no such folder",
		"CUDA_WHEELS=" + nvcc:     "CUDA_WHEELS is " + nvcc + ", and there is no such folder",
		"CUDA_ARCHS=":             "",
		"CUDA_ARCHS=80 90a":       "",
		"CUDA_WHEELS=/tmp":        "CUDA_WHEELS is not looked at, as CUDA_HOME is set",
		"SILENT=x\nCUDA_ARCHS=99": "",
	} {
		said, code := script(t, append([]string{"CUDA_HOME=" + home}, strings.Split(env, "\n")...), "cuda.sh", "setup")
		wantCode := 2
		if want == "" || env == "CUDA_WHEELS=/tmp" {
			wantCode = 0
		}
		if code != wantCode || !strings.Contains(said, want) || strings.Contains(said, "failed") || code == 0 != strings.Contains(said, "nvcc 13.0.88 from") {
			t.Errorf("%s: exit %d, %s", env, code, said)
		}
	}
}

// In the bundle, beside gpu.sh, cuda.sh installs libraries beside the program, and nothing else.
func TestCUDAScriptOfBundle(t *testing.T) {
	if _, err := exec.LookPath("flock"); err != nil {
		t.Skip(err)
	}
	dir := t.TempDir()
	text, err := os.ReadFile("../../scripts/cuda.sh")
	path := filepath.Join(dir, "scripts", "cuda.sh")
	python := filepath.Join(dir, "cuda", "bin", "python")
	if err = errors.Join(err, os.Mkdir(filepath.Dir(path), 0o700), os.WriteFile(path, text, 0o600), os.MkdirAll(filepath.Dir(python), 0o700),
		os.WriteFile(python, []byte("#!/bin/sh\necho \"$@\" >>"+dir+"/asked\n"), 0o700)); err != nil {
		t.Fatal(err)
	}
	for what, want := range map[string]int{"build": 2, "setup": 2, "tests": 2, "headers": 2, "libraries": 0} {
		said, err := exec.Command("bash", path, what).CombinedOutput()
		if code := map[bool]int{true: 0, false: 2}[err == nil]; code != want || want == 2 && !strings.Contains(string(said), "no sources here") {
			t.Errorf("%s: %v, %s", what, err, said)
		}
	}
	if asked, err := os.ReadFile(filepath.Join(dir, "asked")); err != nil || !strings.Contains(string(asked), "nvidia-cublas==") {
		t.Errorf("%v: %s", err, asked)
	}
	if _, err := os.Stat(filepath.Join(dir, "build")); err == nil {
		t.Error("it makes a folder build")
	}
}

// The bundle holds what messages on the machine with the GPU advise to run.
func TestBundle(t *testing.T) {
	dir := t.TempDir()
	at := func(name string) string { return filepath.Join(dir, name) }
	fake := "#!/bin/sh\nmkdir -p build/cuda-tests\nfor f in libboost_cuda.so cuda-tests/ops_test cuda-tests/attention_test; do : >build/$f; done\n"
	text, err := os.ReadFile("../../scripts/gpu.sh")
	err = errors.Join(err, os.Mkdir(at("scripts"), 0o700), os.WriteFile(at("scripts/gpu.sh"), text, 0o700), os.WriteFile(at("scripts/sdpa.py"), nil, 0o600),
		os.WriteFile(at("scripts/cuda.sh"), []byte(fake), 0o700), os.WriteFile(at("go"), []byte("#!/bin/sh\n: >\"$3\"\n"), 0o700))
	if err != nil {
		t.Fatal(err)
	}
	cmd := exec.Command("bash", at("scripts/gpu.sh"), "bundle", "to")
	cmd.Env = append(os.Environ(), "GO="+at("go"))
	if said, err := cmd.CombinedOutput(); err != nil {
		t.Fatalf("%v: %s", err, said)
	}
	for _, name := range []string{"boost-tui", "libboost_cuda.so", "ops_test", "attention_test", "gpu.sh", "sdpa.py", "scripts/cuda.sh"} {
		if _, err := os.Stat(at("to/" + name)); err != nil {
			t.Error(err)
		}
	}
}
