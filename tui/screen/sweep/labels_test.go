package sweep

import (
	"fmt"
	"math/rand/v2"
	"slices"
	"strings"
	"testing"

	"boost-tui/experiment"
	"boost-tui/planner"
	"boost-tui/sweeps"
	"boost-tui/sweeps/space"
)

func pointsOf(labels ...string) []*sweeps.PointState {
	var out []*sweeps.PointState
	for i, l := range labels {
		out = append(out, &sweeps.PointState{Point: space.Point{ID: fmt.Sprint(i), Label: l}})
	}
	return out
}

func inForm(n *names, form int, points []*sweeps.PointState) string {
	var out []string
	for _, p := range points {
		out = append(out, n[form][p.ID])
	}
	return strings.Join(out, ", ")
}

// What all points share is left out, what all have is short, and what tells them
// apart comes first where it will be cut.
func TestNames(t *testing.T) {
	for _, c := range []struct {
		labels []string
		want   [forms]string
	}{
		{[]string{"btp rank 16 micro-batch 4", "btp rank 16 micro-batch 8"}, [forms]string{"micro-batch 4, micro-batch 8", "mb4, mb8", "mb4, mb8"}},
		{[]string{"btp tp 2 rank 16 micro-batch 4", "btp tp 2 rank 32 micro-batch 4", "vanilla tp 2 rank 32 micro-batch 8"},
			[forms]string{"btp rank 16 micro-batch 4, btp rank 32 micro-batch 4, vanilla rank 32 micro-batch 8", "btp r16 mb4, btp r32 mb4, vanilla r32 mb8", "btp r16 mb4, btp r32 mb4, vanilla r32 mb8"}},
		{[]string{"btp seed 1", "btp seed 2", "vanilla seed 3"}, [forms]string{"btp seed 1, btp seed 2, vanilla seed 3", "btp s1, btp s2, vanilla s3", "s1 btp, s2 btp, s3 vanilla"}},
		{[]string{"full tp 1", "btp tp 1 rank 16", "btp tp 2 rank 16"}, [forms]string{"full tp 1, btp tp 1, btp tp 2", "full tp1, btp tp1, btp tp2", "full tp1, btp tp1, btp tp2"}},
		{[]string{"cola btp norm online", "cola btp norm sync"}, [forms]string{"norm online, norm sync", "n=online, n=sync", "n=online, n=sync"}},
		{[]string{"btp tp 1"}, [forms]string{"btp tp 1", "btp tp 1", "btp tp 1"}},
		{[]string{"tp 1", "tp 1 rank 32"}, [forms]string{"tp 1, rank 32", "tp 1, r32", "tp 1, r32"}},
		{[]string{"evil\x1b[2J tp 1", "other tp 1"}, [forms]string{"evil, other", "evil, other", "evil, other"}},
	} {
		points := pointsOf(c.labels...)
		n := namesOf(points)
		for form, want := range c.want {
			if got := inForm(n, form, points); got != want {
				t.Errorf("%v, form %d: %q, want %q", c.labels, form, got, want)
			}
		}
	}
}

// No two keys have the same abbreviation, whichever are there.
func TestAbbreviationsAreUnique(t *testing.T) {
	var all []string
	for _, k := range experiment.Keys() {
		all = append(all, k.Name)
	}
	rng := rand.New(rand.NewPCG(3, 4))
	for range 500 {
		rng.Shuffle(len(all), func(i, j int) { all[i], all[j] = all[j], all[i] })
		keys := all[:1+rng.IntN(len(all))]
		seen := map[string]string{}
		for _, k := range keys {
			s := abbreviations(keys)[k]
			if s == "" || seen[s] != "" {
				t.Fatalf("%s and %s are both %q among %v", k, seen[s], s, keys)
			}
			seen[s] = k
		}
	}
}

// Points with different labels have different names in every form.
func TestNamesTellPointsApart(t *testing.T) {
	s := space.Spec{Set: []space.Assign{{Key: "size", Value: "tiny"}}, Twins: true, Repeats: 2}
	for _, text := range []string{"variant=cola,svd", "scheme=vanilla,btp", "tp=1,2", "rank=16", "micro-batch=4,8 if tp == 2", "norm=online,sync", "lr=1e-4,1e-3"} {
		a, err := space.ParseAxis(text)
		if err != nil {
			t.Fatal(err)
		}
		s.Axes = append(s.Axes, a)
	}
	x, err := space.Expand(t.Context(), s, planner.Machine{Name: "test", MemBytes: 32 << 30, Cores: 8})
	if err != nil {
		t.Fatal(err)
	}
	var points []*sweeps.PointState
	labels := map[string]bool{}
	for _, p := range x.Points {
		if !labels[p.Label] {
			points = append(points, &sweeps.PointState{Point: p})
		}
		labels[p.Label] = true
	}
	n := namesOf(points)
	for form := range forms {
		seen := map[string]string{}
		for _, p := range points {
			name := n[form][p.ID]
			if other := seen[name]; other != "" || name == "" {
				t.Fatalf("form %d: %q and %q are both %q", form, p.Label, other, name)
			}
			seen[name] = p.Label
		}
	}
	if long, short := n.widest(formWhole, points), n.widest(formShort, points); short >= long {
		t.Errorf("the short form has %d cells, the whole %d", short, long)
	}
	if !slices.ContainsFunc(points, func(p *sweeps.PointState) bool { return strings.Contains(n[formShort][p.ID], "mb4") }) {
		t.Error("micro-batch is not mb")
	}
}
