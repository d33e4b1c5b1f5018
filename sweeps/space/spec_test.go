package space

import (
	"fmt"
	"reflect"
	"strings"
	"testing"
	"time"
)

func TestKeyIsOfTheSpace(t *testing.T) {
	base := spec(t, []string{"tp=1,2", "rank=32,64"}, "size=tiny", "lr=1e-3")
	same := []Spec{
		spec(t, []string{"tp=1..2", "rank=32..64*2"}, "lr=0.001", "size=tiny"),
		spec(t, []string{"tp= 1, 2", "rank=32,64"}, "size=tiny", "lr=1e-3", "name=other", "tags=a,b", "steps=100"),
	}
	same[0].Name, same[0].Repeats = "another name", 1
	for _, s := range same {
		if s.Key() != base.Key() {
			t.Errorf("%+v is another space", s)
		}
	}
	keys := map[string]string{base.Key(): "base"}
	for name, change := range map[string]func(*Spec){
		"value":       func(s *Spec) { s.Axes[0].Values = [][]string{{"1"}, {"4"}} },
		"order":       func(s *Spec) { s.Axes[0], s.Axes[1] = s.Axes[1], s.Axes[0] },
		"condition":   func(s *Spec) { s.Axes[0].When = "sp" },
		"set":         func(s *Spec) { s.Set = append(s.Set, Assign{"steps", "7"}) },
		"wrong set":   func(s *Spec) { s.Set = append(s.Set, Assign{"steps", "x"}) },
		"constraint":  func(s *Spec) { s.Constraints = []string{"sp"} },
		"repeats":     func(s *Spec) { s.Repeats = 2 },
		"twins":       func(s *Spec) { s.Twins = true },
		"auto":        func(s *Spec) { s.Axes[1].Values[0] = []string{"auto"} },
		"more values": func(s *Spec) { s.Axes[1].Values = append(s.Axes[1].Values, []string{"16"}) },
	} {
		s := spec(t, []string{"tp=1,2", "rank=32,64"}, "size=tiny", "lr=1e-3")
		change(&s)
		if other, ok := keys[s.Key()]; ok {
			t.Errorf("%s has the key of %s", name, other)
		}
		keys[s.Key()] = name
	}
}

func TestWithAxis(t *testing.T) {
	axis := func(text string) Axis {
		a, err := ParseAxis(text)
		if err != nil {
			t.Fatal(err)
		}
		return a
	}
	s := spec(t, []string{"rank=32..64*2", "lr=1e-3 if tp > 1", "d,ff=128:352"})
	for _, tc := range []struct{ add, want string }{
		{"tp=1,2", "rank=32..64*2; lr=0.001 if tp > 1; d,ff=128:352; tp=1,2"},
		{"rank=64,16", "rank=32,64,16; lr=0.001 if tp > 1; d,ff=128:352"},
		{"rank=64", "rank=32..64*2; lr=0.001 if tp > 1; d,ff=128:352"},
		{"lr=0.001,0.1", "rank=32..64*2; lr=0.001,0.1 if tp > 1; d,ff=128:352"},
		{"lr=0.1 if tp > 1", "rank=32..64*2; lr=0.001,0.1 if tp > 1; d,ff=128:352"},
		{"lr=0.1 if tp == 1", "rank=32..64*2; lr=0.001 if tp > 1; d,ff=128:352; lr=0.1 if tp == 1"},
		{"d,ff=256:704", "rank=32..64*2; lr=0.001 if tp > 1; d,ff=128:352,256:704"},
	} {
		grown, err := s.WithAxis(axis(tc.add))
		var got []string
		for _, a := range grown.Axes {
			got = append(got, a.String())
		}
		if err != nil || strings.Join(got, "; ") != tc.want {
			t.Errorf("%s: %s (%v)\nwant %s", tc.add, strings.Join(got, "; "), err, tc.want)
		}
	}
	if len(s.Axes) != 3 || len(s.Axes[0].Values) != 2 {
		t.Errorf("the space itself grew: %+v", s)
	}
	for add, want := range map[string]string{"ff=1,2": "key ff is on two axes", "rank=1 if sp": "key rank is on two axes"} {
		if _, err := s.WithAxis(axis(add)); err == nil || !strings.Contains(err.Error(), want) {
			t.Errorf("%s: %v, want %s", add, err, want)
		}
	}
}

