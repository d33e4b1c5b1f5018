package space

import (
	"context"
	"errors"
	"strings"
	"testing"

	"boost-tui/experiment"
	"boost-tui/planner"
)

// spec reads axes and sets as the command line does.
func spec(t testing.TB, axes []string, set ...string) Spec {
	t.Helper()
	s := Spec{}
	for _, text := range axes {
		a, err := ParseAxis(text)
		if err != nil {
			t.Fatal(err)
		}
		s.Axes = append(s.Axes, a)
	}
	for _, kv := range set {
		k, v, _ := strings.Cut(kv, "=")
		s.Set = append(s.Set, Assign{k, v})
	}
	return s
}

// noMachine prunes nothing by memory.
var noMachine = planner.Machine{}

func expand(t testing.TB, s Spec) *Expansion {
	t.Helper()
	x, err := Expand(t.Context(), s, noMachine)
	if err != nil {
		t.Fatal(err)
	}
	return x
}

func labels(x *Expansion) string {
	var out []string
	for _, p := range x.Points {
		out = append(out, p.Label)
	}
	return strings.Join(out, "; ")
}

// Eight low-rank points, tp 1 vanilla and tp 1 btp being two programs, and one full-rank twin for each tp.
func TestLowRankPointsAndTheirTwins(t *testing.T) {
	s := spec(t, []string{"scheme=vanilla,btp", "tp=1,2", "rank=32,64"}, "size=tiny", "variant=cola", "steps=20")
	s.Twins = true
	x := expand(t, s)
	want := "full tp 1; full tp 2; vanilla tp 1 rank 32; vanilla tp 1 rank 64; vanilla tp 2 rank 32; vanilla tp 2 rank 64; " +
		"btp tp 1 rank 32; btp tp 1 rank 64; btp tp 2 rank 32; btp tp 2 rank 64"
	if labels(x) != want || x.Raw != 8 || x.Twins != 2 || x.Merged+x.Excluded+len(x.Pruned) != 0 {
		t.Errorf("%s\n%+v", labels(x), x)
	}
	for i, p := range x.Points {
		e, err := p.Experiment(x.Base)
		if err != nil || p.Steps != 20 || p.Ranks != e.Parallel.TP || p.Twin != (i < 2) {
			t.Errorf("%+v, %v", p, err)
		}
		full := x.Points[e.Parallel.TP-1]
		if p.Full != full.ID || full.Full != full.ID || full.Vanilla != "" {
			t.Errorf("%+v has not %s as its twin", p, full.ID)
		}
		if e.Parallel.Scheme == experiment.BTP && p.Vanilla != x.Points[i-4].ID || e.Parallel.Scheme == experiment.Vanilla && p.Vanilla != p.ID {
			t.Errorf("%+v has another vanilla twin", p)
		}
	}
}

