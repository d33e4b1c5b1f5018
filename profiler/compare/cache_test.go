package compare

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"math"
	"os"
	"path/filepath"
	"slices"
	"testing"
	"time"

	"boost-tui/experiment"
	"boost-tui/profiler/record"
	"boost-tui/profiler/stats"
)

// equal compares what two values say.
func equal(t *testing.T, what string, got, want any) {
	t.Helper()
	a, err := json.Marshal(got)
	ok(t, err)
	b, err := json.Marshal(want)
	ok(t, err)
	if string(a) != string(b) {
		t.Errorf("%s:\n got %s\nwant %s", what, a, b)
	}
}

// zoo is a store with everything that decides what a speed-up is worth: repeats, other shapes, a short run, an empty
// one, runs beside each other.
func zoo(t testing.TB, root string) []string {
	began := time.Now().Add(-10 * time.Hour)
	var dirs []string
	add := func(s spec) {
		s.id = fmt.Sprintf("%02d-%s", len(dirs), s.id)
		s.seed = uint64(len(dirs) + 1)
		if s.began.IsZero() {
			s.began = began.Add(time.Duration(len(dirs)) * 10 * time.Minute)
		}
		dirs = append(dirs, s.write(t, root))
	}
	keys := func(variant, seed string) map[string]string {
		return map[string]string{"size": "tiny", "variant": variant, "seed": seed, "tp": "2"}
	}
	for i := range 4 {
		add(spec{id: "full", variant: "full", scheme: "full-rank", steps: 150, wallNanos: 300e6, keys: keys("full", fmt.Sprint(i))})
		add(spec{id: "van", variant: "cola", scheme: "vanilla", steps: 150, wallNanos: 303e6, keys: keys("cola", fmt.Sprint(i))})
		add(spec{id: "btp", variant: "cola", scheme: "btp", steps: 150, wallNanos: 150e6 + int64(i)*1e6, keys: keys("cola", fmt.Sprint(i))})
	}
	add(spec{id: "svd", variant: "svd", scheme: "btp", steps: 150, wallNanos: 299e6, keys: keys("svd", "1")})
	add(spec{id: "big", variant: "cola", scheme: "btp", steps: 150, wallNanos: 200e6, micro: 16})
	add(spec{id: "short", variant: "svd", scheme: "btp", steps: 30, wallNanos: 200e6})
	add(spec{id: "empty", variant: "lax", scheme: "btp"})
	beside := began.Add(100 * time.Hour)
	add(spec{id: "one", variant: "lax", scheme: "btp", steps: 150, wallNanos: 200e6, began: beside})
	add(spec{id: "two", variant: "lax", scheme: "vanilla", steps: 150, wallNanos: 200e6, began: beside.Add(time.Second)})
	return dirs
}

// The same figures come out as from the table, whatever the pair, before Holm's correction and after it.
func TestPairsAreThoseOfTheTable(t *testing.T) {
	dirs := zoo(t, t.TempDir())
	var pairs []Pair
	var raw []float64 // by way of the table, one pair at a time
	var want []*Row
	for i, base := range dirs[:6] {
		table, err := Compare(dirs, Options{Baseline: base})
		ok(t, err)
		for _, cand := range dirs {
			pairs = append(pairs, Pair{base, cand})
			row := table.Rows[slices.Index(dirs, cand)]
			want = append(want, &row)
			var p *pairing
			for k := range table.pairs {
				if table.pairs[k].cand.run.Dir == cand && table.pairs[k].base.run.Dir == base {
					p = &table.pairs[k]
				}
			}
			switch back := slices.Index(dirs[:i], cand); {
			case p == nil || math.IsNaN(p.p), back >= 0: // no test, or the pair counted the other way
				raw = append(raw, math.NaN())
			default:
				raw = append(raw, stats.MannWhitney(p.base.m.kept, p.cand.m.kept))
			}
		}
	}
	holm := stats.Holm(raw)
	c := NewCache()
	for range 3 { // read, then kept
		got, err := c.Compare(t.Context(), dirs, pairs)
		ok(t, err)
		verdicts := map[string]int{}
		for i, p := range pairs {
			g, w := got.Pairs[i], want[i]
			name := filepath.Base(p.Base) + " and " + filepath.Base(p.Candidate)
			if (g.Speedup == nil) != (w.VsFull == nil) {
				t.Fatalf("%s: %v, want %v", name, g.Speedup, w.VsFull)
			}
			if g.Comparable != w.Comparable || g.LossMatches != w.LossMatches {
				t.Errorf("%s: comparable %v, %v, want %v, %v", name, g.Comparable, g.LossMatches, w.Comparable, w.LossMatches)
			}
			equal(t, name+" differ", g.Differences, w.Differences)
			equal(t, name+" differ", g.Differs, w.Differs)
			if g.Speedup == nil {
				continue
			}
			equal(t, name, [][]float64{{g.Speedup.Ratio}, g.Speedup.CI}, [][]float64{{w.VsFull.Ratio}, w.VsFull.CI})
			verdicts[g.Speedup.Verdict]++
			k := i
			if b, c := slices.Index(dirs[:6], p.Base), slices.Index(dirs[:6], p.Candidate); c >= 0 && c < b {
				k = c*len(dirs) + b
			}
			if (g.Speedup.P == nil) != math.IsNaN(holm[k]) || g.Speedup.P != nil && *g.Speedup.P != holm[k] {
				t.Errorf("%s: p %v, want %v", name, g.Speedup.P, holm[k])
			}
		}
		if verdicts["faster"] == 0 || verdicts["slower"] == 0 || verdicts["~"] == 0 || verdicts[""] == 0 {
			t.Errorf("the pairs do not show every verdict: %v", verdicts)
		}
		for i, r := range got.Runs {
			equal(t, r.ID, r.Summary, want[i].Summary)
			equal(t, r.ID+" beside", r.Overlapped, want[i].Overlapped)
		}
	}
}

