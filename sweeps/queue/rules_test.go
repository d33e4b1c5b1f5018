package queue

import (
	"context"
	"math"
	"strconv"
	"strings"
	"testing"
	"time"

	"boost-tui/experiment"
	"boost-tui/profiler/record"
	"boost-tui/runner"
	"boost-tui/sweeps"
)

func TestDiverged(t *testing.T) {
	series := func(n int, loss func(int) float64) *steps {
		s := followSteps(t.TempDir())
		for i := 1; i <= n; i++ {
			l := record.NewStepLine(i)
			l.Loss = loss(i)
			if math.IsNaN(l.Loss) {
				l.Flags = record.NonFinite
			}
			s.add(&l)
		}
		return s
	}
	for name, c := range map[string]struct {
		n    int
		loss func(int) float64
		want bool
	}{
		"nothing yet":     {0, nil, false},
		"falls":           {100, func(i int) float64 { return 5 / float64(i) }, false},
		"stands":          {100, func(int) float64 { return 5 }, false},
		"a little higher": {100, func(i int) float64 { return 5 + min(float64(i), 10)*0.09 }, false},
		"a peak":          {100, func(i int) float64 { return 5 + 40*math.Exp(-math.Pow(float64(i-8), 2)) }, false},
		"grows":           {40, func(i int) float64 { return 5 + float64(i) }, true},
		"grows, early":    {19, func(i int) float64 { return 5 + float64(i) }, false},
		"no number":       {3, func(i int) float64 { return [3]float64{5, 4, math.NaN()}[i-1] }, true},
	} {
		if got := series(c.n, c.loss).diverged(); (got != "") != c.want {
			t.Errorf("%s: %q", name, got)
		}
	}
}

func TestReasons(t *testing.T) {
	for _, rule := range []string{ruleDiverged, ruleSlower} {
		reason := runner.Clean(ruleReason(rule, "since: so it is") + "; its agent (process 7 on x) is gone")
		if got, ok := ruleOf(reason); !ok || got != rule {
			t.Errorf("%q: %q, %v", reason, got, ok)
		}
	}
	for _, reason := range []string{"", "by ada", interruptedReason, pausedReason, rulePrefix, rulePrefix + "boredom: x", rulePrefix + ruleSlower} {
		if rule, ok := ruleOf(reason); ok {
			t.Errorf("%q: %q", reason, rule)
		}
	}
}

// TestOutcome is what the journal keeps of ends that nobody alive remembers the reason of.
func TestOutcome(t *testing.T) {
	for name, c := range map[string]struct {
		in   runner.Info
		gone bool
		want sweeps.Attempt
	}{
		"finished":            {runner.Info{State: runner.Finished}, false, sweeps.Attempt{State: "finished"}},
		"finished, too late":  {runner.Info{State: runner.Finished, Cause: pausedReason}, false, sweeps.Attempt{State: "finished", Cause: pausedReason}},
		"interrupted":         {runner.Info{State: runner.Cancelled, Cause: interruptedReason, Fault: runner.UserFault}, false, sweeps.Attempt{State: "cancelled", Cause: interruptedReason, Again: true}},
		"paused, agent died":  {runner.Info{State: runner.Cancelled, Cause: pausedReason + "; its agent is gone", Fault: runner.UserFault}, false, sweeps.Attempt{State: "cancelled", Cause: pausedReason + "; its agent is gone", Again: true}},
		"rule":                {runner.Info{State: runner.Cancelled, Cause: ruleReason(ruleSlower, "x"), Fault: runner.UserFault}, false, sweeps.Attempt{State: "cancelled", Cause: ruleReason(ruleSlower, "x"), Rule: ruleSlower}},
		"by somebody":         {runner.Info{State: runner.Cancelled, Cause: "by ada", Fault: runner.UserFault}, false, sweeps.Attempt{State: "cancelled", Cause: "by ada"}},
		"agent told":          {runner.Info{State: runner.Cancelled, Cause: "x", Fault: runner.MachineFault}, false, sweeps.Attempt{State: "cancelled", Cause: "x", Machine: true}},
		"lost":                {runner.Info{State: runner.Lost, Cause: "x", Fault: runner.MachineFault}, false, sweeps.Attempt{State: "lost", Cause: "x", Machine: true}},
		"configuration":       {runner.Info{State: runner.Failed, Cause: "x", Fault: runner.ConfigurationFault}, false, sweeps.Attempt{State: "failed", Cause: "x"}},
		"deleted":             {runner.Info{State: runner.Lost, Fault: runner.MachineFault}, true, sweeps.Attempt{State: "cancelled", Cause: "its run was deleted"}},
		"of a newer boosttui": {runner.Info{State: runner.Lost, Cause: "x"}, false, sweeps.Attempt{State: "lost", Cause: "x"}},
	} {
		c.want.N, c.want.Run = 2, "r"
		if got := outcome(&attempt{n: 2, run: "r"}, c.in, c.gone); got != c.want {
			t.Errorf("%s: %+v, want %+v", name, got, c.want)
		}
	}
}

