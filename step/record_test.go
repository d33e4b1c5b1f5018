package step

import (
	"fmt"
	"testing"

	"boost-tui/experiment"
	"boost-tui/kernels"
	"boost-tui/kernels/check"
	"boost-tui/kernels/record"
	"boost-tui/kernels/reference"
	"boost-tui/model"
)

// recorded is one step on the recording device, as rank 1 of n (rank 0 of 1).
func recorded(t *testing.T, cfg Config, n int) *record.Device {
	t.Helper()
	dev := record.New(record.Options{})
	var tp kernels.Comm
	if n > 1 {
		var err error
		if tp, err = dev.Join(t.Context(), kernels.UID{}, n, 1, "tp"); err != nil {
			t.Fatal(err)
		}
	}
	s, err := New(cfg, dev, tp)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Run(t.Context(), Input{Tokens: tokens(cfg.Model, 0), LR: 1e-2, Index: 1}); err != nil {
		t.Fatal(err)
	}
	return dev
}

// volume is elements and calls of collectives.
type volume struct{ elements, calls int64 }

func collectives(dev *record.Device, p kernels.Phase, inBlocks bool) (v volume) {
	for _, c := range dev.Calls() {
		if c.Class == kernels.Communication && c.Label.Phase == p && (c.Label.Layer >= 0) == inBlocks {
			v.calls++
			v.elements += c.Payload / 4
		}
	}
	return v
}

// TestCollectives holds every scheme to METHOD.md §3.1-3.4: elements and calls, per block and outside of the blocks.
func TestCollectives(t *testing.T) {
	every(func(name string, cfg Config) {
		dev, c := recorded(t, cfg, 2), cfg.Model
		rows, d, f := int64(c.Rows()), int64(c.D), int64(c.FF)
		latents := 4*int64(c.RankAttn) + 3*int64(c.RankMLP) // 7r when the ranks are equal
		var fwd, bwd, outF, outB volume
		pick := func(grouped, not int64) int64 {
			if c.Grouped {
				return grouped
			}
			return not
		}
		switch c.Scheme {
		case experiment.FullRank:
			fwd, bwd = volume{2 * rows * d, 2}, volume{2 * rows * d, 2}
		case experiment.Vanilla:
			fwd = volume{5*rows*d + 2*rows*f, pick(4, 7)}
			bwd = volume{pick(3, 6)*rows*d + rows*f, pick(4, 7)}
		case experiment.BTP:
			fwd, bwd = volume{latents*rows + 2*rows, pick(4, 7)}, volume{latents * rows, pick(4, 7)}
			if c.SyncNorm {
				fwd.calls, bwd.calls, bwd.elements = fwd.calls+2, bwd.calls+2, bwd.elements+2*rows
			}
		}
		if c.Scheme == experiment.BTP {
			outF, outB = volume{rows + rows*d + 3*rows, 4}, volume{rows*d + rows, 2}
		} else {
			outF, outB = volume{rows*d + 3*rows, 3}, volume{rows * d, 1}
		}
		blocks, micros := int64(c.Layers), int64(c.Micros)
		for _, x := range []struct {
			what      string
			phase     kernels.Phase
			in        bool
			want      volume
			thisTimes int64
		}{{"forward of blocks", kernels.Forward, true, fwd, blocks * micros}, {"backward of blocks", kernels.Backward, true, bwd, blocks * micros},
			{"forward outside", kernels.Forward, false, outF, micros}, {"backward outside", kernels.Backward, false, outB, micros},
			{"optimizer", kernels.Optimizer, false, volume{1, 1}, 1}} {
			want := volume{x.want.elements * x.thisTimes, x.want.calls * x.thisTimes}
			if got := collectives(dev, x.phase, x.in); got != want {
				t.Errorf("%s: %s: %+v, want %+v", name, x.what, got, want)
			}
		}
	})
}

// TestNoRaces finds no operand that two streams touch without an event between them.
func TestNoRaces(t *testing.T) {
	every(func(name string, cfg Config) {
		for _, r := range recorded(t, cfg, 2).Races() {
			t.Errorf("%s: %s", name, r)
		}
	})
}

