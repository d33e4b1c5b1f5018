package step

import (
	"math"
	"slices"
	"testing"

	"boost-tui/experiment"
	"boost-tui/kernels"
	"boost-tui/kernels/reference"
)

// broken is a device on which the sum of the gradients' squares is no number from the second step on, on every rank.
type broken struct {
	kernels.Device
	steps int
}

func (b *broken) Do(c kernels.Call, op kernels.Op) error {
	if clip, ok := op.(*kernels.ClipScale); ok {
		if b.steps++; b.steps > 1 {
			if err := b.Device.Do(c, &kernels.Fill{X: clip.SumSq, Value: float32(math.NaN())}); err != nil {
				return err
			}
		}
	}
	return b.Device.Do(c, op)
}

// weightsOf are the rank's, by name.
func weightsOf(t *testing.T, s *Step) map[string][]float32 {
	out := map[string][]float32{}
	for _, p := range s.Model().Params() {
		w, _, err := s.Model().ReadWeight(t.Context(), p.Name)
		if err != nil {
			t.Error(err)
		}
		out[p.Name] = w
	}
	return out
}

// An exact step after gradients that are not finite leaves every weight as it was, to the bit, wherever it is computed.
func TestExactStepWithoutGradient(t *testing.T) {
	for _, scheme := range []experiment.Scheme{experiment.Vanilla, experiment.BTP} {
		for _, m := range []mesh{{1, 1, 1}, {2, 1, 1}, {2, 2, 1}, {1, 2, 2}} {
			for _, zero := range []int{0, 1} {
				if zero > 0 && m.dp == 1 {
					continue
				}
				cfg := small(experiment.LORO, scheme)
				cfg.Cycles, cfg.Zero = Cycles{Exact: 2}, zero
				own := m.share(cfg)
				wrap := func(d kernels.Device) kernels.Device { return &broken{Device: d} }
				err := onMesh(t, &reference.World{}, m, wrap, func(r int, dev kernels.Device, g Groups) error {
					s, err := New(own, dev, g)
					if err != nil {
						return err
					}
					if err := s.Model().Initialize(t.Context()); err != nil {
						return err
					}
					var before map[string][]float32
					for i := 1; i <= 2; i++ {
						before = weightsOf(t, s)
						res, err := s.Run(t.Context(), Input{Tokens: tokens(own.Model, i), LR: 1e-2, Index: i})
						if err != nil {
							return err
						}
						if (i == 2) != math.IsNaN(res.GradNorm) {
							t.Errorf("step %d: gradient norm %g", i, res.GradNorm)
						}
					}
					for name, w := range weightsOf(t, s) {
						if !slices.Equal(w, before[name]) {
							t.Errorf("%s %s zero %d, rank %d: %s has moved", scheme, m, zero, r, name)
						}
					}
					return nil
				})
				if err != nil {
					t.Fatalf("%s %s: %v", scheme, m, err)
				}
			}
		}
	}
}
