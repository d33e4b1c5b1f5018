package prove

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"testing"
	"time"

	"boost-tui/experiment"
	"boost-tui/kernels"
	"boost-tui/kernels/cpu"
)

// faulty is a program whose parts end in every way: it is asked for a part by --part, or for doctor and a run.
func faulty(t *testing.T) AllOptions {
	t.Helper()
	dir := t.TempDir()
	program := filepath.Join(dir, "boost-tui")
	const body = `#!/bin/sh
case "$*" in
*doctor*) echo '{"cuda": {"findings": [{"what": "NCCL", "value": "2.27.3, /lib"}]}}';;
*golden-fp32*) echo '{"figures": "measured on a GPU", "checks": 2, "held": 1, "reports": [{"device": "cuda", "dtype": "fp32"}]}'; echo '1 of 2 checks do not hold' >&2; exit 1;;
*golden-bf16*) echo '{"checks": 2, "heard": 1}';;
*against-cpu*) kill -SEGV $$;;
*products*) echo 'no JSON';;
*elements*) echo 'out of device memory' >&2; exit 1;;
*attention*) echo '{"figures": "measured on a GPU", "card": "A GPU", "rows": []}';;
*cola-recompute*) : >"$0.under-way"; exec sleep 60;;
*) echo '{"figures": "measured on a GPU", "experiment": "x", "card": "A GPU", "dtype": "bf16", "tokens": 1, "steps": 1, "step_s": 1, "model_flops": 1, "tflops": 1, "peak_source": "none", "peak_memory": 1, "loss": 1, "breakdown": {}, "operations": [], "watching": 0, "sampled": 0, "messages_replaced": false}';;
esac
`
	if err := os.WriteFile(program, []byte(body), 0o700); err != nil {
		t.Fatal(err)
	}
	return AllOptions{Program: program, Beside: dir, Python: "/nowhere/python3", Device: "cuda", Out: filepath.Join(dir, "gpu.json"),
		Version: json.RawMessage(`{}`), Machine: Machine{Cores: 1, OS: "test"}, Say: t.Logf}
}

func read(t *testing.T, path string) (Report, map[string]Part) {
	t.Helper()
	data, err := os.ReadFile(path)
	if err != nil {
		t.Fatal(err)
	}
	r, err := Parse(data)
	if err != nil {
		t.Fatalf("%v\n%s", err, data)
	}
	parts := map[string]Part{}
	for _, p := range r.Parts {
		parts[p.Name] = p
	}
	return r, parts
}

// A part that fails, dies, or says what nobody understands has its reason in the report, and the rest goes on.
func TestPartsThatFail(t *testing.T) {
	o := faulty(t)
	o.Only = []string{PartGoldenFP32, PartGoldenBF16, PartAgainstCPU, PartProducts, PartAttention, PartElements, PartTorch, PartTwoRanks, PartMemcheck, "step-1b-full"}
	_, err := All(t.Context(), o)
	if err == nil || !strings.Contains(err.Error(), "golden-fp32, golden-bf16, against-cpu, products, elements") {
		t.Errorf("%v", err)
	}
	r, parts := read(t, o.Out)
	if r.Complete || len(r.Parts) != len(plan()) || r.Figures != Figures("cuda", false) || !parts[PartTorch].Optional || parts["step-1b-svd"].Optional {
		t.Errorf("%+v", r)
	}
	for name, want := range map[string]struct {
		state, reason string
		result        bool
	}{
		PartVersions: {StateOK, "", true}, PartGoldenFP32: {StateFailed, "1 of 2 checks do not hold", true},
		PartGoldenBF16: {StateFailed, "another shape", false}, PartAgainstCPU: {StateFailed, "segmentation fault", false},
		PartProducts: {StateFailed, "no JSON", false}, PartElements: {StateFailed, "out of device memory", false},
		PartAttention: {StateOK, "", true}, "step-1b-full": {StateOK, "", true}, "step-1b-svd": {StateLeftOut, "not asked for", false},
		PartTorch: {StateLeftOut, "no Python", false}, PartTwoRanks: {StateLeftOut, "NCCL is 2.27.3", false}, PartMemcheck: {StateLeftOut, "compute-sanitizer", false},
	} {
		p := parts[name]
		if p.State != want.state || !strings.Contains(p.Reason, want.reason) || (len(p.Result) > 0) != want.result {
			t.Errorf("%s: %s, %q, %s", name, p.State, p.Reason, p.Result)
		}
	}
}

// Time that is over, and a signal, leave what there is.
func TestNoTime(t *testing.T) {
	o := faulty(t)
	o.Limit = time.Nanosecond
	if _, err := All(t.Context(), o); !errors.Is(err, ErrTime) || !strings.Contains(err.Error(), PartAttention) {
		t.Error(err)
	}
	own := map[string]string{PartTorch: "no Python", PartKernels: "beside the program", PartMemcheck: "", PartRacecheck: "", PartTwoRanks: "NCCL"}
	r, parts := read(t, o.Out)
	for name, p := range parts {
		want, lacks := own[name]
		if !lacks {
			want = "no time is left"
		}
		if p.State != StateLeftOut || !strings.Contains(p.Reason, want) {
			t.Errorf("%s: %+v", name, p)
		}
	}
	if r.Complete || r.Figures != figuresNone || parts[PartTwoRanks].Optional {
		t.Errorf("%+v", r)
	}
}

