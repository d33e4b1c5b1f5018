package main

import (
	"os"
	"path/filepath"
	"strings"
	"testing"

	"boost-tui/experiment"
	"boost-tui/planner"
	"boost-tui/runner"
	"boost-tui/runner/protocol"
)

// A look at two hosts says something of each, is over soon, leaves nothing behind but its record and a machine that plans know.
func TestPreflightOfTwoHosts(t *testing.T) {
	p := newProgram(t)
	config := t.TempDir()
	t.Setenv("XDG_CONFIG_HOME", config)
	t.Setenv(runner.EnvTestHosts, "2")
	var r preflightResult
	out := p.run("preflight", "--tp", "2", "--dp", "2", "--json", "--save", "pair")
	if out.code != exitOK && out.code != exitCheck {
		t.Fatalf("exit %d: %s", out.code, out.err)
	}
	oneJSON(t, out.stdout, &r)
	if r.State != "finished" || len(r.Nodes) != 2 || r.Verdict == protocol.VerdictFailed || r.Seconds > 60 || len(r.Paths) != 1 {
		t.Errorf("%+v", r)
	}
	if (out.code == exitOK) != (r.Verdict == protocol.VerdictOK) {
		t.Errorf("exit %d with verdict %s", out.code, r.Verdict)
	}
	p.gone(r.Dir)
	if _, err := os.Stat(filepath.Join(r.Dir, protocol.MeetFile)); err == nil {
		t.Error("the secret of the run is still there")
	}
	if r.Machine != filepath.Join(config, "boost-tui", "machines", "pair.toml") {
		t.Errorf("machine in %q", r.Machine)
	}
	st, err := os.Stat(r.Machine)
	if err != nil || st.Mode().Perm() != 0o600 {
		t.Errorf("%v %v", st, err)
	}
	var plan planResult
	oneJSON(t, p.want(exitOK, "plan", "--tp", "2", "--machine", "pair", "--json").stdout, &plan)
	if plan.MachineBytes != r.Memory.TotalBytes || plan.MachineBytes == 0 {
		t.Errorf("planned for %d bytes, the machine has %d", plan.MachineBytes, r.Memory.TotalBytes)
	}
	// A machine that is known to be much faster makes this one slow.
	f, err := readMachine(r.Machine)
	if err != nil {
		t.Fatal(err)
	}
	f.GEMM *= 100
	if _, err := saveMachine(f); err != nil {
		t.Fatal(err)
	}
	out = p.want(exitCheck, "preflight", "--tp", "2", "--dp", "2", "--machine", "pair")
	if !strings.Contains(out.stdout, "that machine pair says") || !strings.Contains(out.stdout, "-> ") {
		t.Error(out.stdout)
	}
}

// A preflight whose ranks cannot begin still has a line that says why.
func TestPreflightThatCannotStart(t *testing.T) {
	p := newProgram(t)
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	t.Setenv("BOOST_BLAS", "/nowhere/lib.so")
	out := p.run("preflight", "--json")
	if out.code != exitCheck && out.code != exitFailed {
		t.Errorf("exit %d: %s%s", out.code, out.stdout, out.err)
	}
}

func TestMachinesByName(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	if r := try(t, "plan", "--machine", "lab"); r.code != exitUsage || !strings.Contains(r.err, "boost-tui preflight --save") {
		t.Errorf("exit %d: %s", r.code, r.err)
	}
	if _, err := saveMachine(planner.MachineFile{Name: "lab", MemoryBytes: 1 << 20}); err != nil {
		t.Fatal(err)
	}
	if r := try(t, "plan", "--machine", "lab"); r.code != exitOK || !strings.Contains(r.stdout, "no: all ranks need") {
		t.Errorf("exit %d: %s%s", r.code, r.stdout, r.err)
	}
	for _, name := range []string{"../lab", "a b", "$(id)", "", "x\ny", strings.Repeat("x", 1<<16)} {
		if r := try(t, "preflight", "--save", name, "--machine", name, "--steps", "1"); name != "" && (r.code != exitUsage || strings.Contains(r.err, "\x1b")) {
			t.Errorf("%.20q: exit %d: %.200s", name, r.code, r.err)
		}
	}
}

// Every place has a name of its own, which is one of a file.
func TestPlaceNames(t *testing.T) {
	seen := map[string]string{}
	for _, w := range []experiment.Where{
		{Where: "local"}, {Where: "slurm"}, {Where: "slurm", Partition: "a"}, {Where: "slurm", Partition: "a", Constraint: "b"}, {Where: "slurm", Partition: "a&b"},
		{Where: "slurm", Partition: "a|b"}, {Where: "ssh", Hosts: "n1,n2"}, {Where: "ssh", Hosts: "n1-n2"}, {Where: "ssh", Hosts: "/home/u/hosts"}, {Where: "ssh", Hosts: strings.Repeat("node1,", 999)},
		{Where: "ssh", Hosts: "../../x"}, {Where: "slurm", Partition: "\x1b[2J$(id)\n"},
	} {
		name := placeName(w)
		if err := planner.CheckMachineName(name); err != nil {
			t.Error(err)
		}
		if other, twice := seen[name]; twice {
			t.Errorf("%+v and %s are both %s", w, other, name)
		}
		seen[name] = w.Where + w.Partition + w.Hosts
	}
}

// What a preflight found of GPUs is in the machine's file, with the type of the numbers that its rate is of.
func TestDescribesGPUs(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	p := protocol.Preflight{Nodes: []protocol.Node{{GPUs: []protocol.GPU{{Name: "NVIDIA H200"}}}},
		Memory: protocol.MemoryOfAll{TotalBytes: 1 << 40, GPUs: 4, GPUBytes: 140 << 30}, Rates: protocol.Rates{RanksPerNode: 4, GEMM: 6e14, GEMMDType: experiment.BF16}}
	path, err := saveMachine(describeMachine("h200", "r", experiment.Default(), p))
	if err != nil {
		t.Fatal(err)
	}
	f, err := readMachine(path)
	if err != nil || f.Schema != 2 || f.GPUs != 4 || f.GPU != "NVIDIA H200" || f.GPUMemoryBytes != 140<<30 || f.GEMMDType != experiment.BF16 || ratesOf(f).GEMMDType != experiment.BF16 {
		t.Errorf("%+v, %v", f, err)
	}
	p.Rates.GEMMDType, p.Memory.GPUBytes = experiment.FP32, 0
	if f := describeMachine("cpu", "r", experiment.Default(), p); f.GEMMDType != "" {
		t.Errorf("older programs could not read it: %+v", f)
	}
}
