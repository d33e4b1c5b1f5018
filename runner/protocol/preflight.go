package protocol

import (
	"encoding/json"
	"errors"
	"fmt"
	"path/filepath"
	"time"
)

// PreflightFile is what a preflight found. The first rank writes it once, whole, when the looking is over.
const PreflightFile = "preflight.json"

// MaxPreflightBytes bounds preflight.json: a few kilobytes for each of a thousand hosts.
const MaxPreflightBytes = 16 << 20

// Verdicts of a Check.
const (
	VerdictOK     = "ok"
	VerdictSlow   = "slow"
	VerdictFailed = "failed"
)

// PreflightSpec is what a preflight is asked for. A run that has one looks at its machines instead of training.
type PreflightSpec struct {
	NeedBytes int64 `json:"need_b,omitempty"` // memory of its host that one rank needs, as planned; 0: unknown, or on GPUs
	// GPUBytes is what a rank allocates of its GPU, as planned; 0: unknown, or on none. GPUMargin is what is assumed to come beside it.
	GPUBytes  int64 `json:"gpu_b,omitempty"`
	GPUMargin int64 `json:"gpu_margin_b,omitempty"`
	// Apart says that the hosts need not share the folder of the run: its files are carried between them.
	Apart bool `json:"apart,omitempty"`
	// Emulated says that rates are those of the emulated device, and are marked.
	Emulated bool   `json:"emulated_device,omitempty"`
	Expected *Rates `json:"expected,omitempty"` // what these machines are known to do; nil: nothing is known
	From     string `json:"from,omitempty"`     // who says so
}

// Rates are how fast machines are.
type Rates struct {
	RanksPerNode int     `json:"ranks_per_node"`
	GEMM         float64 `json:"gemm_flops,omitempty"` // of all ranks of a node together, FLOP/s
	GEMMDType    string  `json:"gemm_dtype,omitempty"` // of the numbers that are multiplied; empty: fp32
	Within       []Link  `json:"within,omitempty"`     // all-reduce over the ranks of one node
	Between      []Link  `json:"between,omitempty"`    // all-reduce over one rank of each of two nodes
}

// Link is the time of an all-reduce of one size.
type Link struct {
	Ranks   int     `json:"ranks"`
	Bytes   int64   `json:"bytes"` // of the vector
	Seconds float64 `json:"s"`
}

// Bus is the bytes in a second that each rank of a ring sends, comparable over numbers of ranks; 0 where nothing was measured.
func (l Link) Bus() float64 {
	if l.Seconds <= 0 || l.Ranks < 2 {
		return 0
	}
	return 2 * float64(l.Ranks-1) / float64(l.Ranks) * float64(l.Bytes) / l.Seconds
}

// Preflight is preflight.json.
type Preflight struct {
	Schema  int         `json:"schema"`
	Started time.Time   `json:"started"`
	Seconds float64     `json:"s"` // that the looking took
	Nodes   []Node      `json:"nodes"`
	Paths   []Path      `json:"paths,omitempty"` // between nodes, two by two
	All     []Link      `json:"all,omitempty"`   // all-reduce over all ranks
	Checks  []Check     `json:"checks"`
	Verdict string      `json:"verdict"` // the worst of the checks'
	Rates   Rates       `json:"rates"`   // what the slowest node and path do: what may be counted on
	GPUs    bool        `json:"gpus"`    // at least one was seen
	Memory  MemoryOfAll `json:"memory"`
}

// MemoryOfAll is of the node that has least.
type MemoryOfAll struct {
	TotalBytes int64 `json:"total_b,omitempty"`
	Cores      int   `json:"cores,omitempty"`
	GPUs       int   `json:"gpus,omitempty"`  // of the node that has fewest
	GPUBytes   int64 `json:"gpu_b,omitempty"` // of the smallest GPU; 0: unknown
}

