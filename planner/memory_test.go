package planner

import (
	"math"
	"strings"
	"testing"

	"boost-tui/experiment"
	"boost-tui/kernels"
	"boost-tui/step"
)

// The plan is what the device would be asked to allocate.
func TestMemoryIsWhatIsAllocated(t *testing.T) {
	for _, words := range []string{"", "tp=4", "scheme=vanilla tp=2", "variant=full tp=2", "size=60m tp=2 seq=512 micro-batch=4", "accumulate=7 grouping=off norm=sync tp=2",
		"variant=lax lax-gate=vector tp=2", "variant=lax lax-gate=dense lax-base=cola scheme=vanilla tp=2", "variant=loro tp=4", "variant=relora tp=2", "variant=sltrain tp=4",
		"tp=2 recompute=low-rank", "tp=2 recompute=full scheme=vanilla", "variant=lax lax-gate=dense scheme=vanilla tp=4 recompute=low-rank", "variant=sltrain tp=2 recompute=full"} {
		e := resolve(t, "dtype=fp32 "+words)
		p := plan(t, "dtype=fp32 "+words)
		halves(t, words, p)
		var r recording
		if _, err := r.allocate(step.ConfigOf(e), e.Parallel, p.Stage); err != nil {
			t.Fatal(err)
		}
		if p.Memory.Total != r.dev.PeakBytes() {
			t.Errorf("%q: planned %d, allocated %d: %+v", words, p.Memory.Total, r.dev.PeakBytes(), p.Memory)
		}
		indices := r.memory[kernels.MemIndices]
		if weights := p.Memory.Weights - indices; weights < 4*p.ParametersPerRank || weights > 4*p.ParametersPerRank+1<<16 {
			t.Errorf("%q: %d bytes for %d weights", words, weights, p.ParametersPerRank)
		}
		if (indices > 0) != (e.Model.Variant == experiment.SLTrain) {
			t.Errorf("%q: %d bytes of indices", words, indices)
		}
		if e.Model.Variant == experiment.ReLoRA { // the frozen ones have neither
			if p.Memory.Gradients >= p.Memory.Weights/2 || p.Memory.Optimizer < 2*p.Memory.Gradients {
				t.Errorf("%q: %+v", words, p.Memory)
			}
			continue
		}
		p.Memory.Weights -= indices
		if p.Memory.Gradients != p.Memory.Weights || p.Memory.Optimizer < 2*p.Memory.Weights {
			t.Errorf("%q: %+v", words, p.Memory)
		}
	}
}

// halves holds a plan in bf16 against the one in fp32: the ends of matrices, on cache lines, are what differs beside the types.
func halves(t *testing.T, words string, single *Plan) {
	t.Helper()
	p := plan(t, "dtype=bf16 "+words)
	slack := p.Memory.Weights/8 + 1<<16
	near := func(what string, got, want int64) {
		if got < want-slack || got > want+slack {
			t.Errorf("%q: %s of %d bytes in bf16, want about %d", words, what, got, want)
		}
	}
	m := single.Memory
	near("gradients", p.Memory.Gradients, m.Gradients)
	near("optimizer state", p.Memory.Optimizer, m.Optimizer*3/2)
	if p.Memory.Weights > m.Weights*2/3 || p.Memory.Activations > m.Activations*3/4 || single.StepBytes > 0 && p.StepBytes >= single.StepBytes {
		t.Errorf("%q: %+v in bf16, %+v in fp32", words, p.Memory, m)
	}
}

// METHOD.md §3.8: elements that a block keeps per token, and bytes per parameter in bf16 with gradients in fp32.
func TestMemoryByMethod(t *testing.T) {
	const d, f, r, layers, heads, tp, tokens = 4096, 11008, 1024, 32, 32, 4, 4 * 4096
	const lse, stats = 2 * heads, 2 * 2 // fp32, in elements of bf16
	for words, perToken := range map[string]float64{
		"variant=cola scheme=btp recompute=low-rank":     d/float64(tp) + 7*r + stats,
		"variant=cola scheme=vanilla recompute=low-rank": 2*d + 7*r/float64(tp) + stats,
		"variant=full recompute=full":                    d,
		"variant=full recompute=low-rank":                2*d + (4*d+3*f+lse)/float64(tp) + stats,
		"variant=cola scheme=btp recompute=full":         d / float64(tp),
		"variant=full":                                   2*d + (4*d+3*f+lse)/float64(tp) + stats,
		"variant=cola scheme=vanilla":                    6*d + 3*f + 7*r/float64(tp) + lse + stats,
		"variant=cola scheme=btp":                        (6*d+3*f+lse)/float64(tp) + 7*r + stats,
	} {
		p := plan(t, "size=7b tp=4 micro-batch=4 "+words)
		last := float64(d)
		if strings.Contains(words, "btp") {
			last /= tp
		}
		want := 2 * tokens * (layers*perToken + last + stats/2)
		if math.Abs(float64(p.Memory.Activations)/want-1) > 1e-6 {
			t.Errorf("%s: %d bytes of activations, want %.0f", words, p.Memory.Activations, want)
		}
		n := float64(p.ParametersPerRank)
		for what, pair := range map[string][2]float64{"weights": {float64(p.Memory.Weights), 2 * n}, "gradients": {float64(p.Memory.Gradients), 4 * n},
			"optimizer": {float64(p.Memory.Optimizer), 12 * n}, "logits": {float64(p.Memory.Logits), (4 + 2) * tokens * 32000 / tp}} {
			if math.Abs(pair[0]/pair[1]-1) > 1e-4 {
				t.Errorf("%s: %s are %.0f bytes, want %.0f", words, what, pair[0], pair[1])
			}
		}
	}
	one, two := plan(t, "size=7b tp=4"), plan(t, "size=7b tp=4 accumulate=8")
	if two.Memory.Gradients != one.Memory.Gradients || two.Memory.Activations != one.Memory.Activations {
		t.Errorf("accumulation: %+v, %+v", one.Memory, two.Memory)
	}
}

