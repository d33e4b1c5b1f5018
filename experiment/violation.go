package experiment

import (
	"fmt"
	"strings"
)

// Machine is what a run would have: memory and cores of all its hosts together, and the memory that the run needs
// there, all its ranks together. 0: unknown.
type Machine struct {
	MemBytes  int64
	NeedBytes int64
	Cores     int
	Nodes     int  // hosts, alike; 0: unknown
	GPUs      GPUs // what a run on GPUs has in place of the memory
}

// GPUs is what hosts have of them. 0: unknown.
type GPUs struct {
	None      bool  // somebody looked and found none
	PerNode   int   // of one host
	MemBytes  int64 // of one, the smallest
	NeedBytes int64 // that the rank which needs most allocates
	// MarginBytes is what such a rank is assumed to take beside its allocations. It warns and never forbids.
	MarginBytes int64
}

// OnGPUs reports whether the ranks of an experiment compute on GPUs there: it says so, or leaves the device to a machine that has some.
func (m Machine) OnGPUs(e Experiment) bool {
	switch e.Step.Device {
	case DeviceCUDA:
		return true
	case DeviceAuto, "":
		return !m.GPUs.None && (m.GPUs.PerNode > 0 || m.GPUs.MemBytes > 0)
	}
	return false
}

// RanksPerNode is how many ranks the fullest host has; 0: unknown.
func (m Machine) RanksPerNode(e Experiment) int {
	nodes := m.Nodes
	if nodes <= 0 {
		return 0
	}
	return (e.World() + nodes - 1) / nodes
}

// GPUsPerNode is how many GPUs the ranks of a host may have: as the machine has them, or as the experiment asks for fewer; 0: unknown.
func (m Machine) GPUsPerNode(e Experiment) int {
	n, asked := m.GPUs.PerNode, e.Where.GPUsPerNode
	if asked > 0 && (n == 0 || asked < n) {
		return asked
	}
	return n
}

// Rules of a Violation about the machine: the memory of its hosts, that of its GPUs, and their number.
const (
	RuleMemory    = "memory of this machine"
	RuleGPUMemory = "memory of a GPU"
	RuleGPUs      = "a GPU for every rank"
)

// Violation is one rule that an experiment breaks. Setting Key to any of Nearest mends it.
type Violation struct {
	Key     string   `json:"key"`
	Value   string   `json:"value"`
	Rule    string   `json:"rule"`   // short: "tp divides what it splits"
	Reason  string   `json:"reason"` // a sentence
	Nearest []string `json:"nearest,omitempty"`
	Warning bool     `json:"warning,omitempty"` // worth knowing, no obstacle
}

// String is "tp 3: tp must divide heads (32) …; nearest: 2 or 4".
func (v Violation) String() string {
	s := v.Key
	if v.Value != "" {
		s += " " + clip(v.Value)
	}
	s += ": " + v.Reason
	if len(v.Nearest) > 0 {
		s += "; nearest: " + list(v.Nearest)
	}
	return s
}

// InvalidError is the error of an experiment that breaks rules.
type InvalidError struct{ Violations []Violation }

// Error names every violation.
func (e *InvalidError) Error() string {
	lines := make([]string, len(e.Violations))
	for i, v := range e.Violations {
		lines[i] = v.String()
	}
	return "the experiment is not valid: " + strings.Join(lines, "\n  ")
}

// Invalid is the error of the violations that are no warnings, nil when there are none.
func Invalid(vs []Violation) error {
	var bad []Violation
	for _, v := range vs {
		if !v.Warning {
			bad = append(bad, v)
		}
	}
	if len(bad) == 0 {
		return nil
	}
	return &InvalidError{bad}
}

// FormatBytes writes a size for people: "3.2 GiB".
func FormatBytes(n int64) string {
	const unit = 1024
	if n < unit {
		return fmt.Sprintf("%d B", n)
	}
	f, i := float64(n)/unit, 0
	for ; f >= unit && i < 5; i++ {
		f /= unit
	}
	return fmt.Sprintf("%.1f %ciB", f, "KMGTPE"[i])
}