// Node is what was found on one host.
type Node struct {
	Name    string `json:"name"`
	Address string `json:"address,omitempty"`
	Ranks   int    `json:"ranks"`
	First   int    `json:"first_rank"`

	Version string `json:"version"`          // of the program
	Binary  string `json:"binary,omitempty"` // sha256 of its file
	Kernel  string `json:"kernel,omitempty"`
	CPU     string `json:"cpu,omitempty"`
	Cores   int    `json:"cores"`
	BLAS    string `json:"blas,omitempty"`

	MemTotal     int64 `json:"mem_total_b,omitempty"`     // or the control group's limit
	MemAvailable int64 `json:"mem_available_b,omitempty"` // of it

	ClockOffset float64 `json:"clock_offset_s"`           // ahead of the first node's
	ClockError  float64 `json:"clock_error_s"`            // at most; half of the shortest round trip
	RoundTrip   float64 `json:"round_trip_s,omitempty"`   // the shortest to the first node
	GPUBytes    int64   `json:"gpu_b,omitempty"`          // that a GPU of its ranks has, as their device says; 0: unknown, or none
	GEMM        float64 `json:"gemm_flops,omitempty"`     // all ranks together
	GEMMSlowest float64 `json:"gemm_slowest,omitempty"`   // of one rank
	Within      []Link  `json:"within,omitempty"`         // all-reduce over this host's ranks
	FileWrite   float64 `json:"file_write_s,omitempty"`   // a small file, until it is on the disk
	FileTrip    float64 `json:"file_trip_s,omitempty"`    // written on the first node, answered here, seen there
	Cases       []Case  `json:"cases,omitempty"`          // of verify
	GPUs        []GPU   `json:"gpus,omitempty"`           // none: there is no driver, or no card
	NoGPUs      string  `json:"gpus_reason,omitempty"`    // why they are not known
	Trouble     []Note  `json:"trouble,omitempty"`        // what could not be looked at
	Others      int     `json:"other_load_pct,omitempty"` // share of the cores that others used before
}

// Note is what went wrong with one check.
type Note struct {
	What string `json:"what"`
	Text string `json:"text"`
}

// Case is a reference case that was computed.
type Case struct {
	Name string `json:"name"`
	OK   bool   `json:"ok"`
	Text string `json:"text,omitempty"` // what did not hold
}

// GPU is a card as its driver describes it. −1: unknown.
type GPU struct {
	Index     int      `json:"index"`
	Name      string   `json:"name"`
	MemTotal  int64    `json:"mem_total_b"`
	MemUsed   int64    `json:"mem_used_b"`
	SMMHz     int64    `json:"sm_mhz"`
	TempC     int64    `json:"temp_c"`
	ECCFatal  int64    `json:"ecc_fatal"`
	Throttled []string `json:"throttled,omitempty"` // why its clocks are held down
	Busy      int      `json:"processes"`           // that compute on it
}

// Path is what lies between two nodes.
type Path struct {
	A     int    `json:"a"` // places in Nodes
	B     int    `json:"b"`
	Links []Link `json:"links,omitempty"`
	Text  string `json:"trouble,omitempty"`
}

// Check is one verdict.
type Check struct {
	What    string `json:"what"`
	Node    string `json:"node,omitempty"` // empty: all of them together
	Verdict string `json:"verdict"`
	Found   string `json:"found"`
	Advice  string `json:"advice,omitempty"` // what to do
}

// Worst is the worst of verdicts; ok where there are none.
func Worst(checks []Check) string {
	worst := VerdictOK
	for _, c := range checks {
		if c.Verdict == VerdictFailed {
			return VerdictFailed
		}
		if c.Verdict == VerdictSlow {
			worst = VerdictSlow
		}
	}
	return worst
}

// PreflightPath is where a run's preflight.json is.
func PreflightPath(runDir string) string { return filepath.Join(runDir, PreflightFile) }

// WritePreflight leaves what was found in the run directory.
func WritePreflight(runDir string, p Preflight) error {
	p.Schema, p.Verdict = Schema, Worst(p.Checks)
	data, err := json.MarshalIndent(p, "", " ")
	if err != nil {
		return fmt.Errorf("encode %s: %w", PreflightFile, err)
	}
	return WriteFile(PreflightPath(runDir), append(data, '\n'))
}

// ReadPreflight reads what was found; errors.Is(err, fs.ErrNotExist) when nothing was yet.
func ReadPreflight(runDir string) (Preflight, error) {
	data, err := ReadFile(PreflightPath(runDir), MaxPreflightBytes)
	if err != nil {
		return Preflight{}, err
	}
	return ParsePreflight(data)
}

// ParsePreflight decodes preflight.json. Its texts are as untrusted as the run directory.
func ParsePreflight(data []byte) (Preflight, error) {
	var p Preflight
	if err := json.Unmarshal(data, &p); err != nil {
		return Preflight{}, fmt.Errorf("%s is damaged: %w", PreflightFile, err)
	}
	if p.Schema != Schema {
		return Preflight{}, fmt.Errorf("%s has schema %d, this program knows %d: read it with the boost-tui that wrote it", PreflightFile, p.Schema, Schema)
	}
	if len(p.Nodes) > MaxRanks || len(p.Checks) > 64*MaxRanks {
		return Preflight{}, errors.New(PreflightFile + " is damaged: it speaks of more hosts than there can be")
	}
	for _, x := range p.Paths {
		if x.A < 0 || x.A >= len(p.Nodes) || x.B < 0 || x.B >= len(p.Nodes) {
			return Preflight{}, fmt.Errorf("%s is damaged: a path between nodes %d and %d of %d", PreflightFile, x.A, x.B, len(p.Nodes))
		}
	}
	p.Verdict = Worst(p.Checks)
	return p, nil
}