// TestFLOPs compares what a step does with model.FLOPs: all ranks together do just that, but under vanilla the
// attention is done by each (METHOD.md §3.9).
func TestFLOPs(t *testing.T) {
	every(func(name string, cfg Config) {
		c := cfg.Model
		want := model.FLOPs(c)
		if c.Scheme == experiment.Vanilla {
			want += 3 * 2 * int64(c.Layers) * int64(c.Seq) * int64(c.D) * int64(c.Rows()*c.Micros)
		}
		var got int64
		for _, call := range recorded(t, cfg, 2).Calls() {
			got += 2 * call.FLOPs
		}
		if got != want {
			t.Errorf("%s: two ranks do %d FLOPs, want %d", name, got, want)
		}
	})
}

// TestMemory compares allocations with METHOD.md §3.8 in the limit of many blocks: the difference of one block more.
func TestMemory(t *testing.T) {
	every(func(name string, cfg Config) {
		cfg.Model.Batch, cfg.Model.Seq = 4, 16 // rows are whole cache lines
		at := func(layers int) map[string]int64 {
			cfg.Model.Layers = layers
			return recorded(t, cfg, 2).Memory()
		}
		few, more, c, tp := at(2), at(3), cfg.Model, int64(2)
		d, f, latents := int64(c.D), int64(c.FF), int64(4*c.RankAttn+3*c.RankMLP)
		want := map[experiment.Scheme]int64{
			experiment.FullRank: 2*d + (4*d+3*f)/tp + 2 + int64(c.Heads)/tp,
			experiment.Vanilla:  6*d + 3*f + latents/tp + 2 + int64(c.Heads),
			experiment.BTP:      (6*d+3*f)/tp + latents + 2 + int64(c.Heads)/tp,
		}[c.Scheme] * int64(c.Rows()) * 4
		if got := more[kernels.MemActivations] - few[kernels.MemActivations]; got != want {
			t.Errorf("%s: a block keeps %d bytes, want %d", name, got, want)
		}
		if w := more[kernels.MemWeights] - few[kernels.MemWeights]; more[kernels.MemOptimizer]-few[kernels.MemOptimizer] != 2*w || more[kernels.MemGradients]-few[kernels.MemGradients] != w {
			t.Errorf("%s: %v", name, more)
		}
		if few[kernels.MemLogits] != int64(c.Rows()*c.Vocab)*4/tp {
			t.Errorf("%s: logits of %d bytes", name, few[kernels.MemLogits])
		}
	})
}

// TestChecked runs steps behind the check decorator: no operand is freed, aliased or not finite.
func TestChecked(t *testing.T) {
	every(func(name string, cfg Config) {
		ranks(t, &reference.World{}, 2, func(_ int, dev kernels.Device, tp kernels.Comm) error {
			s, err := New(cfg, check.Wrap(dev, check.Options{Finite: true}), tp)
			if err != nil {
				return err
			}
			if err := s.Model().Initialize(t.Context()); err != nil {
				return err
			}
			if _, err = s.Run(t.Context(), Input{Tokens: tokens(cfg.Model, 0), LR: 1e-2, Index: 1}); err != nil {
				return fmt.Errorf("%s: %w", name, err)
			}
			return nil
		})
	})
}

// TestLargePlan records a step of 30b on four ranks, as the planner does, without its memory.
func TestLargePlan(t *testing.T) {
	c := model.Config{D: 6656, Layers: 60, Heads: 52, FF: 17920, Vocab: 32000, RankAttn: 1664, RankMLP: 1664, Eps: 1e-6, Theta: 10000,
		Variant: experiment.CoLA, PlainGLU: true, Scheme: experiment.BTP, Batch: 4, Seq: 4096, Micros: 1, Grouped: true}
	dev := recorded(t, Config{Model: c, Beta1: 0.9, Beta2: 0.95, Eps: 1e-8}, 4)
	var got int64
	for _, call := range dev.Calls() {
		got += 4 * call.FLOPs
	}
	if got != model.FLOPs(c) {
		t.Errorf("%d FLOPs, want %d", got, model.FLOPs(c))
	}
	t.Logf("%d calls, peak %d GiB", len(dev.Calls()), dev.PeakBytes()>>30)
}