func TestExpand(t *testing.T) {
	for _, tc := range []struct {
		name    string
		axes    []string
		set     []string
		more    Spec // constraints, repeats, twins
		raw     int
		merged  int
		pruned  int
		exclude int
		labels  string
	}{
		{"nothing", nil, nil, Spec{}, 1, 0, 0, 0, "cola btp"},
		{"repeats alone", nil, []string{"seed=5"}, Spec{Repeats: 2}, 2, 0, 0, 0, "seed 5; seed 6"},
		{"rank means nothing for full", []string{"variant=cola,full", "rank=16,32"}, nil, Spec{}, 4, 1, 0, 0, "rank 16; rank 32; full"},
		{"a condition instead", []string{"variant=cola,full", `rank=16,32 if variant != "full"`}, nil, Spec{}, 3, 0, 0, 0, "rank 16; rank 32; full"},
		{"norm is of btp", []string{"scheme=btp,vanilla", "norm=online,sync"}, nil, Spec{}, 4, 1, 0, 0, "btp norm online; btp norm sync; vanilla"},
		{"grouping is of all", []string{"variant=cola,full", "grouping=on,off"}, nil, Spec{}, 4, 0, 0, 0, "grouping on; grouping off; full grouping on; full grouping off"},
		{"two ways to say it", []string{"lr=1e-3,0.001", "rank=32,auto"}, nil, Spec{}, 4, 3, 0, 0, "lr 0.001 rank 32"},
		{"ranks said apart", []string{"rank=16,32", "rank-attn=8", "rank-mlp=8"}, nil, Spec{}, 2, 1, 0, 0, "rank 16 rank-attn 8 rank-mlp 8"},
		{"an end beyond the end", []string{"stop-after=0,5,10,20"}, []string{"steps=10"}, Spec{}, 4, 2, 0, 0, "stop-after 0; stop-after 5"},
		{"a size spelled out", []string{"size=tiny,60m", "d=128", "layers=2", "heads=4", "ff=352", "vocab=256", "rank=8", "seq=64", "micro-batch=1"}, nil, Spec{}, 2, 1, 0, 0,
			"tiny d 128 layers 2 heads 4 ff 352 vocab 256 rank 8 seq 64 micro-batch 1"},
		{"constraints", []string{"tp=1,2,4", "rank=16,32"}, nil, Spec{Constraints: []string{"tp * rank <= 64", "tp != 1"}}, 6, 0, 0, 3, "tp 2 rank 16; tp 2 rank 32; tp 4 rank 16"},
		{"what cannot run", []string{"tp=1,2,3"}, nil, Spec{}, 3, 0, 1, 0, "tp 1; tp 2"},
		{"conditions see what is before them", []string{"size=tiny,60m", "tp=1,2 if d > 128", "lr=0.1 if tp == 2"}, nil, Spec{}, 3, 0, 0, 0, "tiny; 60m tp 1; 60m tp 2 lr 0.1"},
		{"two conditions for one key", []string{"variant=cola,svd", "rank=8 if variant=='cola'", "rank=16,32 if variant=='svd'"}, nil, Spec{}, 3, 0, 0, 0, "cola rank 8; svd rank 16; svd rank 32"},
		{"seeds in constraints", []string{"seed=1..4"}, nil, Spec{Constraints: []string{"seed % 2 == 0"}}, 4, 0, 0, 2, "seed 2; seed 4"},
		{"twins of repeats", []string{"scheme=btp"}, nil, Spec{Repeats: 2, Twins: true}, 2, 0, 0, 0, "full seed 1; vanilla seed 1; full seed 2; vanilla seed 2; btp seed 1; btp seed 2"},
		{"twins that are points", []string{"variant=cola,full", "tp=1,2"}, nil, Spec{Twins: true}, 4, 0, 0, 0,
			"vanilla tp 1; vanilla tp 2; btp tp 1; btp tp 2; full tp 1; full tp 2"},
		{"twins need not meet constraints", []string{"rank=16,32"}, nil, Spec{Twins: true, Constraints: []string{"rank > 16"}}, 2, 0, 0, 1, "full; vanilla rank 32; btp rank 32"},
		{"twins that cannot run", []string{"scheme=vanilla"}, []string{"heads=2", "tp=4"}, Spec{Twins: true}, 1, 0, 1, 0, "cola vanilla"},
		{"twins open what is the variant's", []string{"rank=16"}, []string{"keep-silu=off", "rank-attn=8", "scheme=vanilla"}, Spec{Twins: true}, 1, 0, 0, 0, "full keep-silu on; rank 16"},
		{"variants and their twins", []string{"variant=lax,loro,relora,sltrain"}, nil, Spec{Twins: true}, 4, 0, 0, 0,
			"full; lax vanilla; loro vanilla; lax btp; loro btp; relora; sltrain"},
		{"what is one variant's", []string{"variant=lax,loro", "lax-gate=vector,dense", "loro-every=7,9"}, []string{"scheme=btp"}, Spec{Twins: true}, 8, 4, 0, 0,
			"full; lax vanilla lax-gate vector; lax vanilla lax-gate dense; loro vanilla loro-every 7; loro vanilla loro-every 9; lax btp lax-gate vector; lax btp lax-gate dense; loro btp loro-every 7; loro btp loro-every 9"},
		{"dimensions", []string{"dp=1,2", "pp=1,2", "zero=0,1"}, []string{"accumulate=2"}, Spec{Twins: true}, 8, 0, 2, 0,
			"full dp 1 pp 1 zero 0; vanilla dp 1 pp 1 zero 0; full dp 1 pp 2 zero 0; vanilla dp 1 pp 2 zero 0; full dp 2 pp 1 zero 0; vanilla dp 2 pp 1 zero 0; " +
				"full dp 2 pp 1 zero 1; vanilla dp 2 pp 1 zero 1; full dp 2 pp 2 zero 0; vanilla dp 2 pp 2 zero 0; full dp 2 pp 2 zero 1; vanilla dp 2 pp 2 zero 1; " +
				"btp dp 1 pp 1 zero 0; btp dp 1 pp 2 zero 0; btp dp 2 pp 1 zero 0; btp dp 2 pp 1 zero 1; btp dp 2 pp 2 zero 0; btp dp 2 pp 2 zero 1"},
		{"recomputation and a link", []string{"recompute=none,low-rank", "link=none,bw=1GB/s,bw=1000MB/s"}, []string{"tp=2", "scheme=btp"}, Spec{Twins: true}, 6, 2, 0, 0,
			"full recompute none link none; vanilla recompute none link none; full recompute none link bw=1GB/s; vanilla recompute none link bw=1GB/s; vanilla recompute low-rank link none; " +
				"vanilla recompute low-rank link bw=1GB/s; btp recompute none link none; btp recompute none link bw=1GB/s; btp recompute low-rank link none; btp recompute low-rank link bw=1GB/s"},
		{"links in conditions", []string{"tp=1,2", "link=none,bw=1GB/s if tp > 1"}, nil, Spec{Constraints: []string{"link != 'none' or tp == 1"}}, 3, 0, 0, 1, "tp 1; tp 2 link bw=1GB/s"},
		{"an overridden setting", []string{"tp=1,2"}, []string{"tp=4"}, Spec{}, 2, 0, 0, 0, "tp 1; tp 2"},
	} {
		s := spec(t, tc.axes, tc.set...)
		s.Constraints, s.Repeats, s.Twins = tc.more.Constraints, tc.more.Repeats, tc.more.Twins
		x := expand(t, s)
		if labels(x) != tc.labels || x.Raw != tc.raw || x.Merged != tc.merged || len(x.Pruned) != tc.pruned || x.Excluded != tc.exclude {
			t.Errorf("%s: raw %d merged %d pruned %v excluded %d: %s\nwant %s", tc.name, x.Raw, x.Merged, x.Pruned, x.Excluded, labels(x), tc.labels)
		}
	}
}

