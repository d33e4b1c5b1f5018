package planner

import (
	"fmt"
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
	Cores          int   `json:"cores"`             // of a host; 0: unknown
	Nodes          int   `json:"nodes,omitempty"`   // hosts; 0 is 1
	NoGPUs         bool  `json:"no_gpus,omitempty"` // somebody looked and found none
}

// hosts is how many there are.
func (m Machine) hosts() int { return max(m.Nodes, 1) }

// total is the memory of all hosts.
func (m Machine) total() int64 { return m.MemBytes * int64(m.hosts()) }

// rules are the machine as the rules of experiments see it, with what all ranks need, where that is known.
func (m Machine) rules(need int64) experiment.Machine {
	return experiment.Machine{MemBytes: m.total(), NeedBytes: need, Cores: m.Cores * m.hosts()}
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

// ThisMachine describes the host: its memory, or the control group's limit where that is lower, and the
// cores that this process may use.
func ThisMachine() Machine {
	m := Machine{Name: "this machine", Cores: runtime.NumCPU()}
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
