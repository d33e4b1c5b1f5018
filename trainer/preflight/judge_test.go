package preflight

import (
	"strings"
	"testing"

	"boost-tui/runner/protocol"
)

// sound is what two good nodes look like.
func sound() protocol.Preflight {
	node := func(name string, first int) protocol.Node {
		return protocol.Node{Name: name, Ranks: 2, First: first, Version: "v1", Binary: "b", Cores: 8, BLAS: "OpenBLAS", MemTotal: 64 << 30, MemAvailable: 60 << 30,
			GEMM: 2e11, GEMMSlowest: 1e11, Within: []protocol.Link{{Ranks: 2, Bytes: 1 << 20, Seconds: 1e-4}}, FileWrite: 1e-3,
			Cases: []protocol.Case{{Name: "a", OK: true}}}
	}
	p := protocol.Preflight{Nodes: []protocol.Node{node("n1", 0), node("n2", 2), node("n3", 4)}}
	for i := range p.Nodes[1:] {
		p.Nodes[1+i].FileTrip, p.Nodes[1+i].ClockError, p.Nodes[1+i].RoundTrip = 0.01, 1e-4, 2e-4
	}
	for i := range p.Nodes {
		p.Paths = append(p.Paths, protocol.Path{A: i, B: (i + 1) % 3, Links: []protocol.Link{{Ranks: 2, Bytes: 1 << 20, Seconds: 1e-3}}})
	}
	p.All = []protocol.Link{{Ranks: 6, Bytes: 1 << 20, Seconds: 2e-3}}
	return p
}

