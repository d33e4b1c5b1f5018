package preflight

import (
	"context"
	"encoding/json"
	"testing"

	"boost-tui/experiment"
	"boost-tui/kernels"
	"boost-tui/runner/protocol"
)

// told is a meeting in which every rank has said already what it has found.
type told struct {
	Meeting
	found map[string]found
}

func (m told) Wait(_ context.Context, key string, _ int) ([]byte, error) {
	return json.Marshal(m.found[key])
}

// Ranks that are bound to processors each see their own: a node has those of its ranks together.
func TestCoresAreThoseOfAllRanksOfANode(t *testing.T) {
	p := &probe{hosts: []host{{First: 0, Ranks: 2, Name: "a"}, {First: 2, Ranks: 2, Name: "b"}}}
	p.Meet = told{found: map[string]found{
		foundKey(0): {Node: protocol.Node{Name: "a", Cores: 1}, CPUs: []int{0, 1}}, foundKey(1): {CPUs: []int{2, 3}},
		foundKey(2): {Node: protocol.Node{Name: "b", Cores: 8}, CPUs: []int{0, 1, 2}}, foundKey(3): {CPUs: []int{0, 1, 2}},
	}}
	var r protocol.Preflight
	if err := p.gather(t.Context(), &r); err != nil {
		t.Fatal(err)
	}
	if r.Nodes[0].Cores != 4 || r.Nodes[1].Cores != 8 {
		t.Errorf("cores %d and %d", r.Nodes[0].Cores, r.Nodes[1].Cores)
	}
}

// A GPU is as large as the device of a rank says, the smallest counts, and where no device says the driver's measurements do.
func TestTheSmallestGPUCounts(t *testing.T) {
	p := &probe{hosts: []host{{First: 0, Ranks: 2, Name: "a"}, {First: 2, Ranks: 1, Name: "b"}}}
	seen := []protocol.GPU{{MemTotal: 80 << 30}, {MemTotal: -1}}
	p.Meet = told{found: map[string]found{
		foundKey(0): {Node: protocol.Node{Name: "a", GPUs: seen}, GPU: 79 << 30}, foundKey(1): {GPU: 78 << 30},
		foundKey(2): {Node: protocol.Node{Name: "b", GPUs: seen[:1]}},
	}}
	var r protocol.Preflight
	if err := p.gather(t.Context(), &r); err != nil {
		t.Fatal(err)
	}
	Judge(&r, protocol.PreflightSpec{})
	if r.Memory.GPUBytes != 78<<30 || r.Memory.GPUs != 1 {
		t.Errorf("%+v", r.Memory)
	}
	if n := gpuBytes(&r.Nodes[1]); n != 80<<30 {
		t.Errorf("%d bytes on the second node", n)
	}
}

// Products are of the numbers that the run computes with.
func TestProductsAreOfTheRunsNumbers(t *testing.T) {
	for dtype, want := range map[string]kernels.DType{"": kernels.F32, experiment.FP32: kernels.F32, experiment.BF16: kernels.BF16} {
		var p probe
		p.Spec.Experiment.Step.DType = dtype
		if got := p.dtype(); got != want {
			t.Errorf("%q: %s", dtype, got)
		}
	}
}
