package trainer

import (
	"strings"
	"testing"

	"boost-tui/experiment"
	"boost-tui/kernels"
	"boost-tui/kernels/cpu"
	"boost-tui/kernels/record"
	"boost-tui/planner"
	"boost-tui/runner/protocol"
	"boost-tui/step"
	"boost-tui/trainer/mesh"
)

// saves is how many bytes a rank copies for a checkpoint, as the saver lays them out.
func saves(t *testing.T, e experiment.Experiment, m mesh.Mesh, n int, dev kernels.Device) int64 {
	t.Helper()
	at, err := m.Coordinate(n)
	if err != nil {
		t.Fatal(err)
	}
	var g step.Groups
	for _, a := range []struct {
		size int
		axis mesh.Axis
		to   *kernels.Comm
	}{{m.TP, mesh.TP, &g.TP}, {m.DP, mesh.DP, &g.DP}, {m.PP, mesh.PP, &g.PP}} {
		if a.size == 1 {
			continue
		}
		if *a.to, err = dev.Join(t.Context(), kernels.UID{}, a.size, at.Along(a.axis), a.axis.String()); err != nil {
			t.Fatal(err)
		}
	}
	s, err := step.New(step.ConfigOf(e), dev, g)
	if err != nil {
		t.Fatal(err)
	}
	if e.World() == 1 {
		err = s.Model().Initialize(t.Context()) // draws supports
	}
	if err != nil {
		t.Fatal(err)
	}
	r := &rank{spec: protocol.RankSpec{Rank: n, World: e.World(), Experiment: e}, mesh: m}
	v, err := r.newSaver(s)
	if err != nil {
		t.Fatal(err)
	}
	defer v.close(false)
	return v.layout.Bytes()
}

// The copies that are planned are those that ranks make, to the byte; without checkpoints there are none.
func TestCopiesArePlanned(t *testing.T) {
	for _, words := range []string{"", "tp=2", "tp=2 scheme=vanilla", "variant=full tp=2", "dp=2", "dp=3 zero=1", "tp=2 dp=2 zero=1 scheme=vanilla", "pp=2 tp=2 dp=2 zero=1",
		"variant=relora tp=2 dp=2 zero=1", "variant=lax lax-gate=dense pp=2", "variant=loro tp=2", "device=emulated dtype=bf16 tp=2", "device=emulated dtype=bf16 tp=2 dp=3 zero=1",
		"device=emulated dtype=bf16 variant=relora dp=2 zero=1"} {
		set := map[string]string{"accumulate": "6"}
		for _, kv := range strings.Fields(words) {
			k, v, _ := strings.Cut(kv, "=")
			set[k] = v
		}
		if set["variant"] == "full" {
			set["rank"] = "auto"
		}
		e := small(t, set)
		p := planned(t, e)
		m := mesh.Mesh{TP: e.Parallel.TP, DP: e.Parallel.DP, PP: e.Parallel.PP}
		all := int64(0)
		for n := range e.World() {
			bytes := saves(t, e, m, n, record.New(record.Options{}))
			if all += bytes; n == p.Stage*m.TP*m.DP && bytes != p.Memory.Checkpoint {
				t.Errorf("%q: planned a copy of %d bytes, a rank makes one of %d", words, p.Memory.Checkpoint, bytes)
			}
		}
		e.Train.KeepLast = 0
		without := planned(t, e)
		if without.Memory.Checkpoint != 0 || p.NeedBytes-without.NeedBytes != all {
			t.Errorf("%q: checkpoints are planned to take %d bytes, ranks copy %d; without them %d", words, p.NeedBytes-without.NeedBytes, all, without.Memory.Checkpoint)
		}
	}
}

// Where a sparse matrix's elements lie is drawn: there is room for what may come, of which everything is used on one rank.
func TestCopyOfSparseIsPlanned(t *testing.T) {
	e := small(t, map[string]string{"variant": "sltrain"})
	dev, err := cpu.Open(cpu.Options{})
	if err != nil {
		t.Fatal(err)
	}
	defer dev.Close()
	if got, want := saves(t, e, mesh.One, 0, dev), planned(t, e).Memory.Checkpoint; got > want || got < want*9/10 {
		t.Errorf("a rank copies %d bytes, planned were %d", got, want)
	}
}

func planned(t *testing.T, e experiment.Experiment) *planner.Plan {
	t.Helper()
	p, err := planner.New(e, planner.Machine{})
	if err != nil {
		t.Fatal(err)
	}
	return p
}