func TestVerdicts(t *testing.T) {
	gpu := func(change func(*protocol.GPU)) func(*protocol.Preflight, *protocol.PreflightSpec) {
		return func(p *protocol.Preflight, _ *protocol.PreflightSpec) {
			for i := range p.Nodes {
				p.Nodes[i].GPUs = []protocol.GPU{{Name: "H", SMMHz: 1900, TempC: 40}}
			}
			if change != nil {
				change(&p.Nodes[1].GPUs[0])
			}
		}
	}
	known := &protocol.Rates{RanksPerNode: 2, GEMM: 2e11, Within: []protocol.Link{{Ranks: 2, Bytes: 1 << 20, Seconds: 1e-4}},
		Between: []protocol.Link{{Ranks: 2, Bytes: 1 << 20, Seconds: 1e-3}}}
	for name, c := range map[string]struct {
		change func(*protocol.Preflight, *protocol.PreflightSpec)
		want   string // empty: all is well
	}{
		"sound":        {func(*protocol.Preflight, *protocol.PreflightSpec) {}, ""},
		"as known":     {func(_ *protocol.Preflight, s *protocol.PreflightSpec) { s.Expected, s.From = known, "machine m" }, ""},
		"gpus":         {gpu(nil), ""},
		"gpu errors":   {gpu(func(g *protocol.GPU) { g.ECCFatal = 2 }), "failed gpus n2: GPU 0 had 2 memory errors"},
		"gpu heat":     {gpu(func(g *protocol.GPU) { g.Throttled = []string{"heat"} }), "slow gpus n2: GPU 0 runs at 1900 MHz and 40 °C, held down by heat"},
		"gpu hot":      {gpu(func(g *protocol.GPU) { g.TempC = 95 }), "slow gpus n2: GPU 0 runs"},
		"gpu at limit": {gpu(func(g *protocol.GPU) { g.Throttled = []string{"power cap"} }), ""},
		"gpu in use":   {gpu(func(g *protocol.GPU) { g.Busy = 1 }), "slow gpus n2: 1 processes"},
		"clock":        {func(p *protocol.Preflight, _ *protocol.PreflightSpec) { p.Nodes[2].ClockOffset = -300 }, "failed clock n3: 5 min 00 s behind"},
		"far": {func(p *protocol.Preflight, _ *protocol.PreflightSpec) {
			p.Nodes[2].ClockError, p.Nodes[2].RoundTrip = 2, 4
		}, "slow clock n3"},
		"version": {func(p *protocol.Preflight, _ *protocol.PreflightSpec) { p.Nodes[1].Version = "v2" }, "failed program n2: runs v2, the first node v1"},
		"blas":    {func(p *protocol.Preflight, _ *protocol.PreflightSpec) { p.Nodes[1].BLAS = "gonum" }, "slow program n2: computes products by gonum"},
		"memory":  {func(_ *protocol.Preflight, s *protocol.PreflightSpec) { s.NeedBytes = 40 << 30 }, "failed memory n1: its 2 ranks need 80.0 GiB"},
		"tight":   {func(_ *protocol.Preflight, s *protocol.PreflightSpec) { s.NeedBytes = 31 << 30 }, "slow memory n1"},
		"unseen":  {func(p *protocol.Preflight, _ *protocol.PreflightSpec) { p.Nodes[1].FileTrip = 0 }, "failed files n2: does not see"},
		"apart":   {func(p *protocol.Preflight, s *protocol.PreflightSpec) { p.Nodes[1].FileTrip, s.Apart = 0, true }, ""},
		"late":    {func(p *protocol.Preflight, _ *protocol.PreflightSpec) { p.Nodes[1].FileTrip = 5 }, "slow files n2"},
		"disk":    {func(p *protocol.Preflight, _ *protocol.PreflightSpec) { p.Nodes[0].FileWrite = 3 }, "slow files n1: a small file takes 3 s"},
		"slow node": {func(p *protocol.Preflight, _ *protocol.PreflightSpec) {
			p.Nodes[1].GEMM, p.Nodes[1].GEMMSlowest = 5e10, 2.5e10
		}, "slow products n2: 50 GFLOP/s, 25 % of the usual 200 GFLOP/s"},
		"slow rank": {func(p *protocol.Preflight, _ *protocol.PreflightSpec) { p.Nodes[1].GEMMSlowest = 1e9 }, "slow products n2: one of its 2 ranks"},
		"all slower": {func(p *protocol.Preflight, s *protocol.PreflightSpec) {
			s.Expected, s.From = &protocol.Rates{RanksPerNode: 2, GEMM: 1e12}, "machine m"
		}, "slow products n1: 200 GFLOP/s, 20 % of the 1 TFLOP/s that machine m says"},
		"other ranks": {func(p *protocol.Preflight, s *protocol.PreflightSpec) {
			s.Expected, s.From = &protocol.Rates{RanksPerNode: 8, GEMM: 1e12}, "machine m"
		}, ""},
		"within": {func(p *protocol.Preflight, _ *protocol.PreflightSpec) { p.Nodes[0].Within[0].Seconds = 1e-3 }, "slow within nodes n1"},
		"path":   {func(p *protocol.Preflight, _ *protocol.PreflightSpec) { p.Paths[1].Links[0].Seconds = 1e-1 }, "slow between nodes n2 - n3: all-reduce of 1.0 MiB"},
		"broken path": {func(p *protocol.Preflight, _ *protocol.PreflightSpec) {
			p.Paths[1] = protocol.Path{A: 1, B: 2, Text: "refused"}
		}, "failed between nodes n2 - n3: refused"},
		"known path": {func(p *protocol.Preflight, s *protocol.PreflightSpec) {
			s.Expected, s.From = &protocol.Rates{Between: []protocol.Link{{Ranks: 2, Bytes: 1 << 20, Seconds: 1e-5}}}, "machine m"
		}, "slow between nodes n1 - n2"},
		"slow everywhere": {func(p *protocol.Preflight, _ *protocol.PreflightSpec) {
			for i := range p.Paths {
				p.Paths[i].Links[0].Seconds = 1
			}
		}, "slow between nodes n1 - n2: all-reduce of 1.0 MiB: 1.05 MB/s, less than 100 Mbit/s Ethernet"},
		"no paths": {func(p *protocol.Preflight, _ *protocol.PreflightSpec) { p.Paths = nil }, "failed between nodes : was not measured"},
		"wrong": {func(p *protocol.Preflight, _ *protocol.PreflightSpec) {
			p.Nodes[2].Cases[0] = protocol.Case{Name: "a", Text: "loss"}
		}, "failed verify n3: a: loss"},
		"no room on a GPU": {func(p *protocol.Preflight, s *protocol.PreflightSpec) {
			p.Nodes[1].GPUBytes, s.GPUBytes = 9<<30, 10<<30
		}, "failed gpus n2: a rank allocates 10.0 GiB and a GPU has 9.0 GiB"},
		"little room on a GPU": {func(p *protocol.Preflight, s *protocol.PreflightSpec) {
			p.Nodes[1].GPUBytes, s.GPUBytes, s.GPUMargin = 11<<30, 10<<30, 2<<30
		}, "slow gpus n2: a rank allocates 10.0 GiB of a GPU's 11.0 GiB"},
		"another type": {func(p *protocol.Preflight, s *protocol.PreflightSpec) {
			p.Rates.GEMMDType = "bf16"
			s.Expected, s.From = &protocol.Rates{RanksPerNode: 2, GEMM: 1e15}, "machine m"
		}, ""},
		"the same type": {func(p *protocol.Preflight, s *protocol.PreflightSpec) {
			p.Rates.GEMMDType = "bf16"
			s.Expected, s.From = &protocol.Rates{RanksPerNode: 2, GEMM: 1e12, GEMMDType: "bf16"}, "machine m"
		}, "slow products n1: 200 GFLOP/s, 20 % of the 1 TFLOP/s that machine m says"},
		"no cases": {func(p *protocol.Preflight, _ *protocol.PreflightSpec) { p.Nodes[2].Cases = nil }, "failed verify n3"},
		"no device": {func(p *protocol.Preflight, _ *protocol.PreflightSpec) {
			p.Nodes[2].Trouble = []protocol.Note{{What: "device", Text: "x"}}
		}, "failed program n3: x"},
	} {
		t.Run(name, func(t *testing.T) {
			p, spec := sound(), protocol.PreflightSpec{NeedBytes: 1 << 30}
			c.change(&p, &spec)
			Judge(&p, spec)
			got := verdicts(p)
			if c.want == "" {
				if len(got) > 0 || p.Verdict != protocol.VerdictOK {
					t.Errorf("%v", got)
				}
				return
			}
			if len(got) == 0 || !strings.HasPrefix(got[0], c.want) {
				t.Errorf("got %q, want %q", got, c.want)
			}
			for _, l := range p.Checks {
				if (l.Verdict == protocol.VerdictOK) != (l.Advice == "") {
					t.Errorf("%+v: who must do something is told what, and nobody else", l)
				}
			}
		})
	}
}

