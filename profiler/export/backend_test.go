package export

import (
	"bytes"
	"encoding/json"
	"testing"
)

// A trace says NCCL of GPUs alone.
func TestBackendOfATrace(t *testing.T) {
	for want, devices := range map[string][]string{
		"nccl":                  {"cuda", "cuda"},
		"emulated nccl":         {"emulated"},
		"boost-tui cpu":         {"cpu", ""},
		"boost-tui cpu, nccl":   {"cpu", "cuda", "cpu"},
		"emulated nccl, nccl":   {"emulated", "cuda"},
		"boost-tui cpu, " + emu: {"", "emulated"},
	} {
		var runs []*run
		for _, d := range devices {
			r := &run{}
			r.Dir, r.Plan.Device = t.TempDir(), d
			runs = append(runs, r)
		}
		var out bytes.Buffer
		ok(t, writeTrace(t.Context(), &out, runs))
		var trace struct{ DistributedInfo struct{ Backend string } }
		ok(t, json.Unmarshal(out.Bytes(), &trace))
		if trace.DistributedInfo.Backend != want {
			t.Errorf("%q: %q, want %q", devices, trace.DistributedInfo.Backend, want)
		}
	}
}

const emu = "emulated nccl"
