package step

import (
	"testing"

	"boost-tui/kernels"
	"boost-tui/kernels/record"
	"boost-tui/kernels/reference"
	"boost-tui/model"
)

// TestVolumesInBF16 compares a step's messages with those in fp32: as many, with as many elements; of two bytes but for statistics and
// losses, which ride in the same group call, for sums of weights' gradients, and for what LORO's exact step moves.
func TestVolumesInBF16(t *testing.T) {
	every(func(name string, cfg Config) {
		single := messages(recorded(t, cfg, 2))
		cfg.Model.DType = kernels.BF16
		half := messages(recorded(t, cfg, 2))
		if len(single) != len(half) || len(half) == 0 {
			t.Fatalf("%s: %d messages, in fp32 %d", name, len(half), len(single))
		}
		rode := 0
		for i, c := range half {
			want, wide := int64(0), c.Label.Phase == kernels.Optimizer || c.Label.Chunk == model.ChunkFactors
			for _, p := range c.Parts {
				bytes := int64(2)
				if wide || p.Kind == kernels.AllReduce && p.Elements <= 2*int64(cfg.Model.Rows()) {
					bytes = 4
				}
				want += bytes * p.Elements
			}
			if c.Payload != want || c.Elements() != single[i].Elements() || c.Label != single[i].Label {
				t.Errorf("%s: %s moves %d bytes of %d elements, want %d of %d", name, c.Label, c.Payload, c.Elements(), want, single[i].Elements())
			}
			if len(c.Parts) == 2 && c.Label.Phase == kernels.Forward {
				rode++
			}
		}
		if cfg.Model.Scheme == "btp" && rode == 0 != cfg.Model.SyncNorm {
			t.Errorf("%s: %d statistics ride with a payload", name, rode)
		}
	})
}

func messages(dev *record.Device) (out []record.Call) {
	for _, c := range dev.Calls() {
		if c.Class == kernels.Communication {
			out = append(out, c)
		}
	}
	return out
}

// TestMastersAreRounded holds the weights of a few steps against their masters: what one is, the other is rounded to.
func TestMastersAreRounded(t *testing.T) {
	every(func(name string, cfg Config) {
		cfg.Model.DType = kernels.BF16
		ranks(t, &reference.World{}, 2, func(_ int, dev kernels.Device, tp kernels.Comm) error {
			s, err := New(cfg, dev, Groups{TP: tp})
			if err != nil {
				return err
			}
			if err := s.Model().Initialize(t.Context()); err != nil {
				return err
			}
			for i := range 3 {
				if i > 0 {
					if _, err := s.Run(t.Context(), Input{Tokens: tokens(cfg.Model, i), LR: 1e-2, Index: i}); err != nil {
						return err
					}
				}
				fine := 0
				for _, slot := range s.State() {
					if slot.Kind != Weight || slot.Param.Grad.IsZero() {
						continue
					}
					master, err := s.Model().Read(t.Context(), slot.Param.Name, slot.View)
					if err != nil {
						return err
					}
					working, _, err := s.Model().ReadWeight(t.Context(), slot.Param.Name)
					if err != nil {
						return err
					}
					for k, m := range master {
						if w := working[slot.From+int64(k)]; kernels.FromBF16(kernels.ToBF16(m)) != w {
							t.Errorf("%s: element %d of %s is %g after step %d, its master %g", name, k, slot.Param.Name, w, i, m)
							return nil
						} else if w != m {
							fine++
						}
					}
				}
				if fine == 0 {
					t.Errorf("%s: masters are no finer than weights", name)
				}
			}
			return nil
		})
	})
}