// Two runs are the same to the pools when no difference says otherwise, for every key and every property.
func TestLikenessIsTheAbsenceOfDifferences(t *testing.T) {
	make := func(variant string, set ...string) *Run {
		e := experiment.Default()
		ok(t, e.Set("variant", variant))
		for i := 0; i < len(set); i += 2 {
			ok(t, e.Set(set[i], set[i+1]))
		}
		e, err := e.Resolve()
		ok(t, err)
		return &Run{Experiment: &e, Model: record.ModelShape{D: e.Model.D, RankAttn: e.Model.RankAttn, RankMLP: e.Model.RankMLP},
			Plan: record.PlanFields{Variant: variant, Scheme: string(e.Parallel.Scheme), MBS: e.Step.MicroBatch, Seq: e.Step.Seq, Norm: e.Step.Norm}}
	}
	runs := []*Run{make("cola"), make("full"), make("svd"), make("cola", "rank", "8"), make("cola", "rank-mlp", "8"), make("cola", "scheme", "vanilla"),
		make("cola", "data", "/a.bin"), make("cola", "data", "/b.txt"), make("svd", "keep-silu", "off"), make("cola", "keep-silu", "off"),
		make("cola", "norm", "sync"), make("cola", "micro-batch", "3"), make("cola", "seed", "5"), make("cola", "lr", "0.5"), make("cola", "steps", "7")}
	bare := *make("cola")
	bare.Experiment = nil
	ranked := *make("full")
	ranked.Model.RankMLP = 7
	runs = append(runs, &bare, &ranked)
	for _, a := range runs {
		for _, b := range runs {
			d := difference(a, b)
			if want := len(d.of(StepTime)) == 0 && len(d.of(Choice)) == 0; likenessOf(a).same(likenessOf(b)) != want {
				t.Errorf("%+v and %+v: same %v, differences %+v", a.Plan, b.Plan, !want, d.all)
			}
		}
	}
}

