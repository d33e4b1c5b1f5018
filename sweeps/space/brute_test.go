package space

import (
	"errors"
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"boost-tui/experiment"
	"boost-tui/planner"
)

// rule is an expression and the same in Go.
type rule struct {
	text  string
	holds func(experiment.Experiment) bool
}

var rules = []rule{
	{"variant != 'full'", func(e experiment.Experiment) bool { return e.Model.Variant != "full" }},
	{"scheme == \"btp\"", func(e experiment.Experiment) bool { return e.Parallel.Scheme == "btp" }},
	{"scheme in ['btp', 'vanilla']", func(e experiment.Experiment) bool { return e.Parallel.Scheme != "full-rank" }},
	{"tp > 1", func(e experiment.Experiment) bool { return e.Parallel.TP > 1 }},
	{"rank * 4 <= d", func(e experiment.Experiment) bool { return e.Model.Rank*4 <= e.Model.D }},
	{"rank_mlp >= rank_attn or tp == 2", func(e experiment.Experiment) bool { return e.Model.RankMLP >= e.Model.RankAttn || e.Parallel.TP == 2 }},
	{"grouping and not sp", func(e experiment.Experiment) bool { return e.Step.Grouping && !e.Parallel.SP }},
	{"lr < 2e-3", func(e experiment.Experiment) bool { return e.Train.LR < 2e-3 }},
	{"seed % 2 == 1", func(e experiment.Experiment) bool { return e.Train.Seed%2 == 1 }},
	{"size == 'tiny' || micro_batch in 1..2", func(e experiment.Experiment) bool {
		return e.Model.Size == "tiny" || e.Step.MicroBatch >= 1 && e.Step.MicroBatch <= 2
	}},
	{"keep_silu == (variant != 'cola')", func(e experiment.Experiment) bool { return (e.Model.KeepSiLU == "on") == (e.Model.Variant != "cola") }},
	{"d / heads > 40", func(e experiment.Experiment) bool { return float64(e.Model.D)/float64(e.Model.Heads) > 40 }},
}

// pool is what random axes and settings are drawn from.
var pool = [][]string{
	{"scheme", "btp", "vanilla", "btp", "vanilla", "full-rank", "auto"}, {"variant", "cola", "svd", "full", "cola", "lax", "loro", "relora", "sltrain"}, {"tp", "1", "2", "4", "1", "2", "3", "8"},
	{"rank", "auto", "16", "32", "64", "200"}, {"rank-attn", "auto", "16", "32"}, {"rank-mlp", "16", "32"}, {"norm", "online", "sync"}, {"grouping", "on", "off", "true"},
	{"size", "tiny", "tiny", "60m"}, {"micro-batch", "auto", "1", "2", "8"}, {"seed", "1", "2", "3"}, {"lr", "1e-3", "0.001", "3e-3"}, {"steps", "10", "20", "15", "0"},
	{"stop-after", "0", "5", "10", "50"}, {"keep-silu", "on", "off", "auto"}, {"recompute", "none", "none", "low-rank"}, {"account", "a", "b"}, {"sp", "off", "off", "on"},
	{"lax-gate", "auto", "identity", "vector"}, {"loro-every", "auto", "500", "7"}, {"sltrain-delta", "auto", "0.03", "0.5"}, {"dp", "1", "2"}, {"pp", "1", "2", "3"}, {"zero", "0", "1"},
	{"link", "none", "bw=1GB/s", "bw=1000MB/s"}, {"accumulate", "1", "2"}, {"keep-last", "2", "3"},
}

// draw is a random space: its axes and constraints with their rules in Go.
type draw struct {
	spec    Spec
	whens   []*rule
	demands []rule
	machine planner.Machine
}