func TestFits(t *testing.T) {
	e := resolve(t, "tp=2 dtype=fp32")
	p, err := New(e, Machine{MemBytes: 1 << 40})
	if err != nil || !p.Fits || p.NeedBytes != 2*(p.Memory.Total+p.Memory.Checkpoint) {
		t.Fatalf("%v, %+v", err, p)
	}
	p, err = New(e, Machine{MemBytes: p.NeedBytes - 1})
	if err != nil || p.Fits || strings.Contains(strings.Join(p.Notes, " "), "fit") { // Fits says it once
		t.Errorf("%v, %+v", err, p)
	}
}

// What Check offers is valid and fits.
func TestCheckFindsAWayOut(t *testing.T) {
	for _, tc := range []struct {
		words string
		mem   int64
		key   string // "": no violation
		lost  bool   // nothing fits
	}{
		{"size=tiny", 1 << 30, "", false},
		{"size=60m micro-batch=64 seq=512", 4 << 30, "micro-batch", false},
		{"size=130m", 4 << 30, "seq", false},
		{"size=7b tp=2", 8 << 30, "size", false},
		{"size=13b micro-batch=8 variant=full", 20 << 30, "size", false},
		{"size=tiny", 1 << 10, "micro-batch", true},
	} {
		e := resolve(t, "dtype=fp32 "+tc.words)
		vs := Check(e, Machine{MemBytes: tc.mem, Cores: 64})
		if tc.key == "" || len(vs) != 1 {
			if tc.key != "" || len(vs) != 0 {
				t.Errorf("%s: %v", tc.words, vs)
			}
			continue
		}
		v := vs[0]
		if v.Key != tc.key || (len(v.Nearest) == 0) != tc.lost || v.Rule != experiment.RuleMemory {
			t.Errorf("%s: %v", tc.words, v)
		}
		for _, n := range v.Nearest {
			try, err := with(e, v.Key, n)
			if err != nil {
				t.Fatal(err)
			}
			if left := Check(try, Machine{MemBytes: tc.mem, Cores: 64}); len(left) > 0 {
				t.Errorf("%s: with %s %s: %v", tc.words, v.Key, n, left)
			}
			if try.Train != e.Train || try.Model.Variant != e.Model.Variant {
				t.Errorf("%s: the way out changes more than %s", tc.words, v.Key)
			}
		}
	}
}

func TestCheckKeepsOtherViolations(t *testing.T) {
	vs := Check(resolve(t, "tp=3"), Machine{MemBytes: 1, Cores: 1})
	if len(vs) == 0 || vs[0].Key != "tp" || vs[0].Rule == experiment.RuleMemory {
		t.Errorf("%v", vs)
	}
	vs = Check(resolve(t, "tp=4"), Machine{MemBytes: 1 << 40, Cores: 2})
	if len(vs) != 1 || !vs[0].Warning {
		t.Errorf("%v", vs)
	}
	if vs := Check(resolve(t, "size=40b"), Machine{}); len(vs) != 0 {
		t.Errorf("a machine of unknown memory: %v", vs)
	}
}

func TestTight(t *testing.T) {
	if s := (Machine{AvailableBytes: 8 << 30}).Tight(9 << 30); !strings.Contains(s, "available now") {
		t.Error(s)
	}
	if s := (Machine{AvailableBytes: 8 << 30}).Tight(8<<30) + (Machine{}).Tight(1<<40); s != "" {
		t.Error(s)
	}
}

func TestThisMachine(t *testing.T) {
	if m := ThisMachine(); m.MemBytes < 1<<27 || m.Cores < 1 || m.AvailableBytes < 1 || m.AvailableBytes > m.MemBytes {
		t.Errorf("%+v", m)
	}
}
