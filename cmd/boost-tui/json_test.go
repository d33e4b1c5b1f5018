package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"boost-tui/profiler/compare"
	"boost-tui/trainer/golden"
)

// members lists the names that a JSON object must have; "a.b" is b inside a.
func members(t *testing.T, what, text string, names ...string) {
	t.Helper()
	var v any
	oneJSON(t, text, &v)
	for _, name := range names {
		at := v
		for _, part := range strings.Split(name, ".") {
			m, ok := at.(map[string]any)
			if !ok {
				t.Errorf("%s: %s is not in an object", what, name)
				break
			}
			if at, ok = m[part]; !ok {
				t.Errorf("%s: no member %s in %s", what, name, text)
				break
			}
		}
	}
}

func TestPlanJSON(t *testing.T) {
	r := try(t, "plan", "--size", "7b", "--variant", "cola", "--scheme", "btp", "--tp", "4", "--micro-batch", "4", "--seq", "4096", "--json")
	if r.code != exitOK || r.err != "" {
		t.Fatalf("exit %d, %s", r.code, r.err)
	}
	members(t, "plan", r.stdout, "parameters", "fits", "notes", "memory.weights", "memory.gradients", "memory.optimizer", "memory.activations",
		"memory.logits", "memory.buffers", "memory.total", "block.forward.collectives", "block.forward.elements", "block.backward.elements",
		"block.flops", "block.arithmetic_intensity")
	var p planResult
	oneJSON(t, r.stdout, &p)
	const rows, rank = 4 * 4096, 1024
	if got, want := p.Block.Forward.Elements, int64(7*rows*rank+2*rows); got != want {
		t.Errorf("a block sends %d elements forward, want 7bsr + 2bs = %d", got, want)
	}
	if p.Fits || p.DType != "bf16" {
		t.Errorf("fits %v in %s", p.Fits, p.DType)
	}
}

func TestPlanOfWhatBreaksRules(t *testing.T) {
	r := try(t, "plan", "--tp", "3", "--heads", "5", "--json")
	if r.code != exitUsage || r.stdout != "" {
		t.Errorf("exit %d, stdout %q", r.code, r.stdout)
	}
	for _, want := range []string{"tp 3", "heads 5", "nearest"} {
		if !strings.Contains(r.err, want) {
			t.Errorf("the error does not say %q: %s", want, r.err)
		}
	}
}

func TestMoreHostsThanRanksAreRefused(t *testing.T) {
	runs := t.TempDir()
	r := try(t, "run", "--where", "ssh", "--hosts", "a,b,c", "--tp", "2", "--steps", "1", "--runs", runs)
	made, err := os.ReadDir(runs)
	if r.code != exitUsage || !strings.Contains(r.err, "3 hosts are named, and the run has 2 ranks") || len(made) > 0 || err != nil {
		t.Errorf("exit %d, %s; %v, %v", r.code, r.err, made, err)
	}
}

func TestRunThatDoesNotFitExits2(t *testing.T) {
	r := try(t, "run", "--size", "40b", "--steps", "1", "--json", "--runs", t.TempDir())
	if r.code != exitUsage || r.stdout != "" || !strings.Contains(r.err, "memory") {
		t.Errorf("exit %d, stdout %q, stderr %s", r.code, r.stdout, r.err)
	}
}

func TestVerifyJSON(t *testing.T) {
	one := try(t, "verify", "--case", "cola_base.json", "--scheme", "btp", "--tp", "2", "--json")
	members(t, "verify", one.stdout, "case", "device", "scheme", "tp", "ok", "loss_max_abs_error", "gradient_max_rel_error", "final_max_rel_error")
	many := try(t, "verify", "--case", "svd_seq1", "--scheme", "vanilla", "--json", "--norm", "online", "--grouping", "on")
	var reports []golden.Report
	oneJSON(t, many.stdout, &reports)
	if one.code != exitOK || many.code != exitOK || len(reports) < 2 {
		t.Errorf("exit %d and %d, %d reports: %s %s", one.code, many.code, len(reports), one.err, many.err)
	}
}

func TestVerifyRefusesWhatDoesNotFit(t *testing.T) {
	for _, args := range []string{"--case nonsense", "--case cola_base --scheme full-rank", "--case cola_base --tp 3", "--norm half", "--device cuda",
		"--tp 77", "--case ../../internal/house/nothing.json", "--case /nowhere/x.json"} {
		r := try(t, append([]string{"verify", "--json"}, strings.Fields(args)...)...)
		if r.code != exitUsage || r.stdout != "" || r.err == "" {
			t.Errorf("%s: exit %d, stdout %q, stderr %s", args, r.code, r.stdout, r.err)
		}
	}
}

// Whoever asks for what no case has is told why.
func TestVerifySaysWhyNoCaseFits(t *testing.T) {
	for args, want := range map[string]string{
		"--sp on --tp 1":    "sequence parallelism splits tokens over tp, which is 1",
		"--sp --scheme btp": "sequence parallelism is for scheme full-rank, not btp",
		"--zero 1":          "zero 1 slices the optimizer over dp, which is 1",
		"--dp 3":            "sequences cannot be shared by dp 3",
		"--pp 4":            "layers cannot be shared by pp 4",
		"--tp 7":            "not 7",
		"--tp 7 on":         `unknown command "on"`,
	} {
		if r := try(t, append([]string{"verify"}, strings.Fields(args)...)...); r.code != exitUsage || !strings.Contains(r.err, want) {
			t.Errorf("%s: exit %d, %s; want %q", args, r.code, r.err, want)
		}
	}
}

