// Package hostmem says how much memory this host has for a program: what is there, or the control group's limit where
// that is lower, and what of it is not in use.
package hostmem

import (
	"os"
	"strconv"
	"strings"

	"github.com/shirou/gopsutil/v3/mem"
)

// Read gives bytes; 0 is unknown. What is available changes by the second.
func Read() (total, available int64) {
	if v, err := mem.VirtualMemory(); err == nil {
		total, available = int64(v.Total), int64(v.Available)
	}
	for _, g := range groups {
		raw, err := os.ReadFile(g.limit)
		if err != nil {
			continue
		}
		total = lower(total, string(raw))
		if used, err := usedBytes(g); err == nil {
			available = min(available, max(1, total-used))
		}
	}
	return total, available
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

// lower is the limit if it is one and below the memory ("max" and huge numbers mean none).
func lower(mem int64, limit string) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(limit), 10, 64)
	if err != nil || n <= 0 || mem > 0 && n >= mem {
		return mem
	}
	return n
}
