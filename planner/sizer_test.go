package planner

import (
	"math/rand/v2"
	"strconv"
	"strings"
	"sync"
	"testing"

	"boost-tui/experiment"
)

// A sizer says what Check and New say, and records each shape once.
func TestSizerAgrees(t *testing.T) {
	var z Sizer
	rng := rand.New(rand.NewPCG(3, 5))
	pick := func(of ...string) string { return of[rng.IntN(len(of))] }
	shapes := map[shape]bool{}
	valid := 0
	for range 3000 {
		e := resolve(t, strings.Join([]string{"layers=2", "variant=" + pick("cola", "svd", "full", "lax", "loro", "relora", "sltrain"), "tp=" + pick("1", "2", "3"),
			"pp=" + pick("1", "1", "2"), "dp=" + pick("1", "2", "3"), "zero=" + pick("0", "1"), "sp=" + pick("off", "off", "on"), "link=" + pick("none", "bw=1GB/s"),
			"recompute=" + pick("none", "low-rank", "full"), "micro-batch=" + pick("1", "2", "64"), "dtype=" + pick("fp32", "bf16"), "accumulate=" + pick("1", "2", "5"),
			"norm=" + pick("online", "sync"), "grouping=" + pick("on", "off"), "lax-gate=" + pick("identity", "vector", "dense"), "lax-base=" + pick("svd", "cola"),
			"loro-every=" + pick("2", "30"), "relora-every=" + pick("2", "30"), "relora-alpha=" + pick("16", "32"), "sltrain-alpha=" + pick("16", "32"),
			"sltrain-delta=" + pick("0.03", "0.5"), "seed=" + strconv.Itoa(rng.IntN(99)), "lr=" + pick("1", "2"), "clip=" + pick("0", "1"), "norm-eps=" + pick("1e-6", "1e-5")}, " "))
		m := Machine{MemBytes: []int64{0, 64 << 20, 1 << 40}[rng.IntN(3)], Cores: 1}
		got, want := z.Check(e, m), Check(e, m)
		if len(got) != len(want) {
			t.Fatalf("%v, want %v", got, want)
		}
		for i := range got {
			if got[i].Rule != want[i].Rule || !strings.HasPrefix(want[i].Reason, got[i].Reason) || len(got[i].Nearest) > 0 || got[i].Warning != want[i].Warning {
				t.Errorf("%v, want %v", got[i], want[i])
			}
		}
		if experiment.Invalid(e.Validate(experiment.Machine{})) != nil {
			continue
		}
		valid++
		shapes[shapeOf(e)] = true
		need, err := z.NeedBytes(e)
		p, err2 := New(e, m)
		if err != nil || err2 != nil || need != p.NeedBytes || RunFLOPs(e) != float64(p.FLOPs)*100 {
			t.Errorf("%d bytes, planned %d (%v, %v)", need, p.NeedBytes, err, err2)
		}
	}
	if z.Shapes() != len(shapes) {
		t.Errorf("%d recordings of %d shapes", z.Shapes(), len(shapes))
	}
	if valid < 200 {
		t.Errorf("only %d experiments were valid", valid)
	}
}

func TestSizerIsSharedByGoroutines(t *testing.T) {
	var z Sizer
	var wait sync.WaitGroup
	e := resolve(t, "tp=2")
	want, err := z.NeedBytes(e)
	if err != nil {
		t.Fatal(err)
	}
	for i := range 8 {
		wait.Go(func() {
			try := e
			try.Step.MicroBatch = 8 + i%2
			if need, err := z.NeedBytes(try); err != nil || i%2 == 0 && need != want {
				t.Errorf("%d, %v", need, err)
			}
		})
	}
	wait.Wait()
	if z.Shapes() != 2 {
		t.Errorf("%d shapes", z.Shapes())
	}
}

func TestRunFLOPs(t *testing.T) {
	whole, part := RunFLOPs(resolve(t, "steps=10")), RunFLOPs(resolve(t, "steps=10 stop-after=5"))
	if whole != 2*part || part <= 0 || RunFLOPs(resolve(t, "steps=10 stop-after=99")) != whole {
		t.Errorf("%g, %g", whole, part)
	}
	if huge := RunFLOPs(resolve(t, "d=65536 ff=262144 layers=1024 micro-batch=4 seq=1048576 accumulate=4096")); huge < 0 || RunFLOPs(resolve(t, "size=40b micro-batch=1024 accumulate=4096")) < 1e23 {
		t.Errorf("%g", huge)
	}
}