// What has nothing to measure with is left out, and has not failed.
func TestPartThatLeavesItselfOut(t *testing.T) {
	o := faulty(t)
	o.Lacks = func(context.Context) []Lack { return []Lack{{"driver", "none", true}, {"library", "none", false}} }
	o.Only, o.Python = []string{PartTorch}, filepath.Join(o.Beside, "python")
	body := "#!/bin/sh\necho 'it has no PyTorch' >&2\nexit 77\n"
	if err := errors.Join(os.WriteFile(o.Python, []byte(body), 0o700), os.WriteFile(filepath.Join(o.Beside, "sdpa.py"), nil, 0o600)); err != nil {
		t.Fatal(err)
	}
	if _, err := All(t.Context(), o); !errors.Is(err, ErrLacks) || strings.Contains(err.Error(), "failed") {
		t.Error(err)
	}
	if p := second(read(t, o.Out))[PartTorch]; p.State != StateLeftOut || p.Reason != "driver: none; it has no PyTorch" {
		t.Errorf("%+v", p)
	}
}

// A run that fails says why in its result, and elsewhere that it began.
func TestRunThatFails(t *testing.T) {
	o := faulty(t)
	o.Device, o.Only = "emulated", []string{PartTwoRanks}
	const body = `#!/bin/sh
echo 'run 1 in /x' >&2
echo '{"state": "failed", "device": "emulated", "cause": "rank 1: no memory"}'
exit 1
`
	if err := os.WriteFile(o.Program, []byte(body), 0o700); err != nil {
		t.Fatal(err)
	}
	if _, err := All(t.Context(), o); err == nil {
		t.Error("no error")
	}
	if p := second(read(t, o.Out))[PartTwoRanks]; p.Reason != "rank 1: no memory" || p.State != StateFailed || len(p.Result) == 0 {
		t.Errorf("%+v", p)
	}
	for text, want := range map[string]string{"": "", "null": "", "[1]": "", `{"cause": 3}`: "", `{"cause": " a\n"}`: "a",
		`{"cause": "` + strings.Repeat("ü", lastSaid) + `"}`: strings.Repeat("ü", lastSaid/2)} {
		if got := causeIn(json.RawMessage(text)); got != want {
			t.Errorf("%.40s: %q", text, got)
		}
	}
}

func second(_ Report, m map[string]Part) map[string]Part { return m }

func TestBrokenOff(t *testing.T) {
	o := faulty(t)
	o.Only = []string{PartAttention, "step-1b-full", "step-1b-cola-recompute"}
	ctx, stop := context.WithCancel(t.Context())
	defer stop()
	go func() {
		for ctx.Err() == nil && !there(o.Program+".under-way") {
			time.Sleep(5 * time.Millisecond)
		}
		stop()
	}()
	begun := time.Now()
	if _, err := All(ctx, o); err == nil {
		t.Error("no error")
	}
	if took := time.Since(begun); took > 20*time.Second {
		t.Errorf("it took %v", took)
	}
	r, parts := read(t, o.Out)
	if p := parts["step-1b-cola-recompute"]; r.Complete || p.Reason != "broken off" || parts["step-1b-full"].State != StateOK {
		t.Errorf("complete %v, %+v", r.Complete, p)
	}
}

func TestNCCL(t *testing.T) {
	for value, want := range map[string]bool{"2.30.0, /lib/libnccl.so.2": true, "2.32.3 (/x)": true, "3.0": true, "2.29.7": false, "": false, "/opt/x": false} {
		if v, lacks, ok := nccl([]finding{{"driver", "580.1", ""}, {"NCCL", value, "x"}}); ok != want || lacks != "NCCL: x" {
			t.Errorf("%q: %s, %s, %v", value, v, lacks, ok)
		}
	}
}

// What is measured adds up, also on the processor.
func TestMeasureOnProcessor(t *testing.T) {
	open := func(string) func(rank, n int) (kernels.Device, error) {
		return func(rank, n int) (kernels.Device, error) {
			return cpu.Open(cpu.Options{World: n, Rank: rank, Threads: 1})
		}
	}
	for _, s := range stepParts {
		s.dtype = experiment.FP32
		b := &bench{Options: Options{Device: experiment.DeviceCPU, Tiny: true, Open: open}}
		r, err := b.train(t.Context(), s)
		if err != nil {
			t.Errorf("%s: %v", s.name, err)
			continue
		}
		sum := r.Breakdown.Compute + r.Breakdown.Exposed + r.Breakdown.Memory + r.Breakdown.Idle
		if r.Steps != 1 || sum < r.Seconds*0.999 || sum > r.Seconds*1.001 || r.ModelFLOPs <= 0 || len(r.Operations) == 0 || !(r.Loss > 1 && r.Loss < 8) || r.MFU != nil || r.PeakMemory <= 0 {
			t.Errorf("%s: %+v", s.name, r)
		}
		var sent int64
		for _, m := range r.Messages {
			sent += m.Bytes
		}
		if (s.tp > 1) != r.Replaced || (s.tp > 1) != (sent > 0) {
			t.Errorf("%s: %d bytes of messages, replaced %v", s.name, sent, r.Replaced)
		}
	}
	if _, err := Measure(t.Context(), "nothing", Options{}); err == nil || !strings.Contains(err.Error(), fmt.Sprint(PartElements)) {
		t.Errorf("%v", err)
	}
}

// A part that is ok has a result that says something.
func TestResultsThatSayNothing(t *testing.T) {
	for _, name := range []string{PartVersions, PartTwoRanks, PartKernels, PartMemcheck} {
		p := Part{Name: name, State: StateOK, Result: []byte("{}")}
		if err := p.check(); err == nil || !strings.Contains(err.Error(), "its result") {
			t.Errorf("%s: %v", name, err)
		}
	}
}
