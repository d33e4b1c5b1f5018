package main

import (
	"errors"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"boost-tui/kernels/cuda"
	"boost-tui/planner"
	"boost-tui/profiler/record"
	"boost-tui/profiler/sample"
)

// A plan for another place is judged by what is known of that place, and says so.
func TestPlanForAnotherPlace(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	plan := func(where ...string) string {
		t.Helper()
		r := try(t, append([]string{"plan", "--tp", "2"}, where...)...)
		if r.code != exitOK {
			t.Fatalf("exit %d: %s", r.code, r.err)
		}
		return r.stdout
	}
	slurm := []string{"--where", "slurm", "--partition", "dev", "--nodes", "2"}
	for _, where := range [][]string{slurm, {"--where", "ssh", "--hosts", "a,b"}} {
		if text := plan(where...); strings.Contains(text, "this machine") || !strings.Contains(text, "unknown: all ranks need") || !strings.Contains(text, "bf16 (as on GPUs") {
			t.Errorf("%v: %s", where, text)
		}
	}
	for _, name := range []string{"slurm-dev", "lab"} {
		if _, err := saveMachine(planner.MachineFile{Name: name, MemoryBytes: 1 << 30, Cores: 4, Measured: time.Unix(1e9, 0).UTC()}); err != nil {
			t.Fatal(err)
		}
	}
	if text := plan(slurm...); !strings.Contains(text, "yes: all ranks need") || !strings.Contains(text, "2 of machine slurm-dev have 2") || !strings.Contains(text, "fp32 (as a run takes without GPUs)") {
		t.Error(text)
	}
	if text := plan("--machine", "lab"); !strings.Contains(text, "machine lab has 1") || !strings.Contains(text, "fp32") {
		t.Error(text)
	}
	if text := plan("--machine", "lab", "--dtype", "bf16"); !strings.Contains(text, "bf16\n") {
		t.Error(text)
	}
	if text := plan(); !strings.Contains(text, "this machine has") || !strings.Contains(text, "bf16\n") {
		t.Error(text)
	}
}

// A plan for GPUs is judged by the memory of one and by how many a node has: of described machines, whoever described them.
func TestPlanForGPUs(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	dir := t.TempDir()
	file := func(name, text string) string {
		t.Helper()
		path := filepath.Join(dir, name+".toml")
		if err := os.WriteFile(path, []byte("schema = 2\nname = \""+name+"\"\n"+text), 0o644); err != nil {
			t.Fatal(err)
		}
		return path
	}
	h100 := file("h100", "gpus = 8\ngpu = \"NVIDIA H100 80GB HBM3\"\ngpu-memory-bytes = 85520809984\n")
	one := file("one", "gpu-memory-bytes = 4294967296\n")
	old := file("old", "memory-bytes = 1099511627776\ncores = 64\ngpus = 4\ngpu = \"NVIDIA A100\"\n")
	if _, err := saveMachine(planner.MachineFile{Name: "slurm-cuda", GPUs: 4, GPUMemoryBytes: 16 << 30}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"--device", "cuda", "--tp", "4", "--size", "7b", "--machine", h100}, "yes: a rank allocates "},
		{[]string{"--tp", "4", "--size", "7b", "--machine", h100}, "a GPU of machine h100 has 79.6 GiB; 4 ranks a node, 8 GPUs\n"},
		{[]string{"--device", "cuda", "--size", "7b", "--variant", "full", "--machine", h100}, "no: a rank allocates "},
		{[]string{"--device", "cuda", "--tp", "4", "--dp", "4", "--machine", h100}, "no: 16 ranks on a node need a GPU each and get 8; a rank allocates "},
		{[]string{"--device", "cuda", "--tp", "4", "--dp", "4", "--where", "slurm", "--nodes", "2", "--machine", h100}, "; 8 ranks a node, 8 GPUs\n"},
		{[]string{"--device", "cuda", "--tp", "4", "--dp", "4", "--where", "slurm", "--nodes", "2", "--gpus-per-node", "4", "--machine", h100}, "need a GPU each and get 4"},
		{[]string{"--device", "cuda", "--machine", one}, "; 1 rank a node, how many GPUs it has is not known\n"},
		{[]string{"--device", "cuda", "--size", "60m", "--micro-batch", "2", "--machine", one}, "close: a rank allocates "},
		{[]string{"--device", "cuda", "--machine", old}, "unknown: a rank allocates 27.3 MiB of GPU memory, and what a GPU of machine old has is not known; 1 rank a node, 4 GPUs; gpu-memory-bytes in its file says it"},
		{[]string{"--device", "cpu", "--machine", old}, "yes: all ranks need "},
		{[]string{"--device", "cuda", "--where", "slurm"}, "machine slurm-cuda has 16.0 GiB; 1 rank a node, 4 GPUs\n"},
		{[]string{"--device", "cuda", "--where", "ssh", "--hosts", "a,b", "--tp", "2"}, "unknown: a rank allocates 15.3 MiB of GPU memory, and nobody has looked at the machines of --where ssh yet"},
	} {
		r := try(t, append([]string{"plan"}, c.args...)...)
		if r.code != exitOK || !strings.Contains(r.stdout, c.want) {
			t.Errorf("%v: exit %d, want %q: %s%s", c.args, r.code, c.want, r.stdout, r.err)
		}
	}
}