// A grown sweep plans what is new, shares twins, and links points to twins that came later.
func TestGrow(t *testing.T) {
	s := spec(t, []string{"scheme=btp", "tp=1,2,3"}, "variant=cola")
	old := expand(t, s)
	if len(old.Points) != 2 || len(old.Pruned) != 1 || old.Points[0].Full != "" {
		t.Fatalf("%+v", old)
	}
	a, err := ParseAxis("rank=32,64")
	if err != nil {
		t.Fatal(err)
	}
	grown, err := s.WithAxis(a)
	if err != nil {
		t.Fatal(err)
	}
	grown.Twins = true
	x := expand(t, grown).Beyond(old.Points, old.Pruned)
	var labels []string
	for _, p := range x.Points {
		labels = append(labels, p.Label)
	}
	want := "full tp 1; vanilla tp 1 rank 32; vanilla tp 1 rank 64; full tp 2; vanilla tp 2 rank 32; vanilla tp 2 rank 64; btp tp 1 rank 64; btp tp 2 rank 64"
	if got := strings.Join(labels, "; "); got != want {
		t.Errorf("%s\nwant %s", got, want)
	}
	if x.Twins != 6 || len(x.Links) != 2 || x.Links[0].Point != old.Points[0].ID || x.Links[0].Full != x.Points[0].ID || x.Links[0].Vanilla != x.Points[1].ID {
		t.Errorf("twins %d, links %+v", x.Twins, x.Links)
	}
	if len(x.Pruned) != 1 || x.Pruned[0].Point != "btp tp 3 rank 64" { // rank 32 is what tp 3 had before
		t.Errorf("%+v", x.Pruned)
	}
	if rest := expand(t, s).Beyond(old.Points, old.Pruned); len(rest.Points)+len(rest.Pruned)+len(rest.Links) != 0 {
		t.Errorf("nothing is new, and yet %+v", rest)
	}
}

func TestEverythingWrongIsSaidAtOnce(t *testing.T) {
	s := Spec{
		Name: strings.Repeat("x", 70),
		Set:  []Assign{{"siez", "tiny"}, {"tp", "two"}, {"data", strings.Repeat("x", 5000)}},
		Axes: []Axis{{}, {Keys: []string{"tq"}, Values: [][]string{{"1"}}}, {Keys: []string{"rank"}}, {Keys: []string{"d", "ff"}, Values: [][]string{{"1"}, {"1", "x"}}},
			{Keys: []string{"lr"}, Values: [][]string{{"1"}}, When: "tp >"}, {Keys: []string{"lr"}, Values: [][]string{{"2"}}}, {Keys: []string{"seed"}, Values: [][]string{{"2"}}}},
		Constraints: []string{"rank <= dd", "tp > 1", "rank"},
		Repeats:     3,
	}
	_, err := Expand(t.Context(), s, noMachine)
	if err == nil {
		t.Fatal("no error")
	}
	golden(t, "wrong.txt", []byte(err.Error()+"\n"))
	if _, err = Expand(t.Context(), Spec{Repeats: -1}, noMachine); err == nil || !strings.Contains(err.Error(), "repeats -1: must be at least 1") {
		t.Error(err)
	}
}

// A sweep tries again by itself; runs that did so too would be counted by nobody.
func TestRunsOfASweepDoNotRestart(t *testing.T) {
	for _, s := range []Spec{
		{Set: []Assign{{"max-restarts", "2"}}},
		{Axes: []Axis{{Keys: []string{"max-restarts"}, Values: [][]string{{"0"}, {"1"}}}}},
	} {
		if err := s.Check(); err == nil || !strings.Contains(err.Error(), "leave it at 0") {
			t.Error(err)
		}
	}
	if err := (Spec{Set: []Assign{{"max-restarts", "0"}}}).Check(); err != nil {
		t.Error(err)
	}
}

