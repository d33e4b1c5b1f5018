package runner

import "testing"

func TestAbsentRanksAreNamed(t *testing.T) {
	at := func(rank, step int, issued uint64) standing {
		return standing{Rank: rank, Step: step, Issued: issued, What: "forward.l0.attn/qkv"}
	}
	stopped, ended, waits, hangs := at(3, 5, 70), at(2, 5, 60), at(2, 5, 60), at(3, 5, 71)
	stopped.Stopped, ended.Ended, waits.Waits, hangs.Ahead = true, true, true, true
	for name, c := range map[string]struct {
		all    []standing
		stages bool
		want   string
	}{
		"stopped":             {[]standing{at(0, 5, 71), at(1, 5, 71), stopped}, false, "rank 3 is stopped (SIGSTOP)"},
		"stopped, and behind": {[]standing{at(0, 5, 71), at(1, 5, 70), stopped}, false, "rank 3 is stopped (SIGSTOP)"},
		"behind":              {[]standing{at(0, 5, 71), at(1, 5, 70), at(3, 4, 90)}, false, "rank 1 is still at step 5, forward.l0.attn/qkv; rank 3 is still at step 4, forward.l0.attn/qkv"},
		"of another stage":    {[]standing{at(0, 5, 71), at(1, 5, 70), at(3, 4, 90)}, true, "rank 3 is still at step 4, forward.l0.attn/qkv"},
		"all are there":       {[]standing{at(0, 5, 71), at(1, 5, 71)}, false, ""},
		"one waits as well":   {[]standing{at(0, 5, 71), waits}, false, ""},
		"its device hangs":    {[]standing{at(0, 5, 71), at(1, 5, 71), waits, hangs}, false, "rank 3 is still at step 5, forward.l0.attn/qkv"},
		"the same, of stages": {[]standing{at(0, 5, 71), at(1, 5, 10), waits, hangs}, true, "rank 3 is still at step 5, forward.l0.attn/qkv"},
		"one has ended":       {[]standing{at(0, 5, 71), ended}, false, ""},
	} {
		if got := absent(c.all, 0, c.stages); got != c.want {
			t.Errorf("%s: %q, want %q", name, got, c.want)
		}
	}
}
