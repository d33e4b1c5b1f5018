package trainer

import (
	"fmt"
	"os"
	"strconv"
	"testing"

	"boost-tui/experiment"
)

// envSoak makes TestMeshesAgree run all there is; `make soak` sets it.
const envSoak = "BOOST_TEST_SOAK"

// agreement is how close the loss of every step must be to the single rank's, in nats.
const agreement = 5e-5

// degrees are parallel degrees, and what goes with them.
type degrees struct {
	tp, pp, dp int
	zero       int
	sp         bool
}

func (d degrees) String() string {
	return fmt.Sprintf("tp %d pp %d dp %d zero %d sp %v", d.tp, d.pp, d.dp, d.zero, d.sp)
}

// on is an experiment of the tiny size on a mesh: 8 sequences a step in micro-batches of 2, replicas sharing them.
func (d degrees) on(t *testing.T, v experiment.Variant, s experiment.Scheme, set map[string]string) experiment.Experiment {
	t.Helper()
	all := map[string]string{"variant": string(v), "scheme": string(s), "tp": strconv.Itoa(d.tp), "pp": strconv.Itoa(d.pp), "dp": strconv.Itoa(d.dp),
		"zero": strconv.Itoa(d.zero), "micro-batch": "2", "accumulate": strconv.Itoa(4 / d.dp), "steps": "50", "device": "cpu",
		"loro-every": "10", "relora-every": "10", "lax-gate": experiment.GateVector}
	if d.sp {
		all["sp"] = "on"
	}
	for k, x := range set {
		all[k] = x
	}
	e := experiment.Default()
	for k, x := range all {
		if err := e.Set(k, x); err != nil {
			t.Fatal(err)
		}
	}
	e, err := e.Resolve()
	if err != nil {
		t.Fatal(err)
	}
	if err := experiment.Invalid(e.Validate(experiment.Machine{})); err != nil {
		t.Fatal(err)
	}
	return e
}

// TestMeshesAgree trains every variant at the tiny size for 50 steps, with an exact step or a merge in every ten, on
// meshes, the global batch held constant: the loss of every step is the single rank's. Without envSoak it trains for
// less than two cycles on the meshes that have most.
//
// The learning rate is 1e-3. At the 3e-3 that is the default the agreement is as good for all variants but sltrain, whose
// training is unstable there: gradient norms jump from 0.7 to 17, and one rank that takes the same eight sequences as one
// micro-batch instead of four drifts away from itself by 6e-4 within 35 steps, with 2e-7 until step 24. Steps that
// amplify rounding so much say nothing about meshes; at 1e-3 they do not.
func TestMeshesAgree(t *testing.T) {
	set := map[string]string{"lr": "1e-3"}
	meshes := []degrees{{2, 1, 1, 0, false}, {1, 2, 1, 0, false}, {1, 1, 2, 0, false}, {1, 1, 2, 1, false}, {2, 2, 1, 0, false}, {2, 1, 2, 0, false}, {1, 2, 2, 0, false}, {2, 1, 1, 0, true}, {2, 2, 2, 1, true}}
	soak := os.Getenv(envSoak) != ""
	if !soak {
		meshes, set["stop-after"] = []degrees{{2, 1, 2, 1, false}, {1, 2, 2, 0, false}, {2, 2, 1, 0, true}}, "14"
	}
	if testing.Short() {
		t.Skip("trains for some seconds")
	}
	worst := 0.0
	for _, v := range []experiment.Variant{experiment.Full, experiment.SVD, experiment.CoLA, experiment.LaX, experiment.LORO, experiment.ReLoRA, experiment.SLTrain} {
		schemes := v.Schemes()
		if !soak {
			schemes = schemes[:1]
		}
		one := losses(t, (&job{cpu: true, e: degrees{1, 1, 1, 0, false}.on(t, v, schemes[0], set)}).run(t).ok(t).dir, 0)
		for _, s := range schemes {
			for _, m := range meshes {
				if m.sp && s != experiment.FullRank {
					continue
				}
				got := losses(t, (&job{cpu: true, e: m.on(t, v, s, set)}).run(t).ok(t).dir, 0)
				d := apart(one, got)
				if worst = max(worst, d); d > agreement || got[len(got)-1] > got[0]-0.5 {
					t.Errorf("%s %s on %s: %.1e from the single rank; loss %.3f to %.3f", v, s, m, d, got[0], got[len(got)-1])
				}
				t.Logf("%s %s on %s: %.1e from the single rank; loss %.3f to %.3f", v, s, m, d, got[0], got[len(got)-1])
			}
		}
	}
	t.Logf("worst: %.1e", worst)
}

// TestStagesWaitForEachOther: what a stage waits for another is told apart from the rest of communication, and only where there are stages.
func TestStagesWaitForEachOther(t *testing.T) {
	for _, set := range []map[string]string{{"pp": "2"}, {"tp": "2"}} {
		j := (&job{cpu: true, e: small(t, set)}).run(t).ok(t)
		sum := int64(0)
		for rank := range 2 {
			for _, l := range lines(t, j.dir, rank) {
				if staged := set["pp"] != ""; (l.BubbleNanos >= 0) != staged || l.BubbleNanos > min(l.WaitNanos, l.ExposedNanos) {
					t.Errorf("%v: rank %d: %+v", set, rank, l)
				}
				sum += max(0, l.BubbleNanos)
			}
		}
		if set["pp"] != "" && sum == 0 {
			t.Errorf("%v: no stage waits for the other", set)
		}
	}
}
