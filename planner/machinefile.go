package planner

import (
	"bytes"
	"errors"
	"fmt"
	"regexp"
	"strings"
	"time"

	"github.com/BurntSushi/toml"

	"boost-tui/experiment"
)

// MachineSchema is the newest version of machine files: 2 knows the memory of GPUs and the type of the numbers that a rate is of. A
// file that says neither is written as version 1, which older programs read.
const MachineSchema = 2

// MachineFile describes machines that are not this one, all alike: what a preflight found there, or what somebody wrote
// by hand. Sizes and rates are of one node; 0 is unknown.
type MachineFile struct {
	Schema   int       `toml:"schema"`
	Name     string    `toml:"name"`
	Measured time.Time `toml:"measured,omitempty"` // when a preflight looked
	Run      string    `toml:"run,omitempty"`      // that looked
	Where    string    `toml:"where,omitempty"`    // the place: local, ssh, slurm
	Nodes    int       `toml:"nodes,omitempty"`    // that were looked at
	CPU      string    `toml:"cpu,omitempty"`
	BLAS     string    `toml:"blas,omitempty"`
	GPU      string    `toml:"gpu,omitempty"`
	GPUs     int       `toml:"gpus,omitempty"`
	// GPUMemoryBytes is of one GPU, of the smallest where they differ.
	GPUMemoryBytes int64 `toml:"gpu-memory-bytes,omitzero"`

	MemoryBytes  int64        `toml:"memory-bytes,omitempty"`
	Cores        int          `toml:"cores,omitempty"`
	RanksPerNode int          `toml:"ranks-per-node,omitempty"` // that the rates are of
	GEMM         float64      `toml:"gemm-flops,omitempty"`     // FLOP/s, the ranks of a node together
	GEMMDType    string       `toml:"gemm-dtype,omitempty"`     // of the numbers that are multiplied; empty: fp32
	Within       []LinkTiming `toml:"within,omitempty"`         // all-reduce over the ranks of a node
	Between      []LinkTiming `toml:"between,omitempty"`        // all-reduce over one rank of each of two nodes
}

// LinkTiming is the time of an all-reduce.
type LinkTiming struct {
	Ranks   int     `toml:"ranks"`
	Bytes   int64   `toml:"bytes"`
	Seconds float64 `toml:"seconds"`
}

// machineName is what a machine may be called: it becomes the name of a file.
var machineName = regexp.MustCompile(`^[A-Za-z0-9][A-Za-z0-9._-]{0,63}$`)

// CheckMachineName says why a machine cannot be called so.
func CheckMachineName(name string) error {
	if !machineName.MatchString(name) {
		return fmt.Errorf("%.80q is no name of a machine: letters, digits, '.', '_' and '-', at most 64, and the first is a letter or digit", name)
	}
	return nil
}

// ParseMachine reads a machine file; name is what errors call it.
func ParseMachine(data []byte, name string) (MachineFile, error) {
	var f MachineFile
	meta, err := toml.Decode(string(data), &f)
	var at toml.ParseError
	switch {
	case errors.As(err, &at):
		return MachineFile{}, fmt.Errorf("%s, line %d: %s", name, at.Position.Line, at.Message)
	case err != nil:
		return MachineFile{}, fmt.Errorf("%s: %w", name, err)
	case f.Schema > MachineSchema:
		return MachineFile{}, fmt.Errorf("%s has schema %d, this program reads up to %d: update boost-tui to use it", name, f.Schema, MachineSchema)
	case f.Schema < 1:
		return MachineFile{}, fmt.Errorf("%s is no machine file: it lacks the line schema = %d", name, MachineSchema)
	}
	if un := meta.Undecoded(); len(un) > 0 {
		return MachineFile{}, fmt.Errorf("%s: unknown key %.80q", name, un[0].String())
	}
	if err := f.check(); err != nil {
		return MachineFile{}, fmt.Errorf("%s: %w", name, err)
	}
	return f, nil
}

// Bounds of what a machine file may say.
const (
	maxLinks   = 64
	maxNodes   = 1 << 20
	maxMemory  = 1 << 60
	maxGPU     = 1 << 46 // all GPUs of a run together can still be counted
	maxTexts   = 200
	maxSeconds = 3600
)

func (f *MachineFile) check() error {
	if err := CheckMachineName(f.Name); err != nil {
		return err
	}
	for _, n := range []struct {
		key  string
		v, m int64
	}{
		{"nodes", int64(f.Nodes), maxNodes}, {"gpus", int64(f.GPUs), maxNodes}, {"memory-bytes", f.MemoryBytes, maxMemory}, {"cores", int64(f.Cores), maxNodes},
		{"ranks-per-node", int64(f.RanksPerNode), maxNodes}, {"gpu-memory-bytes", f.GPUMemoryBytes, maxGPU},
	} {
		if n.v < 0 || n.v > n.m {
			return fmt.Errorf("%s = %d makes no sense", n.key, n.v)
		}
	}
	if !(f.GEMM >= 0 && f.GEMM < 1e30) {
		return fmt.Errorf("gemm-flops = %g makes no sense", f.GEMM)
	}
	if f.GEMMDType != "" && f.GEMMDType != experiment.FP32 && f.GEMMDType != experiment.BF16 {
		return fmt.Errorf("gemm-dtype is %.40q: %s or %s", f.GEMMDType, experiment.FP32, experiment.BF16)
	}
	for _, text := range []string{f.Run, f.Where, f.CPU, f.BLAS, f.GPU} {
		if len(text) > maxTexts || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' || r >= 0x7f && r <= 0x9f }) {
			return fmt.Errorf("the text %.40q is too long, or has control characters", text)
		}
	}
	for _, list := range [][]LinkTiming{f.Within, f.Between} {
		if len(list) > maxLinks {
			return fmt.Errorf("%d messages, at most %d", len(list), maxLinks)
		}
		for _, l := range list {
			if l.Ranks < 2 || l.Ranks > maxNodes || l.Bytes < 1 || l.Bytes > maxMemory || !(l.Seconds > 0 && l.Seconds < maxSeconds) {
				return fmt.Errorf("an all-reduce of %d bytes over %d ranks in %g s makes no sense", l.Bytes, l.Ranks, l.Seconds)
			}
		}
	}
	return nil
}

// TOML is the file's text.
func (f MachineFile) TOML() ([]byte, error) {
	f.Schema = 1
	if f.GPUMemoryBytes > 0 || f.GEMMDType != "" {
		f.Schema = MachineSchema
	}
	if err := f.check(); err != nil {
		return nil, err
	}
	var b bytes.Buffer
	b.WriteString("# A machine, for boost-tui plan --machine and boost-tui preflight. Sizes and rates are of one node, gpu-memory-bytes of one GPU.\n")
	if err := toml.NewEncoder(&b).Encode(f); err != nil {
		return nil, fmt.Errorf("machine %s: %w", f.Name, err)
	}
	return b.Bytes(), nil
}

// Machine is so many nodes of it.
func (f MachineFile) Machine(nodes int) Machine {
	return Machine{Name: f.Name, MemBytes: f.MemoryBytes, Cores: f.Cores, Nodes: max(nodes, 1), GPUs: f.GPUs, GPUMemBytes: f.GPUMemoryBytes,
		NoGPUs: !f.Measured.IsZero() && f.GPUs == 0 && f.GPU == "" && f.GPUMemoryBytes == 0}
}
