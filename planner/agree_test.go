package planner

import (
	"math/rand/v2"
	"strconv"
	"testing"

	"boost-tui/experiment"
)

// Whatever Validate accepts can be planned: the experiment's rules and the model's agree.
func TestWhatIsValidCanBePlanned(t *testing.T) {
	rng := rand.New(rand.NewPCG(7, 9))
	pick := func(of ...string) string { return of[rng.IntN(len(of))] }
	valid := 0
	for range 3000 {
		e := experiment.Default()
		for _, kv := range [][2]string{
			{"variant", pick("cola", "svd", "full", "lax", "loro", "relora", "sltrain")}, {"scheme", pick("auto", "btp", "vanilla", "full-rank")}, {"tp", strconv.Itoa(1 + rng.IntN(9))},
			{"d", pick("24", "48", "64", "36", "7")}, {"heads", pick("1", "2", "3", "4", "6")}, {"layers", pick("1", "2")}, {"ff", pick("1", "24", "40", "64")},
			{"vocab", pick("2", "24", "256")}, {"rank", pick("auto", "1", "6", "9", "24")}, {"rank-mlp", pick("auto", "1", "4")}, {"micro-batch", pick("1", "3")},
			{"seq", pick("1", "5")}, {"accumulate", pick("1", "2", "9")}, {"norm", pick("online", "sync")}, {"grouping", pick("on", "off")},
			{"pp", pick("1", "1", "2")}, {"dp", pick("1", "1", "2", "3")}, {"zero", pick("0", "0", "1")}, {"sp", pick("off", "off", "off", "on")},
			{"recompute", pick("none", "low-rank", "full")}, {"lax-gate", pick("auto", "vector", "dense")}, {"lax-base", pick("svd", "cola")},
			{"loro-every", pick("auto", "1", "30")}, {"restart-warmup", pick("auto", "1")}, {"relora-every", pick("auto", "1")}, {"sltrain-delta", pick("auto", "0.01", "1")},
		} {
			if err := e.Set(kv[0], kv[1]); err != nil {
				t.Fatal(err)
			}
		}
		r, err := e.ResolveForPlan()
		if err != nil {
			t.Fatal(err)
		}
		if experiment.Invalid(r.Validate(experiment.Machine{})) != nil {
			continue
		}
		valid++
		if _, err := New(r, Machine{}); err != nil {
			t.Fatalf("%s\nis valid, but: %v", r.TOML(), err)
		}
	}
	if valid < 100 {
		t.Errorf("only %d experiments of 3000 were valid", valid)
	}
}

func BenchmarkCheck(b *testing.B) {
	e := resolve(b, "size=40b tp=4 micro-batch=16")
	for b.Loop() {
		Check(e, Machine{MemBytes: 16 << 30, Cores: 2})
	}
}
