package planner

import (
	"encoding/json"
	"errors"
	"math"
	"runtime"
	"strings"
	"testing"
	"time"

	"boost-tui/experiment"
)

// resolve makes an experiment from "key=value" words, for a plan.
func resolve(t testing.TB, words string) experiment.Experiment {
	t.Helper()
	e := experiment.Default()
	for _, kv := range strings.Fields(words) {
		k, v, _ := strings.Cut(kv, "=")
		if err := e.Set(k, v); err != nil {
			t.Fatal(err)
		}
	}
	r, err := e.ResolveForPlan()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

func plan(t testing.TB, words string) *Plan {
	t.Helper()
	p, err := New(resolve(t, words), Machine{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}

// METHOD.md §3.1 to §3.3, per block.
func TestCollectivesOfABlock(t *testing.T) {
	const b, s, d, f, r = 4, 4096, 4096, 11008, 1024
	const bsd, bsf, bsr, bs = b * s * d, b * s * f, b * s * r, b * s
	seven := "size=7b tp=4 micro-batch=4 seq=4096 "
	for _, tc := range []struct {
		words              string
		forward, backward  int64
		forwardStatistics  int64
		backwardStatistics int64
		calls, backCalls   int
	}{
		{"variant=cola scheme=btp", 7*bsr + 2*bs, 7 * bsr, 2 * bs, 0, 4, 4},
		{"variant=svd scheme=btp", 7*bsr + 2*bs, 7 * bsr, 2 * bs, 0, 4, 4},
		{"variant=cola scheme=btp grouping=off", 7*bsr + 2*bs, 7 * bsr, 2 * bs, 0, 7, 7},
		{"variant=cola scheme=btp norm=sync", 7*bsr + 2*bs, 7*bsr + 2*bs, 2 * bs, 2 * bs, 6, 6},
		{"variant=cola scheme=vanilla", 5*bsd + 2*bsf, 3*bsd + bsf, 0, 0, 4, 4},
		{"variant=cola scheme=vanilla grouping=off", 5*bsd + 2*bsf, 6*bsd + bsf, 0, 0, 7, 7},
		{"variant=full scheme=full-rank", 2 * bsd, 2 * bsd, 0, 0, 2, 2},
		{"variant=cola scheme=btp tp=1", 0, 0, 0, 0, 0, 0},
		{"variant=lax lax-gate=dense scheme=btp", 7*bsr + 2*bs, 7 * bsr, 2 * bs, 0, 4, 4},
		{"variant=lax lax-gate=vector scheme=vanilla", 5*bsd + 2*bsf, 3*bsd + bsf, 0, 0, 4, 4},
		{"variant=loro scheme=btp", 7*bsr + 2*bs, 7 * bsr, 2 * bs, 0, 4, 4},
		{"variant=relora", 2 * bsd, 2*bsd + 7*r*d, 0, 0, 2, 3},
		{"variant=relora accumulate=3", 2 * bsd, 2*bsd + 7*r*d, 0, 0, 2, 3},
		{"variant=sltrain", 2 * bsd, 2*bsd + 7*r*d, 0, 0, 2, 3},
		{"variant=cola scheme=btp recompute=low-rank", 7*bsr + 2*bs, 7 * bsr, 2 * bs, 0, 4, 4},
		{"variant=cola scheme=btp recompute=full", 7*bsr + 2*bs, 14*bsr + 2*bs, 2 * bs, 2 * bs, 4, 8},
		{"variant=cola scheme=vanilla recompute=low-rank", 5*bsd + 2*bsf, 6*bsd + 3*bsf, 0, 0, 4, 6},
		{"variant=full recompute=full", 2 * bsd, 3 * bsd, 0, 0, 2, 3},
	} {
		p := plan(t, seven+tc.words)
		fw, bw := p.Block.Forward, p.Block.Backward
		if fw.Elements != tc.forward || bw.Elements != tc.backward || fw.Statistics != tc.forwardStatistics || bw.Statistics != tc.backwardStatistics {
			t.Errorf("%s: forward %d (%d), backward %d (%d), want %+v", tc.words, fw.Elements, fw.Statistics, bw.Elements, bw.Statistics, tc)
		}
		if len(fw.Collectives) != tc.calls || len(bw.Collectives) != tc.backCalls {
			t.Errorf("%s: calls %v, %v", tc.words, fw.Collectives, bw.Collectives)
		}
		sum := int64(0)
		for _, c := range fw.Collectives {
			sum += c.Elements
			if c.Op != "all-reduce" || c.Label == "" {
				t.Errorf("%s: %+v", tc.words, c)
			}
		}
		if sum != fw.Elements {
			t.Errorf("%s: %d is not the sum of %v", tc.words, fw.Elements, fw.Collectives)
		}
	}
}

// METHOD.md §3.4.
func TestCollectivesOutside(t *testing.T) {
	const bs, bsd = 4 * 4096, 4 * 4096 * 4096
	for words, want := range map[string][3]int64{
		"variant=full":                 {bsd + 3*bs, bsd, 1},
		"variant=cola scheme=vanilla":  {bsd + 3*bs, bsd, 1},
		"variant=cola scheme=btp":      {bsd + bs + 3*bs, bsd + bs, 1}, // gather, the final norm's statistic, the loss
		"variant=cola scheme=btp tp=1": {0, 0, 0},
	} {
		o := plan(t, "size=7b tp=4 micro-batch=4 "+words).Outside
		if got := [3]int64{o.Forward.Elements, o.Backward.Elements, o.Optimizer.Elements}; got != want {
			t.Errorf("%s: %v, want %v: %+v", words, got, want, o)
		}
	}
}

// What crosses through matrices is gathered and scattered under vanilla, 7·b·s·r each way; an exact step moves every factor three times.
func TestOtherCollectives(t *testing.T) {
	const bsr, bsd, bsf = 4 * 4096 * 1024, 4 * 4096 * 4096, 4 * 4096 * 11008
	seven := "size=7b tp=4 micro-batch=4 seq=4096 "
	b := plan(t, seven+"variant=lax lax-gate=dense scheme=vanilla").Block
	if b.Forward.Elements != 5*bsd+2*bsf+7*bsr || b.Backward.Elements != 3*bsd+bsf+7*bsr {
		t.Errorf("%d and %d", b.Forward.Elements, b.Backward.Elements)
	}
	p := plan(t, seven+"variant=loro")
	if x := p.Exact; x == nil || x.Every != 200 || x.Collectives != 2*7*32 || x.Bytes != 4*3*32*1024*(11*4096+3*11008) {
		t.Errorf("%+v", x)
	}
	if plan(t, seven+"variant=svd").StepBytes != p.StepBytes || plan(t, seven).Exact != nil {
		t.Error("a lazy step communicates what svd's does")
	}
	one, three := plan(t, seven+"variant=relora accumulate=1"), plan(t, seven+"variant=relora accumulate=3")
	if three.Collectives-one.Collectives != 2*(one.Collectives-1-32) { // the factors' sums, one a block, happen once a step
		t.Errorf("%d calls with one micro-batch, %d with three", one.Collectives, three.Collectives)
	}
}

// The step's bytes are the blocks' and the rest, times the micro-batches, plus the optimizer's.
func TestStepBytes(t *testing.T) {
	for _, acc := range []string{"1", "2", "5"} {
		for _, scheme := range []string{"btp", "vanilla"} {
			p := plan(t, "tp=2 dtype=fp32 accumulate="+acc+" scheme="+scheme)
			n := map[string]int64{"1": 1, "2": 2, "5": 5}[acc]
			micro := 4*(p.Block.Forward.Elements+p.Block.Backward.Elements) + p.Outside.Forward.Elements + p.Outside.Backward.Elements
			if want := 4 * (n*micro + p.Outside.Optimizer.Elements); p.StepBytes != want {
				t.Errorf("%s x %s: %d bytes, want %d", scheme, acc, p.StepBytes, want)
			}
			if flops := n*(4*p.Block.FLOPs+p.Outside.Forward.FLOPs+p.Outside.Backward.FLOPs) + p.Outside.Optimizer.FLOPs; p.RankFLOPs != flops {
				t.Errorf("%s x %s: %d flops, want %d", scheme, acc, p.RankFLOPs, flops)
			}
			if p.WireBytes <= p.StepBytes/2 || p.WireBytes > p.StepBytes {
				t.Errorf("wire bytes %d of payload %d among 2 ranks", p.WireBytes, p.StepBytes)
			}
		}
	}
	// In bf16 statistics stay fp32.
	p := plan(t, "size=7b tp=4")
	st := 32*(p.Block.Forward.Statistics+p.Block.Backward.Statistics) + p.Outside.Forward.Statistics + p.Outside.Backward.Statistics + 1
	all := 32*(p.Block.Forward.Elements+p.Block.Backward.Elements) + p.Outside.Forward.Elements + p.Outside.Backward.Elements + 1
	if want := 2*all + 2*st; p.StepBytes != want || p.DType != "bf16" {
		t.Errorf("bf16: %d bytes, want %d", p.StepBytes, want)
	}
}

// METHOD.md §3.9: the ranks' FLOPs add up to the model's, vanilla's replicated attention apart.
func TestFLOPs(t *testing.T) {
	for _, words := range []string{"variant=full", "variant=cola", "variant=svd scheme=btp tp=4", "variant=full tp=4", "size=7b tp=4", "size=1b tp=2 accumulate=3 grouping=off"} {
		p := plan(t, words)
		e := resolve(t, words)
		if got := p.RankFLOPs * int64(e.Parallel.TP); got != p.FLOPs {
			t.Errorf("%s: ranks do %d, the model has %d", words, got, p.FLOPs)
		}
	}
	p := plan(t, "scheme=vanilla tp=2")
	attention := int64(3 * 4 * 2 * 128 * 128 * 8 * 128) // 3 x blocks x 2·s·d x tokens
	if 2*p.RankFLOPs != p.FLOPs+attention {
		t.Errorf("vanilla: %d, want %d", 2*p.RankFLOPs, p.FLOPs+attention)
	}
}

// METHOD.md §3.10, the MLP of 7B at tp 4 with 4096 rows: 1174, 233.5, 571 without grouping.
func TestArithmeticIntensity(t *testing.T) {
	for words, want := range map[string]float64{
		"variant=full grouping=off":                1174,
		"variant=cola scheme=vanilla grouping=off": 233.5,
		"variant=cola scheme=btp grouping=off":     571,
		"variant=cola scheme=btp grouping=on":      2.58 * 233.5,
	} {
		p := plan(t, "size=7b tp=4 micro-batch=1 seq=4096 "+words)
		if got := p.Block.MLPArithmeticIntensity; math.Abs(got/want-1) > 0.003 {
			t.Errorf("%s: %.1f, want %.1f", words, got, want)
		}
		if p.Block.ArithmeticIntensity <= 0 {
			t.Errorf("%s: no intensity of the block", words)
		}
	}
}

// METHOD.md §1 counts the parameters; §3.8 those of a rank.
func TestParameters(t *testing.T) {
	for words, want := range map[string]float64{
		"size=60m variant=full": 58.1e6, "size=60m": 42.8e6, "size=130m": 94.0e6, "size=350m variant=full": 368.0e6,
		"size=7b variant=full": 6738e6, "size=7b": 2821e6, "size=13b": 5335e6,
	} {
		if got := plan(t, words).Parameters; math.Abs(float64(got)-want) > 0.06e6*math.Max(1, want/100e6) {
			t.Errorf("%s: %d parameters, want %.0f", words, got, want)
		}
	}
	btp, vanilla := plan(t, "size=7b tp=4"), plan(t, "size=7b tp=4 scheme=vanilla")
	if btp.ParametersPerRank*4 != btp.Parameters {
		t.Errorf("btp shards everything: %d of %d", btp.ParametersPerRank, btp.Parameters)
	}
	if norms := int64(65 * 4096); (vanilla.ParametersPerRank-norms)*4 != vanilla.Parameters-norms {
		t.Errorf("vanilla shards all but the norms: %d of %d", vanilla.ParametersPerRank, vanilla.Parameters)
	}
}

func TestInvalid(t *testing.T) {
	_, err := New(resolve(t, "tp=3 pp=3"), Machine{})
	var invalid *experiment.InvalidError
	if !errors.As(err, &invalid) || len(invalid.Violations) != 2 {
		t.Errorf("%v", err)
	}
}

// Every preset is planned, and soon: BenchmarkPlan says how soon.
func TestPresets(t *testing.T) {
	for _, preset := range experiment.Presets() {
		for _, words := range []string{"variant=full", "variant=cola scheme=btp", "variant=cola scheme=vanilla", "variant=lax lax-gate=dense recompute=low-rank",
			"variant=loro", "variant=relora recompute=full", "variant=sltrain"} {
			start := time.Now()
			p := plan(t, "size="+preset.Name+" tp=4 "+words)
			if took := time.Since(start); took > 20*time.Second {
				t.Errorf("%s %s took %v", preset.Name, words, took)
			}
			assumed := strings.Contains(strings.Join(p.Notes, " "), "our assumption")
			if assumed != (preset.Name == "40b") {
				t.Errorf("%s: %v", preset.Name, p.Notes)
			}
		}
	}
}

// The names that scripts rely on (DESIGN.md, plan).
func TestJSON(t *testing.T) {
	raw, err := json.Marshal(plan(t, "tp=2"))
	if err != nil {
		t.Fatal(err)
	}
	var v struct {
		Parameters int64
		Memory     map[string]int64
		Fits       *bool
		Block      map[string]json.RawMessage
		Notes      []string
	}
	if err := json.Unmarshal(raw, &v); err != nil {
		t.Fatal(err)
	}
	for _, k := range []string{"weights", "gradients", "optimizer", "activations", "logits", "buffers", "total"} {
		if v.Memory[k] <= 0 {
			t.Errorf("memory.%s is %d", k, v.Memory[k])
		}
	}
	for _, k := range []string{"forward", "backward", "flops", "arithmetic_intensity"} {
		if v.Block[k] == nil {
			t.Errorf("block.%s is missing: %s", k, raw)
		}
	}
	if v.Parameters == 0 || v.Fits == nil || !*v.Fits || len(v.Notes) == 0 {
		t.Errorf("%s", raw)
	}
	if raw, _ := json.Marshal(plan(t, "tp=1")); !strings.Contains(string(raw), `"collectives":[]`) {
		t.Errorf("no collectives must be an empty list: %s", raw)
	}
}

// The largest presets are planned with little memory.
func TestMemoryOfPlanning(t *testing.T) {
	var before, after runtime.MemStats
	runtime.ReadMemStats(&before)
	plan(t, "size=40b tp=4 micro-batch=4 accumulate=64")
	runtime.ReadMemStats(&after)
	if n := after.TotalAlloc - before.TotalAlloc; n > 50<<20 {
		t.Errorf("planning 40b allocated %d bytes", n)
	}
}

func BenchmarkPlan(b *testing.B) {
	for _, words := range []string{"size=tiny tp=2", "size=30b tp=4", "size=40b tp=4"} {
		b.Run(strings.ReplaceAll(words, " ", ","), func(b *testing.B) {
			e := resolve(b, words)
			b.ReportAllocs()
			for b.Loop() {
				if _, err := New(e, Machine{}); err != nil {
					b.Fatal(err)
				}
			}
		})
	}
}