func TestClasses(t *testing.T) {
	a := experiment.Default()
	b := a
	b.Model.Variant, b.Model.Rank, b.Step.MicroBatch, b.Step.Seq = "full", 0, 4, 64
	if classOf(a) != classOf(b) {
		t.Error("variants of a model cannot be compared")
	}
	for name, change := range map[string]func(*experiment.Experiment){
		"d": func(e *experiment.Experiment) { e.Model.D = 256 }, "tp": func(e *experiment.Experiment) { e.Parallel.TP = 2 },
		"dtype": func(e *experiment.Experiment) { e.Step.DType = "bf16" },
	} {
		b := a
		change(&b)
		if classOf(a) == classOf(b) {
			t.Errorf("%s: compared", name)
		}
	}
}

// Runs on GPUs take no memory of the host, and share the first GPUs as far as their memory goes; what runs elsewhere takes nothing here.
func TestAdmitsByTheMemoryOfGPUs(t *testing.T) {
	const rank = 10 << 30
	made := func(device, where string, gpu int64) *preparation {
		e := experiment.Default()
		e.Step.Device, e.Where.Where, e.Parallel.TP = device, where, 2
		return &preparation{e: e, o: runner.LaunchOptions{Predicted: &runner.Predicted{MemBytes: rank, MachineBytes: 2 * gpu}}}
	}
	live := func(of ...*preparation) *engine {
		e := &engine{live: map[string]*attempt{}}
		for i, p := range of {
			e.live[strconv.Itoa(i)] = &attempt{need: needOf(p.o.Predicted, p.e), card: cardOf(p.o.Predicted, p.e)}
		}
		return e
	}
	large, small := int64(24<<30), int64(24<<30-1)
	for _, c := range []struct {
		name string
		e    *engine
		next *preparation
		want bool
	}{
		{"alone", live(), made("cuda", "local", small), true},
		{"beside another", live(made("cuda", "local", large)), made("cuda", "local", large), true},
		{"a byte lacks", live(made("cuda", "local", small)), made("cuda", "local", small), false},
		{"beside two", live(made("cuda", "", large), made("cuda", "", large)), made("cuda", "", large), false},
		{"unknown memory", live(made("cuda", "", 0)), made("cuda", "", 0), false},
		{"beside one elsewhere", live(made("cuda", "slurm", small)), made("cuda", "local", small), true},
		{"elsewhere", live(made("cuda", "local", small)), made("cuda", "slurm", small), true},
		{"processors elsewhere", live(), made("cpu", "ssh", 0), true},
	} {
		if got := c.e.admit(c.next); got != c.want {
			t.Errorf("%s: %v", c.name, got)
		}
	}
	if p := made("cpu", "local", 0); needOf(p.o.Predicted, p.e) != 2*rank || cardOf(p.o.Predicted, p.e) != 0 {
		t.Error("ranks on processors take memory of the host")
	}
}

// TestWaitsForMemory: a run that needs more than is available is not started at once, and people are told.
func TestWaitsForMemory(t *testing.T) {
	b := points(t, 1, nil)
	need := availableBytes(t) * 10
	b.o.Prepare = func(e experiment.Experiment) (experiment.Experiment, runner.LaunchOptions, error) {
		return e, runner.LaunchOptions{Predicted: &runner.Predicted{MemBytes: need}}, nil
	}
	e := &engine{memory: memory{since: time.Now().Add(-memoryPatience)}}
	if pr := (&preparation{e: experiment.Default(), o: runner.LaunchOptions{Predicted: &runner.Predicted{MemBytes: need}}}); !e.admit(pr) {
		t.Error("it waits for ever")
	}
	var told string
	b.o.Notify = func(v Event) { told = v.Text }
	ctx, cancel := context.WithTimeout(t.Context(), 3*lookEvery)
	defer cancel()
	if err := Run(ctx, b.sweep, b.o); err == nil || ctx.Err() == nil {
		t.Fatal(err)
	}
	if st := b.state(); len(st.Points[0].Attempts) != 0 || len(st.Notes) != 1 || !strings.Contains(told, "of memory") {
		t.Errorf("%d attempts, notes %+v, told %q", len(st.Points[0].Attempts), st.Notes, told)
	}
}
