package main

import (
	"fmt"
	"math"
	"os"
	"path/filepath"
	"strings"
	"testing"

	"boost-tui/profiler/record"
	"boost-tui/runner"
	"boost-tui/runner/protocol"
)

// Runs whose agents take themselves for those of two hosts: each has an address of its own, and memory that only its
// ranks share. Groups lie within a host or across, whichever way the mesh has it.

func TestTwoHostsTrainTheSame(t *testing.T) {
	for _, mesh := range [][]string{{"--tp", "2"}, {"--tp", "4"}, {"--dp", "2"}, {"--pp", "2"}, {"--tp", "2", "--dp", "2", "--zero", "1"}, {"--tp", "2", "--pp", "2"}} {
		t.Run(strings.Join(mesh, " "), func(t *testing.T) {
			p := newProgram(t)
			args := append([]string{"run", "--size", "tiny", "--layers", "2", "--seq", "32", "--micro-batch", "2", "--accumulate", "2", "--steps", "12", "--json"}, mesh...)
			var one, two runResult
			oneJSON(t, p.want(exitOK, args...).stdout, &one)
			t.Setenv(runner.EnvTestHosts, "2")
			oneJSON(t, p.want(exitOK, args...).stdout, &two)
			if two.State != "finished" || one.LossLast == nil || two.LossLast == nil || math.Abs(*one.LossLast-*two.LossLast) > 5e-5 || *one.CommBytesPerStep != *two.CommBytesPerStep {
				t.Errorf("one host: %+v\ntwo: %+v", one.Summary, two.Summary)
			}
			a, b := losses(t, one.Dir), losses(t, two.Dir)
			for i := range a {
				if math.Abs(a[i]-b[i]) > 5e-5 {
					t.Errorf("step %d: %v on one host, %v on two", i+1, a[i], b[i])
				}
			}
			v := p.view(two.Dir)
			if len(v.Hosts) != 2 || len(v.Ranks) != 0 {
				t.Errorf("hosts %v, exit records %v", v.Hosts, v.Ranks)
			}
			if _, err := os.Stat(filepath.Join(two.Dir, protocol.MeetFile)); err == nil {
				t.Error("the secret of the run is still there")
			}
			p.gone(two.Dir)
		})
	}
}

func losses(t *testing.T, dir string) (out []float64) {
	t.Helper()
	steps, err := record.LastSteps(record.StepsPath(dir, 0), 1000)
	if err != nil || len(steps) != 12 {
		t.Fatalf("%d steps, %v", len(steps), err)
	}
	for _, l := range steps {
		out = append(out, l.Loss)
	}
	return out
}

// A rank that is killed on either host is named, and nothing of the run is left on either.
func TestKilledRankOfTwoHostsIsNamed(t *testing.T) {
	for _, rank := range []int{0, 1} {
		t.Setenv(runner.EnvTestHosts, "2")
		f := newProgram(t).foreground()
		f.kill("rank", fmt.Sprintf("--rank %d", rank))
		code, said := f.ended()
		f.gone(f.dir)
		if code != exitFailed || said.State != "failed" || !strings.Contains(said.Cause, fmt.Sprintf("rank %d", rank)) || !strings.Contains(said.Cause, "SIGKILL") {
			t.Errorf("exit %d, state %q: %s", code, said.State, said.Cause)
		}
	}
}

// The death of an agent takes the ranks of its host with it, and so those of the other.
func TestKilledAgentOfTwoHosts(t *testing.T) {
	t.Setenv(runner.EnvTestHosts, "2")
	f := newProgram(t).foreground()
	f.kill("agent", "--host-name 127.0.0.2 --foreground")
	code, said := f.ended()
	f.gone(f.dir)
	if code != exitFailed || said.State != "failed" || !strings.Contains(said.Cause, "agent") {
		t.Errorf("exit %d, state %q: %s", code, said.State, said.Cause)
	}
}
