package main

import (
	"testing"
)

// What a run counts, bytes and calls, is what plan says of the same experiment.
func TestCountedEqualsPlanned(t *testing.T) {
	p := newProgram(t)
	for _, s := range demoSchemes {
		for _, extra := range [][]string{nil, {"--accumulate", "2", "--grouping", "off", "--norm", "sync"}} {
			keys := append([]string{"--size", "tiny", "--tp", "2", "--variant", s.variant, "--scheme", s.scheme, "--device", "cpu", "--json"}, extra...)
			var run runResult
			oneJSON(t, p.want(exitOK, append([]string{"run", "--steps", "4"}, keys...)...).stdout, &run)
			var plan planResult
			oneJSON(t, p.want(exitOK, append([]string{"plan"}, keys...)...).stdout, &plan)
			if plan.DType != "fp32" || run.CommBytesPerStep == nil || *run.CommBytesPerStep != plan.StepBytes || *run.CommCallsPerStep != plan.Collectives {
				t.Errorf("%v: planned %d bytes in %d calls in %s, counted %+v", keys, plan.StepBytes, plan.Collectives, plan.DType, run.Summary)
			}
			if plan.Memory.Total != *run.PeakMemory {
				t.Errorf("%v: planned %d bytes of memory, allocated %d", keys, plan.Memory.Total, *run.PeakMemory)
			}
		}
	}
}

// What show calls planned is what the run reports, also where stages differ and where some steps are exact.
func TestReportedEqualsPlanned(t *testing.T) {
	p := newProgram(t)
	for _, keys := range [][]string{
		{"--pp", "2", "--accumulate", "2"},
		{"--pp", "2", "--accumulate", "2", "--variant", "loro", "--loro-every", "60", "--dp", "2", "--zero", "1"},
	} {
		var run runResult
		oneJSON(t, p.want(exitOK, append([]string{"run", "--layers", "2", "--seq", "32", "--micro-batch", "2", "--steps", "6", "--json"}, keys...)...).stdout, &run)
		planned := p.view(run.Dir).Predicted.CommBytesPerStep
		if run.CommBytesPerStep == nil || *run.CommBytesPerStep != planned {
			t.Errorf("%v: planned %d bytes, the run reports %+v", keys, planned, run.Summary)
		}
	}
}

// A test that leaves runs going, as one that fails does, leaves no processes.
func TestLeftRunsAreSwept(t *testing.T) {
	var runs string
	t.Run("leaves one", func(t *testing.T) {
		p := newProgram(t)
		p.want(exitOK, shortRun("--steps", endless, "--detach")...)
		p.reaches(p.onlyRun(), 1)
		runs = p.runs
	})
	if runs == "" {
		t.Skip("nothing was left")
	}
	if left := processesOf(t, runs); len(left) > 0 {
		t.Errorf("left: %v", left)
	}
}
