package main

import (
	"cmp"
	"crypto/sha256"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"regexp"
	"strings"

	"boost-tui/experiment"
	"boost-tui/internal/regular"
	"boost-tui/planner"
	"boost-tui/runner"
	"boost-tui/runner/protocol"
	"boost-tui/runner/ssh"
)

// errNoConfig says that this user has no place for a configuration, so that nothing is described in it.
var errNoConfig = fmt.Errorf("no folder for a configuration (%w)", fs.ErrNotExist)

// machinesDir is where machines with a name are described: a file each in the user's configuration.
func machinesDir() (string, error) {
	config, err := os.UserConfigDir() // $XDG_CONFIG_HOME, where that is absolute
	if err != nil {
		return "", fmt.Errorf("where machines are described: %w: %w", errNoConfig, err)
	}
	return filepath.Join(config, "boost-tui", "machines"), nil
}

func machinePath(name string) (string, error) {
	if err := planner.CheckMachineName(name); err != nil {
		return "", err
	}
	dir, err := machinesDir()
	return filepath.Join(dir, name+".toml"), err
}

// isMachinePath tells a file from a name.
func isMachinePath(text string) bool {
	return strings.ContainsRune(text, filepath.Separator) || strings.HasSuffix(text, ".toml")
}

// readMachine finds a machine by its name or its file. It is fs.ErrNotExist when there is none of that name.
func readMachine(text string) (planner.MachineFile, error) {
	path := text
	if !isMachinePath(text) {
		var err error
		if path, err = machinePath(text); err != nil {
			return planner.MachineFile{}, err
		}
	}
	file, err := regular.Follow(path)
	if errors.Is(err, fs.ErrNotExist) {
		return planner.MachineFile{}, fmt.Errorf("no machine %s (%w); boost-tui preflight --save NAME describes one, and has: %s", runner.Clean(text), err, machineNames())
	}
	if err != nil {
		return planner.MachineFile{}, err
	}
	data, err := regular.ReadAll(file, path, maxConfigBytes)
	if err != nil {
		return planner.MachineFile{}, err
	}
	return planner.ParseMachine(data, path)
}

// machineNames lists the machines that have a name.
func machineNames() string {
	dir, err := machinesDir()
	if err != nil {
		return "none"
	}
	entries, err := os.ReadDir(dir)
	if err != nil {
		return "none"
	}
	var names []string
	for _, e := range entries {
		if name, ok := strings.CutSuffix(e.Name(), ".toml"); ok && planner.CheckMachineName(name) == nil {
			names = append(names, name)
		}
	}
	if len(names) == 0 {
		return "none"
	}
	return strings.Join(names, ", ")
}

// saveMachine describes a machine under its name, in place of what was said of it before.
func saveMachine(f planner.MachineFile) (string, error) {
	path, err := machinePath(f.Name)
	if err != nil {
		return "", err
	}
	data, err := f.TOML()
	if err != nil {
		return "", err
	}
	if err := os.MkdirAll(filepath.Dir(path), protocol.DirMode); err != nil {
		return "", err
	}
	return path, protocol.WriteFile(path, data)
}

// odd is what the name of a machine does not hold.
var odd = regexp.MustCompile(`[^A-Za-z0-9._-]+`)

// placeOf is placeName of what computes there: rates of GPUs are not the processors'.
func placeOf(e experiment.Experiment) string {
	name := placeName(e.Where)
	if d := e.Step.Device; d == experiment.DeviceCUDA || d == experiment.DeviceEmu {
		name += "-" + d
	}
	return name
}

// placeName is what the machines of a place are called where the user does not say: the same for the same place.
func placeName(w experiment.Where) string {
	said := "local-" + hostName()
	switch w.Where {
	case experiment.WhereSSH:
		said = "ssh-" + w.Hosts
	case experiment.WhereSlurm:
		said = "slurm"
		for _, part := range []string{w.Partition, w.Constraint} {
			if part != "" {
				said += "-" + part
			}
		}
	}
	name := odd.ReplaceAllString(said, "-")
	const most = 48
	if name != said || len(name) > most { // two places must not share a name
		sum := sha256.Sum256([]byte(said))
		name = name[:min(len(name), most)] + "-" + hex.EncodeToString(sum[:4])
	}
	return name
}

func hostName() string {
	name, err := os.Hostname()
	if err != nil {
		return "host"
	}
	return name
}

// machineOf is the machine that an experiment is judged against: the one that the user names, else this one for what
// runs here. What runs elsewhere is judged by what a preflight found there, or not at all.
func machineOf(e experiment.Experiment, named string) (planner.Machine, error) {
	if named == "" && onThisMachine(e) {
		return withGPUs(planner.ThisMachine(), e), nil
	}
	f, err := readMachine(cmp.Or(named, placeOf(e)))
	if named == "" && errors.Is(err, fs.ErrNotExist) {
		return planner.Machine{Name: e.Where.Where, Nodes: nodesOf(e.Where)}, nil
	}
	return f.Machine(nodesOf(e.Where)), err
}

// nodesOf is how many machines an experiment's ranks are on: of ssh, all that are named where no number is said.
func nodesOf(w experiment.Where) int {
	if w.Where == experiment.WhereSSH && w.Nodes <= 1 {
		if hosts, err := ssh.Hosts(w.Hosts); err == nil {
			return len(hosts)
		}
	}
	return w.Nodes
}

// rates are what a machine is known to do.
func ratesOf(f planner.MachineFile) *protocol.Rates {
	r := &protocol.Rates{RanksPerNode: f.RanksPerNode, GEMM: f.GEMM, GEMMDType: f.GEMMDType}
	for _, l := range f.Within {
		r.Within = append(r.Within, protocol.Link(l))
	}
	for _, l := range f.Between {
		r.Between = append(r.Between, protocol.Link(l))
	}
	return r
}

// describeMachine is what a preflight has found as a machine.
func describeMachine(name, run string, e experiment.Experiment, p protocol.Preflight) planner.MachineFile {
	f := planner.MachineFile{Schema: planner.MachineSchema, Name: name, Measured: p.Started, Run: run, Where: e.Where.Where, Nodes: len(p.Nodes),
		MemoryBytes: p.Memory.TotalBytes, Cores: p.Memory.Cores, RanksPerNode: p.Rates.RanksPerNode, GEMM: p.Rates.GEMM, GPUs: p.Memory.GPUs, GPUMemoryBytes: p.Memory.GPUBytes}
	if e.Emulated() == experiment.EmulatedDevice { // what was timed is no machine's
		p.Rates = protocol.Rates{GEMMDType: experiment.FP32}
		f.RanksPerNode, f.GEMM = 0, 0
	}
	if p.Rates.GEMMDType != experiment.FP32 { // which files that do not say are of
		f.GEMMDType = p.Rates.GEMMDType
	}
	if len(p.Nodes) > 0 {
		n := p.Nodes[0]
		f.CPU, f.BLAS = line(n.CPU), line(n.BLAS)
		if e.Step.Device == experiment.DeviceEmu {
			f.BLAS = ""
		}
		if len(n.GPUs) > 0 {
			f.GPU = line(n.GPUs[0].Name)
		}
	}
	for _, l := range p.Rates.Within {
		f.Within = append(f.Within, planner.LinkTiming(l))
	}
	for _, l := range p.Rates.Between {
		f.Between = append(f.Between, planner.LinkTiming(l))
	}
	return f
}

// line is foreign text as a machine file holds it.
func line(text string) string {
	const most = 120
	text = runner.Clean(text)
	return strings.ToValidUTF8(text[:min(len(text), most)], "")
}
