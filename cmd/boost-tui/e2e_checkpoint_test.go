package main

import (
	"encoding/json"
	"math"
	"os"
	"path/filepath"
	"strings"
	"syscall"
	"testing"
	"time"
)

// ended is what the JSON of run and show says of a run.
type ended struct {
	ID         string
	LossLast   float64 `json:"loss_last"`
	Evaluation struct{ Step int }
	Resumed    struct {
		Run  string
		Step int
	}
}

func endedOf(t *testing.T, text string) (v ended) {
	t.Helper()
	if err := json.Unmarshal([]byte(text), &v); err != nil {
		t.Fatalf("%v: %s", err, text)
	}
	return v
}

// TestResumeEndToEnd: a run goes on from where another one stopped, on other ranks, says so, and reaches the loss of one that never stopped.
func TestResumeEndToEnd(t *testing.T) {
	p := newProgram(t)
	whole := endedOf(t, p.want(0, shortRun("--steps", "60", "--json")...).stdout)
	first := endedOf(t, p.want(0, shortRun("--steps", "60", "--stop-after", "30", "--json")...).stdout)
	second := endedOf(t, p.want(0, "run", "--resume", first.ID, "--tp", "1", "--json").stdout)
	if d := math.Abs(second.LossLast - whole.LossLast); d > 5e-5 {
		t.Errorf("loss %v after going on, %v without a stop", second.LossLast, whole.LossLast)
	}
	if v := endedOf(t, p.want(0, "show", second.ID, "--json").stdout); v.Resumed.Run != first.ID || v.Resumed.Step != 30 {
		t.Errorf("%+v", v)
	}
	resumes := filepath.Join(p.runs, first.ID, "ckpt", "step-30")
	if got, want := strings.Join(p.view(filepath.Join(p.runs, second.ID)).Command, " "), "boost-tui run --tp 1 --resume "+resumes; got != want {
		t.Errorf("show gives %s, want %s", got, want)
	}
	var plan struct {
		Experiment struct{ Step struct{ Seq int } }
	}
	oneJSON(t, p.want(0, "plan", "--resume", first.ID, "--json").stdout, &plan)
	if got := plan.Experiment.Step.Seq; got != 32 {
		t.Errorf("plan --resume plans seq %d, the checkpoint's is 32", got)
	}
	out := filepath.Join(t.TempDir(), "m.safetensors")
	for _, c := range []struct {
		args []string
		want string
	}{
		{[]string{"run", "--resume", first.ID, "--d", "64"}, "d is 64, the checkpoint's 128"},
		{[]string{"run", "--resume", first.ID, "--rank", "16"}, "rank is 16, the checkpoint's 32"},
		{[]string{"run", "--resume", first.ID, "--size", "60m"}, "size is 60m, the checkpoint's tiny"},
		{[]string{"run", "--resume", first.ID, "--stop-after", "30"}, "stop-after would end the run after step 30: raise stop-after"},
		{[]string{"plan", "--resume", first.ID, "--rank", "16"}, "rank is 16, the checkpoint's 32"},
		{[]string{"plan", "--init-from", "/nonexistent"}, "/nonexistent is not a run"},
		{[]string{"plan", "--init-from", "missing.safetensors"}, "init-from missing.safetensors: the file is not there: stat "},
		{[]string{"plan", "--init-from", "nosuch"}, "; nor is there a file of that name"},
		{[]string{"run", "--resume", first.ID + "@x"}, `behind an @ stands the step of a checkpoint, a whole number, and "x" is none`},
		{[]string{"run", "--resume", first.ID + "@7"}, "has no checkpoint of step 7; there are those of [30]"},
		{[]string{"run", "--resume", whole.ID}, "of step 60, and the run would end after step 60: raise steps"},
		{[]string{"run", "--resume", "nothing"}, `no run "nothing"`},
		{shortRun("--init-from", first.ID, "--vocab", "512"), "vocab is 512, the checkpoint's 256"},
		{[]string{"export", first.ID, "--weights", out}, "--factors"},
	} {
		if r := p.run(c.args...); r.code != 2 || !strings.Contains(r.err, c.want) {
			t.Errorf("%v: exit %d, %s; want %q", c.args, r.code, r.err, c.want)
		}
	}
	p.want(0, "export", first.ID, "--weights", out, "--factors")
	if _, err := os.Stat(filepath.Join(filepath.Dir(out), "config.json")); err != nil {
		t.Error(err)
	}
	p.want(2, "export", first.ID, "--weights", out, "--factors")
	p.want(0, shortRun("--steps", "2", "--init-from", out)...)
	if v := endedOf(t, p.want(0, shortRun("--steps", "4", "--eval-every", "2", "--json")...).stdout); v.Evaluation.Step != 4 {
		t.Errorf("%+v", v)
	}
}

// TestInterruptLeavesACheckpoint: whoever ends a run in front lets it save.
func TestInterruptLeavesACheckpoint(t *testing.T) {
	p := newProgram(t)
	cmd := p.command(shortRun("--steps", endless)...)
	if err := cmd.Start(); err != nil {
		t.Fatal(err)
	}
	for range 200 { // until it trains
		if done, err := filepath.Glob(filepath.Join(p.runs, "*", "steps", "r00000.jsonl")); err == nil && len(done) > 0 {
			break
		}
		time.Sleep(50 * time.Millisecond)
	}
	time.Sleep(300 * time.Millisecond)
	if err := cmd.Process.Signal(syscall.SIGINT); err != nil {
		t.Fatal(err)
	}
	_ = cmd.Wait() // 130
	left, err := filepath.Glob(filepath.Join(p.runs, "*", "ckpt", "*"))
	if err != nil || len(left) != 1 || !strings.HasPrefix(filepath.Base(left[0]), "step-") {
		t.Errorf("%v, %v", left, err)
	}
}