// What is too large is refused at once, with its size and its axes.
func TestTooLargeSpaces(t *testing.T) {
	many := func(n int) Axis {
		a := Axis{Keys: []string{"seed"}}
		for i := range n {
			a.Values = append(a.Values, []string{fmt.Sprint(i)})
		}
		return a
	}
	steps := many(100)
	steps.Keys, steps.When = []string{"steps"}, "tp > 0"
	ten := []string{"lr=1..10", "clip=1..10", "eps=1..10", "beta1=1..10", "beta2=1..10", "warmup=1..10", "rank=1..10"}
	for _, tc := range []struct {
		name string
		spec Spec
		want string
	}{
		{"10 million", spec(t, ten), "the space has 10 000 000 combinations (lr 10 x clip 10 x eps 10 x beta1 10 x beta2 10 x warmup 10 x rank 10): a sweep may have 200 000 at most, before constraints; take values away"},
		{"repeats", Spec{Axes: spec(t, []string{"lr=1..10", "clip=1..10"}).Axes, Repeats: 100_000}, "the space has 10 000 000 combinations (lr 10 x clip 10 x repeats 100 000)"},
		{"too many repeats", Spec{Repeats: 10_000_000}, "the space has 10 000 000 combinations (repeats 10 000 000)"},
		{"one axis", Spec{Axes: []Axis{many(MaxPoints + 1)}}, "the space has 200 001 combinations (seed 200 001)"},
		{"under conditions", Spec{Axes: []Axis{many(100_000), steps}}, "the space has 10 000 000 combinations (seed 100 000 x steps 100), and too many under its conditions as well"},
		{"with many conditions", Spec{Axes: append(spec(t, []string{"lr=1..10", "clip=1..10", "eps=1..10", "beta1=1..10", "beta2=1..10"}).Axes, many(2), steps)}, "combinations"},
		{"astronomic", Spec{Axes: append(spec(t, ten).Axes, many(100_000), steps, Axis{Keys: []string{"stop-after"}, Values: steps.Values})}, "the space has 1e+16 combinations"},
	} {
		took := time.Hour
		var err error
		for range 3 { // the machine may be busy
			began := time.Now()
			_, err = Expand(t.Context(), tc.spec, noMachine)
			took = min(took, time.Since(began))
		}
		if err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v\nwant %s", tc.name, err, tc.want)
		}
		if took > 100*time.Millisecond {
			t.Errorf("%s: refused in %v", tc.name, took)
		}
	}
}

// Conditions can make a space small enough whose product is not.
func TestConditionsBoundASpace(t *testing.T) {
	s := spec(t, []string{"tp=1,2", "rank=32,64", "lr=0.1..4+0.1", "clip=1..40", "steps=1..100 if tp > 1 and rank > 64 and lr > 1", "warmup=0,1"})
	if z := s.size(); z.most != 2*2*40*40*100*2 || z.least != 2*2*40*40*2 || z.last != 5 {
		t.Errorf("%+v", z)
	}
	if x := expand(t, s); x.Raw != 2*2*40*40*2 || len(x.Notes) != 1 {
		t.Errorf("%d combinations, %v", x.Raw, x.Notes)
	}
}

func TestRangesStayWhatTheyWere(t *testing.T) {
	a, err := ParseAxis("rank=32..64*2")
	if err != nil {
		t.Fatal(err)
	}
	f := File{Spec: Spec{Axes: []Axis{a}}}
	again, err := ParseTOML(f.TOML(), "x.toml")
	if err != nil || !reflect.DeepEqual(again.Axes[0], a) {
		t.Errorf("%+v, %v", again.Axes, err)
	}
}