func random(rng *rand.Rand) draw {
	var d draw
	combos := 1
	for _, i := range rng.Perm(len(pool))[:1+rng.IntN(5)] {
		a, when := randomAxis(rng, pool[i])
		if rng.IntN(12) == 0 {
			a.Keys, a.Values, a.Text = []string{"d", "ff"}, [][]string{{"128", "352"}, {"256", "704"}, {"130", "352"}}[:1+rng.IntN(3)], ""
		}
		if slices.ContainsFunc(d.spec.Axes, func(b Axis) bool { return b.Keys[0] == a.Keys[0] }) || combos*len(a.Values) > 120 {
			continue
		}
		combos *= len(a.Values)
		d.spec.Axes, d.whens = append(d.spec.Axes, a), append(d.whens, when)
	}
	for range rng.IntN(4) {
		p := pool[rng.IntN(len(pool))]
		d.spec.Set = append(d.spec.Set, Assign{p[0], p[1+rng.IntN(min(2, len(p)-1))]})
	}
	for range rng.IntN(3) * rng.IntN(2) * rng.IntN(2) {
		r := rules[rng.IntN(len(rules))]
		d.demands, d.spec.Constraints = append(d.demands, r), append(d.spec.Constraints, r.text)
	}
	if !slices.ContainsFunc(d.spec.Axes, func(a Axis) bool { return a.Keys[0] == "seed" }) {
		d.spec.Repeats = rng.IntN(4)
	}
	d.spec.Twins = rng.IntN(2) == 0
	d.machine.MemBytes = []int64{0, 1 << 40, 80 << 20, 1 << 30}[rng.IntN(4)]
	d.machine.Cores = rng.IntN(3)
	return d
}

func randomAxis(rng *rand.Rand, from []string) (a Axis, when *rule) {
	a.Keys = from[:1]
	for range 1 + rng.IntN(len(from)) {
		a.Values = append(a.Values, []string{from[1+rng.IntN(len(from)-1)]})
	}
	if rng.IntN(4) == 0 {
		when = &rules[rng.IntN(len(rules))]
		a.When = when.text
	}
	return a, when
}

// brute is what Expand must give, found by looking at every tuple of values.
type brute struct {
	t                     *testing.T
	d                     draw
	base                  experiment.Experiment
	raw, excluded, merged int
	removed               []int
	points                []solution
	pruned                []solution
	judged                map[string]bool
}

// solution is a point or what was pruned.
type solution struct {
	same    string // equal for what runs the same
	tuple   []Assign
	e       experiment.Experiment
	twin    bool
	why     experiment.Violation
	full    string
	vanilla string
}

// canon tells what runs the same by the documented rules, written down once more.
func canon(e experiment.Experiment) string {
	skip := map[string]bool{"name": true, "tags": true, "size": true}
	if r := e.Model.Rank; r >= 1 && r <= 65536 {
		skip["rank"] = true
	}
	skip["norm"] = e.Parallel.Scheme != "btp"
	var b strings.Builder
	for _, k := range experiment.Keys() {
		v := e.Get(k.Name)
		if k.Name == "stop-after" && e.Train.StopAfter >= e.Train.Steps && e.Train.Steps > 0 {
			v = "0"
		}
		if k.Name == "recompute" && v == "low-rank" && e.Parallel.Scheme == "full-rank" {
			v = "none"
		}
		if !skip[k.Name] {
			b.WriteString(k.Name + "=" + v + " ")
		}
	}
	return b.String()
}

func (b *brute) apply(e experiment.Experiment, set []Assign) experiment.Experiment {
	for _, a := range set {
		if err := e.Set(a.Key, a.Value); err != nil {
			b.t.Fatal(err)
		}
	}
	return e
}

func (b *brute) resolve(e experiment.Experiment) experiment.Experiment {
	r, err := e.Resolve()
	if err != nil {
		b.t.Fatal(err)
	}
	return r
}

// run looks at every tuple of all axes. An axis that is not there counts once, with its first value.
func (b *brute) run() {
	b.judged, b.removed = map[string]bool{}, make([]int, len(b.d.demands))
	b.base = b.apply(experiment.Default(), b.d.spec.Set)
	axes, whens := slices.Clone(b.d.spec.Axes), slices.Clone(b.d.whens)
	if n := b.d.spec.Repeats; n > 1 {
		a := Axis{Keys: []string{"seed"}}
		for i := range n {
			a.Values = append(a.Values, []string{fmt.Sprint(b.base.Train.Seed + uint64(i))})
		}
		axes, whens = append(axes, a), append(whens, nil)
	}
	total := 1
	for _, a := range axes {
		total *= len(a.Values)
	}
	for n := range total {
		digits := make([]int, len(axes))
		for i, rest := len(axes)-1, n; i >= 0; i-- {
			digits[i], rest = rest%len(axes[i].Values), rest/len(axes[i].Values)
		}
		if tuple, ok := b.tuple(axes, whens, digits); ok {
			b.combination(tuple)
		}
	}
	b.twins()
}

