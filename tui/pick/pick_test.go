package pick_test

import (
	"slices"
	"testing"

	profile "boost-tui/profiler/compare"
	"boost-tui/runner"
	"boost-tui/tui/pick"
	"boost-tui/tui/testkit"
)

func info(t *testing.T, id string, state runner.State, settings ...string) runner.Info {
	t.Helper()
	return testkit.RunDir{ID: id, Experiment: testkit.Experiment(t, settings...), State: state, Ranks: 1, Steps: 1, NoHealth: true}.Write(t, t.TempDir())
}

func TestDefault(t *testing.T) {
	full := info(t, "full", runner.Finished, "variant=full", "scheme=full-rank")
	vanilla := info(t, "vanilla", runner.Finished, "scheme=vanilla")
	btp := info(t, "btp", runner.Finished)
	newer := info(t, "newer", runner.Finished)
	other := info(t, "other", runner.Finished, "micro-batch=2")
	going := info(t, "going", runner.Running)
	damaged := info(t, "damaged", runner.Finished)
	damaged.Err = runner.ErrNewerSchema
	for name, c := range map[string]struct {
		infos []runner.Info
		want  []string
	}{
		"nothing":                   {nil, nil},
		"only running":              {[]runner.Info{going}, nil},
		"one":                       {[]runner.Info{btp}, []string{"btp"}},
		"three, in order":           {[]runner.Info{btp, vanilla, full}, []string{"full", "vanilla", "btp"}},
		"the latest of a scheme":    {[]runner.Info{full, vanilla, btp, newer}, []string{"full", "vanilla", "newer"}},
		"a lone one gives way":      {[]runner.Info{full, vanilla, btp, other}, []string{"full", "vanilla", "btp"}},
		"damaged ones do not count": {[]runner.Info{full, btp, damaged, going}, []string{"full", "btp"}},
	} {
		if got := pick.Default(c.infos); !slices.Equal(got, c.want) {
			t.Errorf("%s: %v, want %v", name, got, c.want)
		}
	}
}

func TestBesideAndDifferences(t *testing.T) {
	full := info(t, "full", runner.Finished, "variant=full", "scheme=full-rank")
	vanilla := info(t, "vanilla", runner.Finished, "scheme=vanilla")
	odd := info(t, "odd", runner.Finished, "scheme=vanilla", "seq=64")
	going := info(t, "going", runner.Running)
	if f, v := pick.Beside([]runner.Info{full, vanilla, odd, going}, going); f != "full" || v != "vanilla" {
		t.Errorf("beside btp: %q and %q", f, v)
	}
	if f, v := pick.Beside([]runner.Info{full}, full); f != "" || v != "" {
		t.Errorf("a run beside itself: %q and %q", f, v)
	}
	all, against := pick.Differences(full, odd)
	if len(all) < 3 || !against["seq"] || against["scheme"] {
		t.Errorf("%v, against %v", all, against)
	}
}

// A ratio without a verdict is told from one that is no difference.
func TestRatio(t *testing.T) {
	for _, c := range []struct {
		s    *profile.Speedup
		own  bool
		want string
		sure bool
	}{{nil, false, "–", false}, {&profile.Speedup{Ratio: 1}, true, "1.00×", true}, {&profile.Speedup{Ratio: 2}, false, "(2.00×)", false},
		{&profile.Speedup{Ratio: 1.01, Verdict: "~"}, false, "~1.01×", false}, {&profile.Speedup{Ratio: 2, Verdict: "faster"}, false, "2.00×", true}} {
		if text, sure := pick.Ratio(c.s, c.own, "×", "–"); text != c.want || sure != c.sure {
			t.Errorf("%+v: %q, %v", c.s, text, sure)
		}
	}
}

// A baseline that is no full-rank run, and a reference that is no vanilla run,
// are called what they are.
func TestReferencesAreNamedByTheirScheme(t *testing.T) {
	for _, c := range []struct {
		role         pick.Role
		scheme       string
		against, col string
	}{
		{pick.Baseline, "full-rank", "full-rank #ab12", "full"}, {pick.Baseline, "btp", "baseline btp #ab12", "base"},
		{pick.Vanilla, "vanilla", "vanilla #ab12", "van"}, {pick.Vanilla, "full-rank", "reference full-rank #ab12", "ref"},
	} {
		label := pick.Short("20261129-140001-tiny-full-full-rank-tp4-ab12")
		if a, h := pick.Against(c.role, c.scheme, label), pick.Head(c.role, c.scheme); a != c.against || h != c.col {
			t.Errorf("%v %s: %q, %q", c.role, c.scheme, a, h)
		}
	}
}