func TestReasons(t *testing.T) {
	s := spec(t, []string{"tp=2,3", "variant=cola,relora"}, "scheme=btp")
	s.Twins = true
	x, err := Expand(t.Context(), s, planner.Machine{MemBytes: 1 << 40, Cores: 1}) // too few cores is a warning
	if err != nil {
		t.Fatal(err)
	}
	var got []string
	for _, p := range x.Pruned {
		got = append(got, p.Point+" | "+p.Key+" | "+p.Rule+" | "+p.Reason)
	}
	golden(t, "reasons.txt", []byte(strings.Join(got, "\n")+"\n"))
}

func TestPruningByMemory(t *testing.T) {
	s := spec(t, []string{"micro-batch=1,64", "lr=1e-3,2e-3", "seed=1..3"})
	s.Twins = true
	x, err := Expand(t.Context(), s, planner.Machine{MemBytes: 200 << 20})
	if err != nil {
		t.Fatal(err)
	}
	if x.Raw != 12 || len(x.Points) != 18 || len(x.Pruned) != 6 || x.Shapes != 4 {
		t.Errorf("%d combinations, %d points, %d shapes, pruned %+v", x.Raw, len(x.Points), x.Shapes, x.Pruned)
	}
	for _, p := range x.Pruned {
		if p.Rule != experiment.RuleMemory || p.Key != "micro-batch" || !strings.Contains(p.Reason, "this machine has 200.0 MiB") || !strings.HasPrefix(p.Point, "btp micro-batch 64 lr") {
			t.Errorf("%+v", p)
		}
	}
}

// Every point is judged by the machine of its own place and device, and each of these is asked for once.
func TestPruningByTheMachineOfAPoint(t *testing.T) {
	s := spec(t, []string{"device=cpu,cuda", "tp=1,4", "micro-batch=1,64", "seed=1..3"})
	asked := map[string]int{}
	x, err := ExpandOn(t.Context(), s, func(e experiment.Experiment) planner.Machine {
		asked[e.Step.Device]++
		return planner.Machine{Name: "lab", MemBytes: 200 << 20, GPUs: 2, GPUMemBytes: 1 << 40}
	})
	if err != nil {
		t.Fatal(err)
	}
	rules := map[string]int{}
	for _, p := range x.Pruned {
		rules[p.Rule]++
	}
	if asked["cpu"] != 1 || asked["cuda"] != 1 || len(asked) != 2 {
		t.Errorf("asked %v", asked)
	}
	if rules[experiment.RuleMemory] != 6 || rules[experiment.RuleGPUs] != 6 || len(x.Pruned) != 12 || len(x.Points) != 12 {
		t.Errorf("%d points; pruned %+v", len(x.Points), x.Pruned)
	}
}