func (b *brute) tuple(axes []Axis, whens []*rule, digits []int) (tuple []Assign, ok bool) {
	for i, a := range axes {
		if whens[i] != nil && !whens[i].holds(b.resolve(b.apply(b.base, tuple))) {
			if digits[i] != 0 {
				return nil, false
			}
			continue
		}
		for j, k := range a.Keys {
			tuple = append(tuple, Assign{k, a.Values[digits[i]][j]})
		}
	}
	return tuple, true
}

func (b *brute) combination(tuple []Assign) {
	b.raw++
	e := b.resolve(b.apply(b.base, tuple))
	out := false
	for i, r := range b.d.demands {
		if !r.holds(e) {
			b.removed[i]++
			out = true
		}
	}
	switch s := (solution{same: canon(e), tuple: tuple, e: e}); {
	case out:
		b.excluded++
	case b.judged[s.same]:
		b.merged++
	default:
		b.judge(s)
	}
}

func (b *brute) judge(s solution) {
	b.judged[s.same] = true
	if v, bad := verdict(s.e, b.d.machine); bad {
		s.why = v
		b.pruned = append(b.pruned, s)
	} else {
		b.points = append(b.points, s)
	}
}

// verdicts remembers what was said of an experiment.
var verdicts = map[string]experiment.Violation{}

// verdict is the first rule that an experiment breaks, its memory as a plan has it.
func verdict(e experiment.Experiment, m planner.Machine) (experiment.Violation, bool) {
	key := fmt.Sprint(m.MemBytes, string(e.TOML()))
	v, known := verdicts[key]
	if !known {
		warning := func(v experiment.Violation) bool { return v.Warning }
		if all := slices.DeleteFunc(e.Broken(experiment.Machine{}), warning); len(all) > 0 {
			v = all[0]
		} else if p, err := planner.New(e, m); err != nil || !p.Fits {
			v = experiment.Violation{Key: "size", Rule: experiment.RuleMemory, Reason: "the run needs"}
		}
		verdicts[key] = v
	}
	return v, v.Key != ""
}

// twins adds the twins of every point, then points every point at those that are there.
func (b *brute) twins() {
	own := len(b.points)
	for i := 0; b.d.spec.Twins && i < len(b.points); i++ {
		for _, tw := range b.twinsOf(b.points[i]) {
			if !b.judged[tw.same] {
				b.judge(tw)
			}
		}
	}
	there := map[string]bool{}
	for _, p := range b.points {
		there[p.same] = true
	}
	for i := range b.points {
		p := &b.points[i]
		for _, tw := range append(b.twinsOf(*p), *p) {
			switch {
			case !there[tw.same]:
			case tw.e.Model.Variant == "full":
				p.full = tw.same
			case tw.e.Parallel.Scheme == "vanilla":
				p.vanilla = tw.same
			}
		}
	}
	b.points = append(slices.Clone(b.points[own:]), b.points[:own]...)
}

func (b *brute) twinsOf(p solution) []solution {
	if p.e.Model.Variant == "full" {
		return nil
	}
	make := func(values map[string]string) solution {
		e := b.apply(b.base, p.tuple)
		for k, v := range values {
			if err := e.Set(k, v); err != nil {
				b.t.Fatal(err)
			}
		}
		r := b.resolve(e)
		return solution{same: canon(r), tuple: p.tuple, e: r, twin: true}
	}
	out := []solution{make(map[string]string{"variant": "full", "scheme": "full-rank", "rank": "auto", "rank-attn": "auto", "rank-mlp": "auto", "keep-silu": "auto"})}
	if p.e.Parallel.Scheme == "btp" {
		out = append(out, make(map[string]string{"scheme": "vanilla"}))
	}
	return out
}

