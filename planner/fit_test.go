package planner

import (
	"strings"
	"testing"

	"boost-tui/experiment"
)

// A run on GPUs is judged by what one GPU has for the rank that needs most, and by the GPUs of a node for its ranks.
func TestFitOnGPUs(t *testing.T) {
	e := resolve(t, "tp=2 dp=2 device=cuda where=slurm")
	p, err := New(e, Machine{Nodes: 2})
	if err != nil {
		t.Fatal(err)
	}
	rank := p.Memory.Total
	const margin = GPUMarginBytes
	for _, c := range []struct {
		name    string
		m       Machine
		set     string
		verdict string
		why     string
		rules   string // of the violation; empty: none
		warning bool
	}{
		{"room", Machine{GPUMemBytes: rank + margin, GPUs: 8, Nodes: 2}, "", FitYes, "; 2 ranks a node, 8 GPUs", "", false},
		{"host memory does not matter", Machine{MemBytes: 1, GPUMemBytes: rank + margin, GPUs: 2, Nodes: 2}, "", FitYes, "a GPU of machine lab has", "", false},
		{"less than assumed", Machine{GPUMemBytes: rank + margin - 1, GPUs: 2, Nodes: 2}, "", FitClose, "2.0 GiB is assumed", experiment.RuleGPUMemory, true},
		{"to the byte", Machine{GPUMemBytes: rank, GPUs: 2, Nodes: 2}, "", FitClose, "leaves 0 B", experiment.RuleGPUMemory, true},
		{"a byte lacks", Machine{GPUMemBytes: rank - 1, GPUs: 2, Nodes: 2}, "", FitNo, "a rank allocates", experiment.RuleGPUMemory, false},
		{"too few GPUs", Machine{GPUMemBytes: 1 << 40, GPUs: 1, Nodes: 2}, "", FitNo, "2 ranks on a node need a GPU each and get 1; a rank allocates", experiment.RuleGPUs, false},
		{"uneven ranks", Machine{GPUMemBytes: 1 << 40, GPUs: 1, Nodes: 3}, "", FitNo, "2 ranks on a node", experiment.RuleGPUs, false},
		{"enough nodes", Machine{GPUMemBytes: 1 << 40, GPUs: 1, Nodes: 4}, "", FitYes, "1 rank a node, 1 GPU", "", false},
		{"fewer asked for", Machine{GPUMemBytes: 1 << 40, GPUs: 8, Nodes: 2}, "gpus-per-node=1", FitNo, "and get 1", experiment.RuleGPUs, false},
		{"more asked for", Machine{GPUMemBytes: 1 << 40, GPUs: 1, Nodes: 2}, "gpus-per-node=4", FitNo, "and get 1", experiment.RuleGPUs, false},
		{"both lack", Machine{GPUMemBytes: 1, GPUs: 1, Nodes: 2}, "", FitNo, "has 1 B; 2 ranks on a node", experiment.RuleGPUs, false},
		{"memory unknown", Machine{MemBytes: 1 << 40, GPUs: 2, Nodes: 2}, "", FitUnknown, "what a GPU of machine lab has is not known; 2 ranks a node, 2 GPUs", "", false},
		{"memory unknown, too few", Machine{GPUs: 1, Nodes: 2}, "", FitNo, "and get 1", experiment.RuleGPUs, false},
		{"number unknown", Machine{GPUMemBytes: 1 << 40, Nodes: 2}, "", FitYes, "how many GPUs it has is not known", "", false},
		{"nothing known", Machine{Nodes: 2}, "", FitUnknown, "is not known", "", false},
		{"none", Machine{NoGPUs: true, MemBytes: 1 << 40, Nodes: 2}, "", FitNo, "machine lab has no GPU", experiment.RuleGPUs, false},
	} {
		c.m.Name = "lab"
		e := resolve(t, "tp=2 dp=2 device=cuda where=slurm "+c.set)
		p, err := New(e, c.m)
		if err != nil {
			t.Fatal(err)
		}
		if p.Fit.Of != OfGPU || p.Fit.Verdict != c.verdict || !strings.Contains(p.Fit.Why, c.why) || p.Fits != (c.verdict != FitNo) {
			t.Errorf("%s: %+v, fits %v", c.name, p.Fit, p.Fits)
		}
		var vs []experiment.Violation
		for _, v := range Check(e, c.m) {
			if v.Rule == experiment.RuleGPUs || v.Rule == experiment.RuleGPUMemory || v.Rule == experiment.RuleMemory {
				vs = append(vs, v)
			}
		}
		if c.rules == "" && len(vs) > 0 || c.rules != "" && (len(vs) == 0 || vs[0].Rule != c.rules || vs[0].Warning != c.warning) {
			t.Errorf("%s: %v, want %q", c.name, vs, c.rules)
		}
	}
}