// Files that change are read again, and only those; what cannot be read has an error and spoils nothing.
func TestCacheFollowsTheFiles(t *testing.T) {
	root := t.TempDir()
	dirs := three(t, root)
	bad := filepath.Join(root, "gone")
	dirs = append(dirs, bad)
	c := NewCache()
	pairs := []Pair{{dirs[0], dirs[2]}, {bad, dirs[2]}, {dirs[1], dirs[2]}}
	look := func() Comparison {
		t.Helper()
		got, err := c.Compare(t.Context(), dirs, pairs)
		ok(t, err)
		for _, k := range c.runs {
			k.took = 0 // on a machine at work, reading them may take long enough to be put off
		}
		return got
	}
	numbers := func() (out []uint64) {
		for _, d := range dirs[:3] {
			out = append(out, c.runs[d].n)
		}
		return out
	}
	first, read := look(), numbers()
	if first.Runs[3].Err == nil || first.Pairs[1].Speedup != nil || first.Pairs[0].Speedup.Verdict != "faster" {
		t.Errorf("%+v", first)
	}
	look()
	if again := numbers(); !slices.Equal(again, read) {
		t.Errorf("read again: %v, %v", read, again)
	}
	ok(t, os.RemoveAll(dirs[2]))
	spec{id: "21-btp", variant: "cola", scheme: "btp", steps: 210, wallNanos: 600e6, seed: 3}.write(t, root)
	if got := look(); got.Pairs[0].Speedup.Verdict != "slower" || numbers()[0] != read[0] || numbers()[2] == read[2] {
		t.Errorf("%+v, readings %v", got.Pairs[0].Speedup, numbers())
	}
	ok(t, os.RemoveAll(dirs[0]))
	if got := look(); got.Runs[0].Err == nil || got.Pairs[0].Speedup != nil || got.Pairs[2].Speedup == nil {
		t.Errorf("%+v", got)
	}
	if _, err := c.Compare(t.Context(), dirs, []Pair{{dirs[0], "elsewhere"}}); err == nil {
		t.Error("a pair with a run that is not among them")
	}
	twice, err := c.Compare(t.Context(), []string{dirs[1], dirs[1]}, []Pair{{dirs[1], dirs[1]}})
	ok(t, err)
	if twice.Runs[1].ID != "20-van" || twice.Pairs[0].Speedup.Ratio != 1 {
		t.Errorf("%+v", twice)
	}
}

// Step times that were let go come back when they are needed.
func TestCacheLetsStepTimesGo(t *testing.T) {
	dirs := three(t, t.TempDir())
	c := NewCache()
	want, err := c.Compare(t.Context(), dirs, []Pair{{dirs[0], dirs[2]}})
	ok(t, err)
	for _, k := range c.runs {
		k.l.m.kept = nil
	}
	got, err := c.Compare(t.Context(), dirs, []Pair{{dirs[0], dirs[2]}})
	ok(t, err)
	equal(t, "kept", got, want)
	got, err = c.Compare(t.Context(), dirs, []Pair{{dirs[1], dirs[2]}})
	ok(t, err)
	fresh, err := NewCache().Compare(t.Context(), dirs, []Pair{{dirs[1], dirs[2]}})
	ok(t, err)
	equal(t, "read again", got, fresh)
}

// A run that goes on and takes long to read is put off; its end is not.
func TestCachePutsSlowRunsOff(t *testing.T) {
	root := t.TempDir()
	write := func(steps int) string {
		return spec{id: "a", variant: "cola", scheme: "btp", steps: steps, wallNanos: 1e8}.write(t, root)
	}
	dir := write(40)
	c := NewCache()
	steps := func() int {
		t.Helper()
		got, err := c.Compare(t.Context(), []string{dir}, nil)
		ok(t, err)
		return got.Runs[0].Steps
	}
	steps()
	c.runs[dir].took = 0
	grow := func(n int) { ok(t, os.RemoveAll(dir)); write(n) }
	grow(50)
	if n := steps(); n != 50 {
		t.Errorf("%d steps of a run that is read at once", n)
	}
	c.runs[dir].took = time.Hour
	grow(60)
	if n := steps(); n != 50 {
		t.Errorf("%d steps: it was not put off", n)
	}
	ok(t, os.WriteFile(filepath.Join(dir, "result.json"), []byte(`{"schema":1,"state":"finished"}`), 0o644))
	if n := steps(); n != 60 {
		t.Errorf("%d steps once it is over", n)
	}
}

// A run of the store that nobody compares slows others as well, as long as it is there.
func TestCacheSeesRunsBeside(t *testing.T) {
	root := t.TempDir()
	began := time.Now().Add(-time.Hour)
	full := spec{id: "a", variant: "full", scheme: "full-rank", steps: 200, wallNanos: 300e6, began: began}.write(t, root)
	other := spec{id: "b", variant: "cola", scheme: "btp", steps: 200, wallNanos: 150e6, began: began.Add(20 * time.Second)}.write(t, root)
	ok(t, os.Chtimes(filepath.Join(other, "run.json"), began, began))
	c := NewCache()
	for _, want := range []int{1, 1, 0} {
		if want == 0 {
			ok(t, os.RemoveAll(other))
		}
		got, err := c.Compare(t.Context(), []string{full}, nil)
		ok(t, err)
		if n := len(got.Runs[0].Overlapped); n != want {
			t.Errorf("%d runs beside it, want %d", n, want)
		}
	}
}