func TestEmptySpaces(t *testing.T) {
	for _, tc := range []struct {
		name string
		spec Spec
		want []string
	}{
		{"contradictory", Spec{Axes: spec(t, []string{"rank=16,32,64"}).Axes, Constraints: []string{"rank > 16", "rank <= 16", "tp == 1"}},
			[]string{"no point is left of 3 combinations", `constraint "rank > 16" is not met by 1 combination`, `constraint "rank <= 16" is not met by 2 combinations`}},
		{"nothing runs", spec(t, []string{"tp=3,5", "rank=300"}), []string{"no point is left of 2 combinations", `rule "a rank is at most the width" is broken by 2 combinations`}},
		{"mixed", Spec{Axes: spec(t, []string{"tp=3,4"}).Axes, Constraints: []string{"tp < 4"}},
			[]string{`constraint "tp < 4" is not met by 1 combination`, `rule "tp divides what it splits" is broken by 1 combination, as in: tp 3: under btp tp must divide`}},
	} {
		x, err := Expand(t.Context(), tc.spec, noMachine)
		var se *SpaceError
		if !errors.As(err, &se) || x == nil || len(x.Points) != 0 {
			t.Errorf("%s: %v", tc.name, err)
			continue
		}
		for _, want := range tc.want {
			if !strings.Contains(err.Error(), want) {
				t.Errorf("%s: %v\nwant %s", tc.name, err, want)
			}
		}
		if strings.Contains(err.Error(), "tp == 1") {
			t.Errorf("%s: a constraint that all meet is blamed: %v", tc.name, err)
		}
	}
}

func TestNotes(t *testing.T) {
	x := expand(t, spec(t, []string{"tp=1,2", "rank=3 if tp > 8"}, "tp=4", "rank=16"))
	if got := strings.Join(x.Notes, "; "); got != `set tp does not count: it is an axis; axis rank is never there: its condition "tp > 8" never holds` {
		t.Error(got)
	}
	if got := strings.Join(x.Keys, " "); got != "tp rank" {
		t.Error(got)
	}
}

func TestExpansionEndsWithItsContext(t *testing.T) {
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := Expand(ctx, spec(t, []string{"seed=1..5000"}), noMachine); !errors.Is(err, context.Canceled) {
		t.Error(err)
	}
}

// What runs does not depend on its name, and everything else makes another point.
func TestID(t *testing.T) {
	e, err := experiment.Default().Resolve()
	if err != nil {
		t.Fatal(err)
	}
	ids := map[string]string{ID(e): "itself"}
	for _, kv := range []string{"d=256", "layers=2", "heads=2", "ff=700", "vocab=300", "variant=svd", "rank=16", "rank-attn=16", "rank-mlp=16", "keep-silu=off", "norm-eps=1e-5", "rope-theta=500",
		"scheme=vanilla", "tp=2", "micro-batch=4", "accumulate=2", "seq=64", "norm=sync", "grouping=off", "steps=7", "warmup=3", "lr=1", "weight-decay=0", "beta1=0.8", "beta2=0.9", "eps=1e-6",
		"clip=0", "seed=2", "data=x", "stop-after=5", "pp=2", "dp=2", "zero=1", "link=bw=1GB/s", "recompute=low-rank", "variant=lax", "variant=loro", "eval-every=5", "keep-last=3",
		"init-from=x", "resume=x", "documents=separated", "document-token=1", "data-dtype=uint16", "update-ratio=2", "on-nonfinite=go-on"} {
		k, v, _ := strings.Cut(kv, "=")
		other := e
		if k == "rank" {
			other.Model.RankAttn, other.Model.RankMLP = 0, 0
		}
		if err := other.Set(k, v); err != nil {
			t.Fatal(err)
		}
		if other, err = other.Resolve(); err != nil {
			t.Fatal(err)
		}
		if same, there := ids[ID(other)]; there {
			t.Errorf("%s is the same as %s", kv, same)
		}
		ids[ID(other)] = kv
	}
	for _, kv := range []string{"name=x", "tags=a,b", "clip=1.0", "max-restarts=2", "lax-gate=vector", "loro-every=9", "sltrain-delta=0.5", "link=none", "keep-last=2"} {
		k, v, _ := strings.Cut(kv, "=")
		other := e
		err := other.Set(k, v)
		if err == nil {
			other, err = other.Resolve()
		}
		if err != nil || ID(other) != ID(e) {
			t.Errorf("%s makes another point (%v)", kv, err)
		}
	}
	zero, minus := e, e
	if zero.Set("lr", "0") != nil || minus.Set("lr", "-0") != nil || ID(zero) != ID(minus) {
		t.Error("-0 is not 0")
	}
	if got := ID(e); got != "08e6cdc11063014f" { // journals hold IDs, which must outlast further keys
		t.Errorf("the default experiment has ID %s", got)
	}
}