// compare holds the expansion against the brute force.
func (b *brute) compare(x *Expansion) error {
	switch {
	case x.Raw != b.raw, x.Excluded != b.excluded, x.Merged != b.merged:
		return fmt.Errorf("raw %d excluded %d merged %d, want %d %d %d", x.Raw, x.Excluded, x.Merged, b.raw, b.excluded, b.merged)
	case len(x.Points) != len(b.points), len(x.Pruned) != len(b.pruned):
		return fmt.Errorf("%d points and %d pruned, want %d and %d", len(x.Points), len(x.Pruned), len(b.points), len(b.pruned))
	}
	for i, r := range x.Removed {
		if r.Points != b.removed[i] {
			return fmt.Errorf("%s removes %d, want %d", r.Constraint, r.Points, b.removed[i])
		}
	}
	same, labels, ids, twins := map[string]string{"": ""}, map[string]bool{}, map[string]bool{}, 0
	for i, p := range x.Points {
		e, err := p.Experiment(x.Base)
		want := b.points[i]
		if err != nil || canon(e) != want.same || p.Twin != want.twin || p.ID != ID(e) || p.Ranks != e.World() || p.Steps < 1 || p.FLOPs <= 0 {
			return fmt.Errorf("point %+v is %s, want %s twin %v (%v)", p, canon(e), want.same, want.twin, err)
		}
		if labels[p.Label] || ids[p.ID] || p.Label == "" {
			return fmt.Errorf("point %+v is there twice", p)
		}
		same[p.ID], labels[p.Label], ids[p.ID] = want.same, true, true
		if p.Twin {
			twins++
		}
	}
	for i, p := range x.Points {
		if want := b.points[i]; same[p.Full] != want.full || same[p.Vanilla] != want.vanilla {
			return fmt.Errorf("point %+v: twins %q and %q, want %q and %q", p, same[p.Full], same[p.Vanilla], want.full, want.vanilla)
		}
	}
	for i, p := range x.Pruned {
		if want := b.pruned[i]; p.Rule != want.why.Rule || !strings.Contains(p.Reason, strings.Split(want.why.Reason, "; ")[0]) || p.Point == "" || strings.HasSuffix(p.Point, " (twin)") != want.twin {
			return fmt.Errorf("pruned %+v, want %v", p, want.why)
		}
	}
	if twins != x.Twins {
		return fmt.Errorf("%d twins, want %d", x.Twins, twins)
	}
	return nil
}

// On 1,000 random spaces, expansion equals a brute-force enumeration with filters.
func TestExpansionEqualsBruteForce(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 11))
	var points, pruned, memory, merged, excluded, twins, empty int
	for n := range 1000 {
		d := random(rng)
		b := brute{t: t, d: d}
		b.run()
		x, err := Expand(t.Context(), d.spec, d.machine)
		var se *SpaceError
		if len(b.points) == 0 && errors.As(err, &se) && x != nil {
			empty++
		} else if err != nil {
			t.Fatalf("space %d: %v\n%s", n, err, File{Spec: d.spec}.TOML())
		}
		if err := b.compare(x); err != nil {
			t.Fatalf("space %d on %+v: %v\n%s", n, d.machine, err, File{Spec: d.spec}.TOML())
		}
		for _, p := range x.Pruned {
			if p.Rule == experiment.RuleMemory {
				memory++
			}
		}
		points, pruned, merged, excluded, twins = points+len(x.Points), pruned+len(x.Pruned), merged+x.Merged, excluded+x.Excluded, twins+x.Twins
	}
	t.Logf("%d points, %d of them twins, %d pruned, %d of them by memory, %d merged, %d excluded, %d spaces empty", points, twins, pruned, memory, merged, excluded, empty)
	if points < 3000 || twins < 300 || pruned < 2000 || memory < 200 || merged < 3000 || excluded < 1000 || empty < 20 {
		t.Error("the random spaces leave something out")
	}
}
