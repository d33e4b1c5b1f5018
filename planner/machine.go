package planner

import (
	"os"
	"runtime"
	"strconv"
	"strings"

	"github.com/shirou/gopsutil/v3/mem"
)

// Machine is where the ranks would run, all of them.
type Machine struct {
	Name     string `json:"name"`
	MemBytes int64  `json:"mem_bytes"` // 0: unknown
	Cores    int    `json:"cores"`     // 0: unknown
}

// ThisMachine describes the host: its memory, or the control group's limit where that is lower, and the
// cores that this process may use.
func ThisMachine() Machine {
	m := Machine{Name: "this machine", Cores: runtime.NumCPU()}
	if v, err := mem.VirtualMemory(); err == nil {
		m.MemBytes = int64(v.Total)
	}
	for _, path := range []string{"/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory/memory.limit_in_bytes"} {
		if raw, err := os.ReadFile(path); err == nil {
			m.MemBytes = lower(m.MemBytes, string(raw))
		}
	}
	return m
}

// lower is the limit if it is one and below the memory ("max" and huge numbers mean none).
func lower(mem int64, limit string) int64 {
	n, err := strconv.ParseInt(strings.TrimSpace(limit), 10, 64)
	if err != nil || n <= 0 || mem > 0 && n >= mem {
		return mem
	}
	return n
}
