package experiment

import (
	"fmt"
	"strings"
)

// Machine is what a run would have: memory and cores of the host, and the memory that the run needs
// there, all its ranks together. 0: unknown.
type Machine struct {
	MemBytes  int64
	NeedBytes int64
	Cores     int
}

// RuleMemory is the rule of a Violation about the machine's memory.
const RuleMemory = "memory of this machine"

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