// The example in the documentation can be planned for.
func TestExampleOfAMachine(t *testing.T) {
	r := try(t, "plan", "--machine", "../../docs/machine.toml", "--device", "cuda", "--where", "slurm", "--nodes", "2", "--tp", "8", "--dp", "2", "--size", "7b")
	if r.code != exitOK || !strings.Contains(r.stdout, "a GPU of machine h100 has 79.6 GiB; 8 ranks a node, 8 GPUs") {
		t.Errorf("exit %d: %s%s", r.code, r.stdout, r.err)
	}
}

// Runs elsewhere are refused by what is known of the GPUs there, before anything is submitted.
func TestRunOnGPUsThatAreTooSmall(t *testing.T) {
	t.Setenv("XDG_CONFIG_HOME", t.TempDir())
	if _, err := saveMachine(planner.MachineFile{Name: "slurm-cuda", GPUs: 2, GPUMemoryBytes: 16 << 30}); err != nil {
		t.Fatal(err)
	}
	for _, c := range []struct{ args, want string }{
		{"--size 7b --tp 2", "a rank allocates"},
		{"--tp 4", "4 ranks on a machine need a GPU each and get 2"},
	} {
		r := try(t, append([]string{"run", "--where", "slurm", "--device", "cuda"}, strings.Fields(c.args)...)...)
		if r.code != exitUsage || !strings.Contains(r.err, c.want) {
			t.Errorf("%s: exit %d: %s", c.args, r.code, r.err)
		}
	}
}

// madeCards are the GPUs of a driver that was made up.
type madeCards []int64

func (c madeCards) List() (list []sample.GPU) {
	for _, bytes := range c {
		list = append(list, madeCard(bytes))
	}
	return list
}
func (c madeCards) Close() error { return nil }

type madeCard int64

func (c madeCard) Describe() sample.Description { return sample.Description{MemTotalBytes: int64(c)} }
func (c madeCard) Read(*record.HealthLine)      {}
func (c madeCard) PIDs() []int                  { return nil }

// What this machine's GPUs have is the driver's word; without one it has none, as far as that is asked for.
func TestGPUsOfThisMachine(t *testing.T) {
	none := errors.New("none")
	for _, c := range []struct {
		name            string
		cards           madeCards
		visible         int // for the driver; -1: there is none
		hidden, sharing bool
		insist          bool
		gpus            int
		bytes           int64
		noGPUs          bool
	}{
		{"two", madeCards{80 << 30, 40 << 30}, 2, false, false, true, 2, 40 << 30, false},
		{"one is hidden", madeCards{80 << 30, 40 << 30}, 1, true, false, true, 1, 40 << 30, false},
		{"all are hidden", madeCards{80 << 30}, 0, true, false, true, 0, 0, true},
		{"of unknown memory", madeCards{0}, 1, false, false, true, 1, 0, false},
		{"the driver alone", nil, 3, false, false, true, 3, 0, false},
		{"ranks share them", madeCards{80 << 30}, 1, false, true, true, 0, 80 << 30, false},
		{"no driver", nil, -1, false, false, true, 0, 0, true},
		{"no driver, and nobody asked for one", nil, -1, false, false, false, 0, 0, false},
	} {
		t.Run(c.name, func(t *testing.T) {
			t.Setenv("NCCL_MULTI_RANK_GPU_ENABLE", map[bool]string{true: "1"}[c.sharing])
			t.Setenv("CUDA_VISIBLE_DEVICES", "0")
			if !c.hidden {
				if err := os.Unsetenv("CUDA_VISIBLE_DEVICES"); err != nil {
					t.Fatal(err)
				}
			}
			open := func() (sample.GPUs, error) {
				if c.cards == nil {
					return nil, none
				}
				return c.cards, nil
			}
			driver := func() (cuda.Driver, error) {
				if c.visible < 0 {
					return cuda.Driver{}, none
				}
				return cuda.Driver{Cards: c.visible}, nil
			}
			m := seen(planner.Machine{MemBytes: 5, Cores: 3}, c.insist, open, driver)
			if want := (planner.Machine{MemBytes: 5, Cores: 3, GPUs: c.gpus, GPUMemBytes: c.bytes, NoGPUs: c.noGPUs}); m != want {
				t.Errorf("%+v, want %+v", m, want)
			}
		})
	}
}