// What an experiment leaves to the machine is judged by GPUs where the machine has some, and by its memory where not.
func TestFitOfADeviceThatIsLeftOpen(t *testing.T) {
	e, err := experiment.Default().ResolveForPlan()
	if err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		m  Machine
		of string
	}{{Machine{MemBytes: 1 << 40}, OfHost}, {Machine{MemBytes: 1 << 40, GPUs: 1}, OfGPU}, {Machine{GPUMemBytes: 1 << 40}, OfGPU}, {Machine{NoGPUs: true, GPUMemBytes: 1}, OfHost}} {
		p, err := New(e, c.m)
		if err != nil || p.Fit.Of != c.of {
			t.Errorf("%+v: %+v, %v", c.m, p, err)
		}
	}
	cpu := resolve(t, "device=cpu")
	if p, err := New(cpu, Machine{Name: thisMachine, MemBytes: 1, GPUs: 8, GPUMemBytes: 1 << 40}); err != nil || p.Fit.Of != OfHost || p.Fits || !strings.Contains(p.Fit.Why, "this machine has 1 B") {
		t.Errorf("%+v, %v", p.Fit, err)
	}
}

// The copies for checkpoints are in the memory of the host: a GPU need not have room for them.
func TestCheckpointsTakeNoGPUMemory(t *testing.T) {
	e := resolve(t, "device=cuda keep-last=2")
	p, err := New(e, Machine{GPUs: 1, GPUMemBytes: 1 << 40})
	if err != nil || p.Memory.Checkpoint == 0 || p.Fit.NeedBytes != p.Memory.Total || p.NeedBytes <= p.Memory.Total {
		t.Errorf("%+v, %v", p, err)
	}
}

// The largest micro-batch on a GPU leaves what is assumed to come beside the allocations.
func TestLargestMicroBatchOnGPUs(t *testing.T) {
	e := resolve(t, "device=cuda tp=2")
	m := Machine{GPUMemBytes: GPUMarginBytes + 200<<20, GPUs: 2}
	n := LargestMicroBatch(e, m)
	for _, c := range []struct {
		micro   int
		verdict string
	}{{n, FitYes}, {n + 1, FitClose}} {
		try := e
		try.Step.MicroBatch = c.micro
		if p, err := New(try, m); err != nil || p.Fit.Verdict != c.verdict {
			t.Errorf("largest %d: %d is %v (%v)", n, c.micro, p.Fit, err)
		}
	}
	if n := LargestMicroBatch(e, Machine{MemBytes: 1 << 40}); n != 0 {
		t.Errorf("unknown memory of GPUs gives %d", n)
	}
	try := e
	try.Step.MicroBatch = 4096
	for _, v := range Check(try, m) {
		if v.Rule == experiment.RuleGPUMemory && (v.Key != "micro-batch" || len(v.Nearest) != 1) {
			t.Errorf("%+v", v)
		}
	}
}

// What all hosts have together does not run over.
func TestMemoryOfManyHosts(t *testing.T) {
	if n := (Machine{MemBytes: maxMemory, Nodes: maxNodes}).total(); n <= 0 {
		t.Error(n)
	}
}
