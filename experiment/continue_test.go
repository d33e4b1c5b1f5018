package experiment

import (
	"math/rand/v2"
	"reflect"
	"strings"
	"testing"
)

// said is an experiment with what arguments say, as the command line reads them.
func said(t *testing.T, e Experiment, args []string) Experiment {
	t.Helper()
	for i := 0; i < len(args); i += 2 {
		if err := e.Set(strings.TrimPrefix(args[i], "--"), args[i+1]); err != nil {
			t.Fatalf("%q: %v", args, err)
		}
	}
	r, err := e.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	return r
}

// What FlagsOver names, over what the checkpoint's experiment says, is the experiment: whichever keys differ.
func TestFlagsOverSayTheExperiment(t *testing.T) {
	first := mustResolve(t, "variant=cola", "rank=24", "tp=2", "micro-batch=4", "stop-after=30", "name=first", "eval-data=/data/x", "tags=a,b", "partition=long").Continued()
	if first.Train.StopAfter != 0 || first.Model.Rank != 24 {
		t.Fatalf("%+v", first)
	}
	changes := []string{"tp=1", "tp=4", "micro-batch=8", "steps=1000", "stop-after=60", "name=", "tags=", "eval-data=none", "lr=0.001", "partition=", "dp=2", "grouping=off", "norm=sync", "seq=64"}
	rng := rand.New(rand.NewPCG(3, 4))
	for range 200 {
		e := first
		e.Train.Resume = "/runs/a/ckpt/step-30"
		for range rng.IntN(5) {
			key, value, _ := strings.Cut(changes[rng.IntN(len(changes))], "=")
			if err := e.Set(key, value); err != nil {
				t.Fatal(err)
			}
		}
		if got := said(t, first, e.FlagsOver(&first)); !reflect.DeepEqual(got, e) {
			t.Fatalf("%q give\n%+v, want\n%+v", e.FlagsOver(&first), got, e)
		}
		other := mustResolve(t, "tp=8", "steps=7", "tags=z", "name=z", "partition=z", "rank=24")
		if got := said(t, other, e.FlagsOver(nil)); !reflect.DeepEqual(got, e) {
			t.Fatalf("%q give\n%+v, want\n%+v", e.FlagsOver(nil), got, e)
		}
	}
	same := first
	same.Train.Resume = "/c"
	if got := strings.Join(same.FlagsOver(&first), " "); got != "--resume /c" {
		t.Errorf("%s, want the resume alone", got)
	}
}
