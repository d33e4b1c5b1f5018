package planner

import (
	"strings"
	"testing"
)

// What a rank needs of the host: on a processor all that it allocates, on a GPU none of that.
func TestHostMemoryOfARank(t *testing.T) {
	here := Machine{MemBytes: 1 << 40, GPUs: 8, GPUMemBytes: 1 << 40}
	host := func(text string) (int64, Memory) {
		t.Helper()
		p, err := New(resolve(t, text), here)
		if err != nil {
			t.Fatal(err)
		}
		return p.Memory.Host, p.Memory
	}
	m := resolve(t, "device=cpu").Model
	table := int64(4 * max(m.Vocab*m.D, m.FF*m.Rank)) // the largest tensor, in fp32
	for _, c := range []struct {
		text string
		want func(Memory) int64
	}{
		{"device=cpu keep-last=0", func(m Memory) int64 { return m.Total }},
		{"device=cpu keep-last=2", func(m Memory) int64 { return m.Total + m.Checkpoint + 3*table }},
		{"device=cuda keep-last=0", func(Memory) int64 { return GPUHostBytes }},
		{"device=cuda keep-last=2", func(m Memory) int64 { return GPUHostBytes + m.Checkpoint + 3*table }},
		{"device=emulated keep-last=0", func(m Memory) int64 { return m.Total }},
	} {
		if got, m := host(c.text); got != c.want(m) {
			t.Errorf("%s: %d, want %d", c.text, got, c.want(m))
		}
	}
	// Update ratios keep the weights twice: in fp32 on a processor, and the masters on a GPU.
	for _, device := range []string{"cpu", "cuda"} {
		without, m := host("device=" + device + " keep-last=0")
		with, _ := host("device=" + device + " keep-last=0 update-ratio=10")
		if p, _ := New(resolve(t, "device="+device), here); with-without != 2*4*p.ParametersPerRank {
			t.Errorf("%s: update ratios take %d of %+v", device, with-without, m)
		}
	}
	if plain, _ := host("device=cuda keep-last=0 variant=loro"); plain <= GPUHostBytes {
		t.Error("the exact step of loro takes nothing of the host")
	}
}

// No GPU's memory is asked of a host, and what is assumed is said.
func TestHostMemoryDoesNotGrowWithTheGPUs(t *testing.T) {
	small, err := New(resolve(t, "device=cuda size=1b keep-last=0"), Machine{})
	if err != nil {
		t.Fatal(err)
	}
	large, err := New(resolve(t, "device=cuda size=1b keep-last=0 micro-batch=8"), Machine{})
	if err != nil {
		t.Fatal(err)
	}
	if small.Memory.Host != large.Memory.Host || large.Memory.Total <= small.Memory.Total {
		t.Errorf("%d and %d of the host", small.Memory.Host, large.Memory.Host)
	}
	if notes := strings.Join(small.Notes, " "); !strings.Contains(notes, "2.0 GiB are assumed") {
		t.Errorf("what is assumed is not said: %s", notes)
	}
}
