package planner

import (
	"fmt"
	"os"
	"runtime"
	"strconv"
	"strings"

	"github.com/shirou/gopsutil/v3/mem"

	"boost-tui/experiment"
)

// Machine is where the ranks would run, all of them.
type Machine struct {
	Name     string `json:"name"`
	MemBytes int64  `json:"mem_bytes"` // 0: unknown
	// AvailableBytes is what of it is not in use at this moment; 0: unknown. It changes by the second, so it
	// warns and never forbids.
	AvailableBytes int64 `json:"available_bytes,omitempty"`
	Cores          int   `json:"cores"` // 0: unknown
}

// ThisMachine describes the host: its memory, or the control group's limit where that is lower, and the
// cores that this process may use.
func ThisMachine() Machine {
	m := Machine{Name: "this machine", Cores: runtime.NumCPU()}
	if v, err := mem.VirtualMemory(); err == nil {
		m.MemBytes, m.AvailableBytes = int64(v.Total), int64(v.Available)
	}
	for _, g := range groups {
		raw, err := os.ReadFile(g.limit)
		if err != nil {
			continue
		}
		m.MemBytes = lower(m.MemBytes, string(raw))
		if used, err := usedBytes(g); err == nil {
			m.AvailableBytes = min(m.AvailableBytes, max(1, m.MemBytes-used))
		}
	}
	return m
}

// group is where a control group tells its memory: version 2, then 1.
type group struct{ limit, usage, stat, cache string }

var groups = [...]group{
	{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current", "/sys/fs/cgroup/memory.stat", "inactive_file"},
	{"/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes", "/sys/fs/cgroup/memory/memory.stat", "total_inactive_file"},
}

// usedBytes is what a control group uses and would not give back for the asking.
func usedBytes(g group) (int64, error) {
	raw, err := os.ReadFile(g.usage)
	if err != nil {
		return 0, err
	}
	used, err := strconv.ParseInt(strings.TrimSpace(string(raw)), 10, 64)
	if err != nil {
		return 0, err
	}
	stat, err := os.ReadFile(g.stat)
	if err != nil {
		return used, nil // the whole of it then counts as used
	}
	return max(0, used-entry(string(stat), g.cache)), nil
}

// entry is a number of a file of "name number" lines; 0 where it is not there.
func entry(stat, name string) int64 {
	for line := range strings.Lines(stat) {
		if v, ok := strings.CutPrefix(line, name+" "); ok {
			if n, err := strconv.ParseInt(strings.TrimSpace(v), 10, 64); err == nil {
				return n
			}
		}
	}
	return 0
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

// lower is the limit if it is one and below the memory ("max" and huge numbers mean none).
func lower(mem int64, limit string) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(limit), 10, 64)
	if err != nil || n <= 0 || mem > 0 && n >= mem {
		return mem
	}
	return n
}
