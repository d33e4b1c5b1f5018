package space

import (
	"testing"

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
		for i := range kv {
			if kv[i] == '=' {
				s.Set = append(s.Set, Assign{kv[:i], kv[i+1:]})
				break
			}
		}
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

func TestTheExampleOfTheDocumentation(t *testing.T) {
	s := spec(t, []string{"scheme=vanilla,btp", "tp=1,2", "rank=32,64"}, "size=tiny", "variant=cola", "steps=20")
	s.Twins = true
	x := expand(t, s)
	for _, p := range x.Points {
		t.Logf("%+v", p)
	}
	if x.Raw != 8 || x.Twins != 2 || len(x.Points) != 10 || len(x.Pruned) != 0 {
		t.Errorf("%+v", x)
	}
}
