package planner

import (
	"fmt"
	"math"
	"runtime"

	"boost-tui/experiment"
	"boost-tui/internal/hostmem"
)

// Machine is where the ranks would run: one host, or several that are alike, which share the ranks evenly.
type Machine struct {
	Name     string `json:"name"`
	MemBytes int64  `json:"mem_bytes"` // of a host; 0: unknown
	// AvailableBytes is what of it is not in use at this moment; 0: unknown. It changes by the second, so it
	// warns and never forbids.
	AvailableBytes int64 `json:"available_bytes,omitempty"`
	Cores          int   `json:"cores"`                   // of a host; 0: unknown
	Nodes          int   `json:"nodes,omitempty"`         // hosts; 0 is 1
	NoGPUs         bool  `json:"no_gpus,omitempty"`       // somebody looked and found none
	GPUs           int   `json:"gpus,omitempty"`          // of a host; 0: unknown
	GPUMemBytes    int64 `json:"gpu_mem_bytes,omitempty"` // of one GPU, the smallest; 0: unknown
}

// hosts is how many there are.
func (m Machine) hosts() int { return max(m.Nodes, 1) }

// total is the memory of all hosts.
func (m Machine) total() int64 {
	if hosts := int64(m.hosts()); m.MemBytes <= math.MaxInt64/hosts {
		return m.MemBytes * hosts
	}
	return math.MaxInt64
}

// GPUMarginBytes is an assumption, and said to be one wherever it counts: what a rank takes of its GPU beside the allocations
// that a plan adds up. CUDA's context and its kernels, what the driver keeps for itself, cuBLASLt's workspaces (32 MiB for
// each stream that multiplies) and the buffers of NCCL's communicators are in it. It warns, and never forbids.
const GPUMarginBytes = 2 << 30

// Rules are the machine as the rules of experiments see it, with what the ranks of a plan need; nil: that is not known yet.
func (m Machine) Rules(e experiment.Experiment, p *Plan) experiment.Machine {
	var l loads
	if p != nil {
		l = loads{total: p.NeedBytes, rank: p.Memory.Total}
	}
	return m.rules(e, l)
}

// rules is Rules with the loads of the ranks, where they are known.
func (m Machine) rules(e experiment.Experiment, l loads) experiment.Machine {
	return experiment.Machine{MemBytes: m.total(), NeedBytes: m.spread(e, l.total), Cores: m.Cores * m.hosts(), Nodes: m.hosts(),
		GPUs: experiment.GPUs{None: m.NoGPUs, PerNode: m.GPUs, MemBytes: m.GPUMemBytes, NeedBytes: l.rank, MarginBytes: GPUMarginBytes}}
}

// measures reports whether the memory that an experiment's ranks allocate in is known.
func (m Machine) measures(e experiment.Experiment) bool {
	if m.rules(e, loads{}).OnGPUs(e) {
		return m.GPUMemBytes > 0 && !m.NoGPUs
	}
	return m.MemBytes > 0
}

// roomy reports whether there is memory for the loads, and on GPUs for what is assumed to come beside them.
func (m Machine) roomy(e experiment.Experiment, l loads) bool {
	r := m.rules(e, l)
	if r.OnGPUs(e) {
		return l.rank+GPUMarginBytes <= m.GPUMemBytes
	}
	return r.NeedBytes <= r.MemBytes
}

// spread is the memory that all hosts must have together so that the fullest has room for its ranks, where all of a run
// need as much: ranks that hosts cannot share evenly need more than their sum.
func (m Machine) spread(e experiment.Experiment, need int64) int64 {
	world, hosts := int64(e.World()), int64(m.hosts())
	if hosts == 1 || e.Parallel.PP > 1 || world == 0 {
		return need
	}
	return need / world * ((world + hosts - 1) / hosts) * hosts
}

// thisMachine is what it is called.
const thisMachine = "this machine"

// ThisMachine describes the host: its memory, or the control group's limit where that is lower, and the
// cores that this process may use. Its GPUs are not asked for.
func ThisMachine() Machine {
	m := Machine{Name: thisMachine, Cores: runtime.NumCPU()}
	m.MemBytes, m.AvailableBytes = hostmem.Read()
	return m
}

// Tight says that ranks that need so many bytes fit the machine but not what is free of it now; empty where they
// fit both, or nothing is known.
func (m Machine) Tight(needBytes int64) string {
	if m.AvailableBytes <= 0 || needBytes <= m.AvailableBytes {
		return ""
	}
	return fmt.Sprintf("all ranks need %s and only %s of this machine's memory are available now: end other work first, or the kernel may kill a rank",
		experiment.FormatBytes(needBytes), experiment.FormatBytes(m.AvailableBytes))
}
