package e2e

import (
	"math"
	"testing"
)

// acceptance is the experiment that must give the same losses wherever it runs.
var acceptance = []string{"--size", "tiny", "--variant", "cola", "--scheme", "btp", "--tp", "2", "--dp", "2", "--steps", "30"}

// places are the ways onto two nodes.
var places = map[string][]string{
	"slurm": {"--where", "slurm", "--nodes", "2"},
	"ssh":   {"--where", "ssh", "--hosts", "node1,node2", "--nodes", "2"},
}

// lossTolerance is how far apart the same sum of float32 may be when other ranks add it up first.
const lossTolerance = 5e-5

func TestSameLossesOnTwoNodes(t *testing.T) {
	t.Parallel()
	p := newProgram(t)
	_, one := p.run(acceptance...)
	want := p.losses(one.Dir, 0)
	if one.State != "finished" || len(want) != 30 {
		t.Fatalf("on one host: %s, %d steps: %s", one.State, len(want), one.Cause)
	}
	for name, where := range places {
		r, two := p.run(append(where, acceptance...)...)
		got := p.losses(two.Dir, 0)
		if r.code != 0 || two.State != "finished" || len(got) != len(want) {
			t.Errorf("%s: exit %d, %s with %d steps: %s\n%s", name, r.code, two.State, len(got), two.Cause, r.errs)
			continue
		}
		for i := range want {
			if math.Abs(got[i]-want[i]) > lossTolerance {
				t.Errorf("%s, step %d: loss %v, on one host %v", name, i+1, got[i], want[i])
			}
		}
		if v := p.show("node3", two.ID); v.State != "finished" || len(v.Hosts) != 2 {
			t.Errorf("%s: node3 sees it %s on %v", name, v.State, v.Hosts)
		}
		p.gone(t, goneWithin)
		p.recordHolds(two.Dir, 4)
	}
}
