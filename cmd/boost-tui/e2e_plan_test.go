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