// Commands over one finished run: each prints one JSON value and nothing else on stdout.
func TestJSONOfTheStore(t *testing.T) {
	p := newProgram(t)
	r := p.want(exitOK, shortRun("--steps", "40", "--json")...)
	members(t, "run", r.stdout, "id", "state", "cause", "steps", "loss_first", "loss_last", "loss_mean_last_20", "step_time_median", "tokens_per_second",
		"breakdown.compute", "breakdown.comm", "breakdown.comm_exposed", "breakdown.comm_wait", "breakdown.comm_transfer", "breakdown.overlap",
		"breakdown.memory", "breakdown.idle", "comm_bytes_per_step", "peak_memory")
	var run runResult
	oneJSON(t, r.stdout, &run)
	if run.State != "finished" || run.Steps != 40 || run.Breakdown == nil {
		t.Fatalf("%s", r.stdout)
	}
	b := run.Breakdown
	// The parts are means over the ranks, the step is the slowest rank's.
	if sum, mean := *b.Compute+*b.CommExposed+*b.Memory+*b.Idle, *run.StepTimeMean; sum > mean*1.001 || sum < mean*0.7 {
		t.Errorf("the breakdown sums to %g, the mean step is %g", sum, mean)
	}
	if sum := *b.CommExposed + *b.Overlap; math.Abs(sum-*b.Comm) > 1e-6 {
		t.Errorf("exposed and overlapped communication sum to %g, communication is %g", sum, *b.Comm)
	}
	if v := p.view(run.Dir); v.Predicted == nil || v.Predicted.CommBytesPerStep != *run.CommBytesPerStep || v.Predicted.MachineBytes <= 0 {
		t.Errorf("planned %+v on this machine, communicated %d bytes per step", v.Predicted, *run.CommBytesPerStep)
	}
	to := filepath.Join(t.TempDir(), "out")
	for _, args := range [][]string{{"runs"}, {"show", run.ID}, {"logs", run.ID}, {"compare", run.ID}, {"export", run.ID, "--to", to},
		{"attach", run.ID}, {"tag", run.ID, "x"}, {"doctor"}, {"version"}, {"archive", run.ID},
		{"runs", "--archived", "--disk"}, {"rm", "--yes", run.ID}, {"runs", "--deleted"}, {"runs", "gc", "--now"}, {"runs", "undo"}, {"runs", "gc"}} {
		r := p.want(exitOK, append(args, "--json")...)
		var v json.RawMessage
		oneJSON(t, r.stdout, &v)
	}
}

func TestCompareAndExport(t *testing.T) {
	p := newProgram(t)
	var ids []string
	for _, s := range demoSchemes {
		r := p.want(exitOK, shortRun("--steps", "30", "--variant", s.variant, "--scheme", s.scheme, "--json")...)
		var run runResult
		oneJSON(t, r.stdout, &run)
		ids = append(ids, run.ID)
	}
	var table compare.Table
	oneJSON(t, p.want(exitOK, append([]string{"compare", "--json"}, ids...)...).stdout, &table)
	if table.Baseline != ids[0] || table.Vanilla != ids[1] || len(table.Rows) != 3 {
		t.Fatalf("baseline %s, vanilla %s, %d rows", table.Baseline, table.Vanilla, len(table.Rows))
	}
	for _, row := range table.Rows {
		if !row.Comparable || row.VsFull == nil || row.VsVanilla == nil {
			t.Errorf("%s: comparable %v %v, speed-ups %v %v", row.ID, row.Comparable, row.Differs, row.VsFull, row.VsVanilla)
		}
	}
	// Ids may be given by their last part, the baseline too.
	last := ids[2][strings.LastIndex(ids[2], "-")+1:]
	oneJSON(t, p.want(exitOK, "compare", "--json", ids[0], last, "--baseline", last).stdout, &table)
	if table.Baseline != ids[2] {
		t.Errorf("baseline %s, want %s", table.Baseline, ids[2])
	}
	for _, format := range []string{"table", "csv", "markdown", "json"} {
		if r := p.want(exitOK, append([]string{"compare", "--format", format}, ids...)...); !strings.Contains(r.stdout, ids[0]) {
			t.Errorf("%s does not name %s:\n%s", format, ids[0], r.stdout)
		}
	}
	p.want(exitUsage, "compare", "--format", "pdf", ids[0])

	to := filepath.Join(t.TempDir(), "out")
	files := strings.Fields(p.want(exitOK, append([]string{"export", "--to", to}, ids...)...).stdout)
	if len(files) != 6 {
		t.Errorf("files %v", files)
	}
	if r := p.run(append([]string{"export", "--to", to}, ids...)...); r.code != exitUsage || !strings.Contains(r.err, "--force") {
		t.Errorf("export over what is there: exit %d, %s", r.code, r.err)
	}
	p.want(exitOK, append([]string{"export", "--force", "--to", to}, ids...)...)
}

func TestDoctorText(t *testing.T) {
	r := try(t, "doctor", "--runs", t.TempDir())
	for _, want := range []string{"processor", "matrix products", "GPUs", "runs"} {
		if !strings.Contains(r.stdout, want) {
			t.Errorf("doctor does not speak of %s:\n%s", want, r.stdout)
		}
	}
}
