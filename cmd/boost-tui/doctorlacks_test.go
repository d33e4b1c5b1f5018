package main

import (
	"fmt"
	"strings"
	"testing"

	"boost-tui/kernels/cuda"
)

// What is there and will not do is not said to be missing.
func TestDoctorTellsMissingFromUnsuitable(t *testing.T) {
	d := diagnosis{CUDA: cudaHere{Findings: []cuda.Finding{{What: "cuBLASLt", Value: "/x/empty.so", Lacks: "it is empty"}, {What: "NCCL", Lacks: "was not found"},
		{What: "spare", Value: "/x/old.so", Lacks: "too old"}, {What: "good", Value: "/x/good.so"}}},
		Missing: []missing{{What: "cuBLASLt"}, {What: "NCCL"}}}
	lines := map[string]string{}
	d.printDevices(func(name, text string, args ...any) { lines[strings.TrimSpace(name)] = fmt.Sprintf(text, args...) })
	for name, want := range map[string]string{"cuBLASLt": "/x/empty.so unsuitable, see below", "NCCL": "missing, see below", "spare": "/x/old.so unsuitable: too old", "good": "/x/good.so"} {
		if lines[name] != want {
			t.Errorf("%s: %q, want %q", name, lines[name], want)
		}
	}
}

// Nobody can have the emulated device whose cache will not do: that is wrong usage of every command, with a remedy.
func TestAnUnusableCacheIsWrongUsage(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("BOOST_EMU", "")
	t.Setenv("XDG_CACHE_HOME", "/dev/null/x")
	for _, args := range []string{"run", "run --detach", "preflight", "verify", "sweep --axis tp=1,2", "sweep --axis tp=1,2 --dry-run"} {
		r := try(t, append(strings.Fields(args), "--device", "emulated", "--runs", t.TempDir())...)
		if args == "verify" {
			r = try(t, "verify", "--device", "emulated")
		}
		if r.code != exitUsage || !strings.Contains(r.err, "; set XDG_CACHE_HOME to a folder") {
			t.Errorf("%s: exit %d: %s", args, r.code, r.err)
		}
	}
}
