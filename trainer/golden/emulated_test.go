package golden

import (
	"context"
	"errors"
	"fmt"
	"os"
	"testing"

	"boost-tui/experiment"
	"boost-tui/kernels"
	"boost-tui/kernels/cuda"
)

// emulated opens emulated ranks in this process.
func emulated(t *testing.T) func(rank, n int) (kernels.Device, error) {
	t.Helper()
	l, err := cuda.Emulator(context.Background(), t.Logf)
	if errors.Is(err, cuda.ErrNoCompiler) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return func(rank, n int) (kernels.Device, error) {
		return l.Open(cuda.Options{World: n, Rank: rank, Mode: cuda.Mode()})
	}
}

// TestCasesEmulated runs the cases on the emulated device: in a quick run one combination of each scheme on one rank and two, of one case on four and eight, in a
// long one (make soak) everything, replicas and stages too.
func TestCasesEmulated(t *testing.T) {
	if testing.Short() {
		t.Skip("minutes under the race detector, which does not see into the library")
	}
	soak := os.Getenv("BOOST_TEST_SOAK") != ""
	open := emulated(t)
	on, off := true, false
	for _, c := range named(t) {
		for _, s := range c.Schemes() {
			for _, o := range append([]Options{{}, {TP: 2}, {TP: 4}, {TP: 8}}, dimensions...) {
				o.Scheme, o.Open = s, open
				o.TP = max(o.TP, 1)
				if !soak {
					if o.TP > 2 && c.Name != "cola_tp8" || o.TP == 2 && !inQuick[c.Name] || (o.DP > 1 || o.PP > 1 || o.SP) && c.Name != "cola_base" && c.Name != "full_base" {
						continue
					}
					o.Grouped, o.SyncNorm, o.Recompute = &on, &off, []string{experiment.RecomputeNone}
				}
				for _, dtype := range []kernels.DType{kernels.F32, kernels.BF16} {
					o.DType = dtype
					if dtype == kernels.BF16 && !soak && !inQuick[c.Name] && o.TP <= 2 || c.Fits(o) != nil {
						continue
					}
					t.Run(fmt.Sprintf("%s/%s/%s", c.Name, describe(o), dtype), func(t *testing.T) { hold(t, c, o) })
				}
			}
		}
	}
}

// inQuick are the cases that stand for their kind: of every variant one, and what clips.
var inQuick = map[string]bool{"cola_base": true, "cola_clip": true, "full_base": true, "lax_dense": true, "loro_base": true, "relora_base": true, "sltrain_base": true}

// TestRecomputationEmulated tries both norms, grouping and every way of recomputing once.
func TestRecomputationEmulated(t *testing.T) {
	if testing.Short() {
		t.Skip("minutes under the race detector, which does not see into the library")
	}
	hold(t, named(t)["cola_base"], Options{Scheme: experiment.BTP, TP: 2, Open: emulated(t)})
}

func hold(t *testing.T, c Case, o Options) {
	r, err := Verify(context.Background(), c, o)
	if err != nil {
		t.Fatal(err)
	}
	if !r.OK {
		t.Errorf("%+v", r)
	}
	t.Logf("loss %.1e gradient %.1e final %.1e", r.LossMaxAbsError, r.GradientMaxRelError, r.FinalMaxRelError)
}