// Rates of the emulated device are marked in the line that tells them, and nothing else is.
func TestRatesOfTheEmulatedDeviceAreMarked(t *testing.T) {
	const mark = " (emulated device)"
	for _, emulated := range []bool{true, false} {
		p := sound()
		Judge(&p, protocol.PreflightSpec{Emulated: emulated})
		var marked []string
		for _, c := range p.Checks {
			if strings.Contains(c.Found, mark) {
				marked = append(marked, c.What)
			}
		}
		if got := strings.Join(marked, ", "); emulated && got != "products, within nodes, between nodes, all ranks" || !emulated && got != "" {
			t.Errorf("emulated %v: marked are %q", emulated, got)
		}
	}
	p := sound()
	p.Nodes, p.Paths, p.All = p.Nodes[:1], nil, nil
	p.Nodes[0].Ranks, p.Nodes[0].Within = 1, nil
	Judge(&p, protocol.PreflightSpec{Emulated: true})
	for _, c := range p.Checks {
		if strings.Contains(c.Found, "N/A") && strings.Contains(c.Found, mark) {
			t.Errorf("what was not measured is marked: %+v", c)
		}
	}
}

func TestDuration(t *testing.T) {
	for s, want := range map[float64]string{299.9996: "5 min 00 s", 61: "1 min 01 s", 3599.6: "60 min 00 s", 2.5: "2.5 s", 0.0199: "19.9 ms", 4.25e-7: "0.425 µs"} {
		if got := duration(s); got != want {
			t.Errorf("%v s is %q, want %q", s, got, want)
		}
	}
}