// The clock of a store, which tells when the files of others were written, may be minutes ahead of that of the hosts.
func TestRunsBesideByAnotherClock(t *testing.T) {
	root := t.TempDir()
	began := time.Now().Add(-time.Hour)
	full := spec{id: "a", variant: "full", scheme: "full-rank", steps: 200, wallNanos: 300e6, began: began}.write(t, root)
	other := spec{id: "b", variant: "cola", scheme: "btp", steps: 200, wallNanos: 150e6, began: began.Add(20 * time.Second)}.write(t, root)
	for _, dir := range []string{full, other} {
		late := began.Add(10 * time.Minute)
		ok(t, os.Chtimes(filepath.Join(dir, "run.json"), late, late))
	}
	got, err := Compare([]string{full}, Options{})
	ok(t, err)
	if o := got.Rows[0].Overlapped; len(o) != 1 || o[0] != "b" {
		t.Errorf("beside it ran %v", o)
	}
}

// What is broken off leaves a cache that works.
func TestCacheIsBrokenOff(t *testing.T) {
	dirs := three(t, t.TempDir())
	pairs := []Pair{{dirs[0], dirs[2]}}
	c := NewCache()
	ctx, cancel := context.WithCancel(t.Context())
	cancel()
	if _, err := c.Compare(ctx, dirs, pairs); !errors.Is(err, context.Canceled) {
		t.Errorf("%v", err)
	}
	got, err := c.Compare(t.Context(), dirs, pairs)
	ok(t, err)
	if s := got.Pairs[0].Speedup; s == nil || s.Verdict != "faster" {
		t.Errorf("%+v", s)
	}
	for range forgetAfter + 1 {
		_, err = c.Compare(t.Context(), dirs[:1], nil)
		ok(t, err)
	}
	if len(c.runs) != 1 || len(c.speeds) != 0 || len(c.sides) != 0 {
		t.Errorf("it keeps %d runs, %d speed-ups, %d sides", len(c.runs), len(c.speeds), len(c.sides))
	}
}

// A run that has not done all of its work has figures without a verdict, rests on itself alone, and is nobody's repeat;
// it does not count among the pairs that others are corrected for. Once it has, everything is as from Compare.
func TestPartialRuns(t *testing.T) {
	dirs := zoo(t, t.TempDir())[:12] // four repeats each of full-rank, vanilla and btp
	var pairs []Pair
	for i := 0; i < len(dirs); i += 3 {
		pairs = append(pairs, Pair{dirs[i], dirs[i]}, Pair{dirs[i], dirs[i+1]}, Pair{dirs[i], dirs[i+2]}, Pair{dirs[i+1], dirs[i+2]})
	}
	c := NewCache()
	all, err := c.Compare(t.Context(), dirs, pairs)
	ok(t, err)
	const partial = 5 // the btp run of the second four
	states := map[string]bool{}
	got, err := c.CompareWhole(t.Context(), dirs, pairs, func(i int, s *Summary) bool {
		states[s.ID] = true
		return i != partial
	})
	ok(t, err)
	if len(states) != len(dirs) {
		t.Errorf("asked about %d runs", len(states))
	}
	less, err := c.Compare(t.Context(), slices.Delete(slices.Clone(dirs), partial, partial+1), slices.DeleteFunc(slices.Clone(pairs), func(p Pair) bool { return p.Candidate == dirs[partial] }))
	ok(t, err)
	at := 0 // in less
	for i, p := range pairs {
		g := got.Pairs[i]
		if p.Candidate != dirs[partial] {
			equal(t, filepath.Base(p.Candidate), g, less.Pairs[at])
			at++
			continue
		}
		if g.Speedup == nil || g.Speedup.Verdict != "" || g.Speedup.P != nil || !g.Comparable || g.Pooled != [2]int{4, 1} {
			t.Errorf("%+v, %+v", g, g.Speedup)
		}
		if all.Pairs[i].Pooled != [2]int{4, 4} || all.Pairs[i].Speedup.Verdict != "faster" {
			t.Errorf("%+v", all.Pairs[i])
		}
	}
	if p := all.Pairs[0].Pooled; p != [2]int{1, 1} {
		t.Errorf("a run beside itself rests on %v", p)
	}
	again, err := c.CompareWhole(t.Context(), dirs, pairs, func(int, *Summary) bool { return true })
	ok(t, err)
	equal(t, "all", again, all)
}
