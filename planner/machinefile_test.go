package planner

import (
	"reflect"
	"strings"
	"testing"
	"time"

	"boost-tui/experiment"
)

func lab() MachineFile {
	return MachineFile{Schema: 1, Name: "lab-1", Measured: time.Date(2026, 1, 2, 3, 4, 5, 0, time.UTC), Run: "20260102-x", Where: "slurm", Nodes: 2, CPU: "EPYC",
		MemoryBytes: 64 << 30, Cores: 32, RanksPerNode: 4, GEMM: 1e12, Within: []LinkTiming{{4, 1 << 20, 1e-4}}, Between: []LinkTiming{{2, 1 << 20, 1e-3}}}
}

func TestMachineFileRoundTrips(t *testing.T) {
	want := lab()
	data, err := want.TOML()
	if err != nil {
		t.Fatal(err)
	}
	got, err := ParseMachine(data, "lab.toml")
	if err != nil || !reflect.DeepEqual(got, want) {
		t.Errorf("%v\n%+v\n%+v", err, got, want)
	}
}

// A file that says nothing of GPUs' memory is one that older programs read; one that does tells them to be updated.
func TestMachineFilesOfBothVersions(t *testing.T) {
	for _, c := range []struct {
		change func(*MachineFile)
		schema int
	}{
		{func(*MachineFile) {}, 1},
		{func(f *MachineFile) { f.GPUs, f.GPU = 4, "H200" }, 1},
		{func(f *MachineFile) { f.GPUMemoryBytes = 80 << 30 }, 2},
		{func(f *MachineFile) { f.GEMMDType = experiment.BF16 }, 2},
	} {
		f := lab()
		c.change(&f)
		f.Schema = c.schema
		data, err := f.TOML()
		if err != nil {
			t.Fatal(err)
		}
		if c.schema == 1 && (strings.Contains(string(data), "gpu-memory-bytes =") || strings.Contains(string(data), "gemm-dtype")) {
			t.Errorf("older programs do not know all keys of\n%s", data)
		}
		got, err := ParseMachine(data, "lab.toml")
		if err != nil || !reflect.DeepEqual(got, f) {
			t.Errorf("%v\n%+v\n%+v", err, got, f)
		}
	}
	f, err := ParseMachine([]byte("schema = 1\nname = \"h100\"\ngpus = 8\ngpu-memory-bytes = 85520809984\n"), "h100.toml")
	if m := f.Machine(2); err != nil || m.GPUs != 8 || m.GPUMemBytes != 85520809984 || m.NoGPUs || m.Nodes != 2 {
		t.Errorf("%+v, %v", m, err)
	}
	old := lab()
	if m := old.Machine(1); !m.NoGPUs {
		t.Errorf("a preflight that saw no GPU: %+v", m)
	}
}

func TestMachineFilesThatAreRefused(t *testing.T) {
	good := "schema = 1\nname = \"a\"\n"
	for text, want := range map[string]string{
		"":                              "lacks the line schema",
		"schema = 3\nname = \"a\"":      "update boost-tui",
		"schema = 1":                    "no name of a machine",
		"schema = 1\nname = \"../etc\"": "no name of a machine",
		"schema = 1\nname = \"" + strings.Repeat("a", 65) + "\"": "no name of a machine",
		good + "memory = 3":                                      "unknown key",
		good + "memory-bytes = -1":                               "makes no sense",
		good + "cores = \"many\"":                                "m.toml",
		good + "gpu-memory-bytes = -1":                           "makes no sense",
		good + "gpu-memory-bytes = 9000000000000000000":          "makes no sense",
		good + "gpu-memory-bytes = \"80GB\"":                     "m.toml",
		good + "gemm-dtype = \"fp8\"":                            "fp32 or bf16",
		good + "gemm-flops = nan":                                "makes no sense",
		good + "cpu = \"\\u001b[2J\"":                            "control characters",
		good + "[[within]]\nranks = 1\nbytes = 1\nseconds = 1.0": "makes no sense",
		good + strings.Repeat("[[within]]\nranks = 2\nbytes = 1\nseconds = 1.0\n", 100): "100 messages",
		"schema = [": "line 1",
	} {
		if _, err := ParseMachine([]byte(text), "m.toml"); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%.60q: %v, want %q", text, err, want)
		}
	}
	for _, name := range []string{"", ".", "..", "a/b", "-a", "a b", "a\n", "$(x)", "ä"} {
		if CheckMachineName(name) == nil {
			t.Errorf("%q is no name", name)
		}
	}
}

// What fits two nodes need not fit one, and ranks that nodes cannot share evenly need more room.
func TestMachineOfSeveralNodes(t *testing.T) {
	e := resolve(t, "tp=1 dp=3 dtype=fp32")
	one, err := New(e, Machine{})
	if err != nil {
		t.Fatal(err)
	}
	rank := one.NeedBytes / 3
	for _, c := range []struct {
		nodes int
		mem   int64
		fits  bool
	}{{1, 3 * rank, true}, {1, 3*rank - 1, false}, {2, 2 * rank, true}, {2, 2*rank - 1, false}, {3, rank, true}, {0, 3 * rank, true}} {
		p, err := New(e, Machine{MemBytes: c.mem, Nodes: c.nodes})
		if err != nil || p.Fits != c.fits {
			t.Errorf("%d nodes of %d bytes for 3 ranks of %d: fits %v, %v", c.nodes, c.mem, rank, p.Fits, err)
		}
	}
	if m := lab().Machine(0); m.Nodes != 1 || m.MemBytes != 64<<30 {
		t.Errorf("%+v", m)
	}
}

func FuzzParseMachine(f *testing.F) {
	good, err := lab().TOML()
	if err != nil {
		f.Fatal(err)
	}
	f.Add(good)
	f.Add([]byte("schema = 1\nname = \"a\"\ngemm-flops = inf"))
	f.Add([]byte("[[within]]\nranks = 2"))
	f.Add([]byte("schema = 2\nname = \"h\"\ngpus = 8\ngpu = \"H200\"\ngpu-memory-bytes = 150754820096\ngemm-flops = 6e14\ngemm-dtype = \"bf16\""))
	f.Add([]byte("schema = 2\nname = \"h\"\ngpu-memory-bytes = 70368744177665"))
	f.Add([]byte("schema = 1\nname = \"h\"\ngemm-dtype = \"\""))
	f.Fuzz(func(t *testing.T, data []byte) {
		m, err := ParseMachine(data, "m.toml")
		if err != nil {
			return
		}
		text, err := m.TOML()
		if err != nil {
			t.Fatalf("what was read cannot be written: %v", err)
		}
		again, err := ParseMachine(text, "m.toml")
		if err != nil {
			t.Fatalf("%v\n%s", err, text)
		}
		if m := again.Machine(1 << 12); m.GPUMemBytes < 0 || m.total() < 0 {
			t.Fatalf("%+v", m)
		}
	})
}
