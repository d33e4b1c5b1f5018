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
	s, err := New(cfg, dev, Groups{TP: tp})
	if err != nil {
		t.Fatal(err)
	}
	if _, err := s.Run(t.Context(), Input{Tokens: tokens(cfg.Model, 0), LR: 1e-2, Index: 1}); err != nil {
		t.Fatal(err)
	}
	return dev
}

// TestNoRaces finds no operand that two streams touch without an event between them.
func TestNoRaces(t *testing.T) {
	races := func(name string, cfg Config) {
		cfg.Cycles.Exact, cfg.Cycles.Merge = min(cfg.Cycles.Exact, 1), min(cfg.Cycles.Merge, 1)
		for _, r := range recorded(t, cfg, 2).Races() {
			t.Errorf("%s: %s", name, r)
		}
	}
	every(races)
	everyRecompute(races)
	every(func(name string, cfg Config) {
		cfg.Model.DType = kernels.BF16
		races(name+" in bf16", cfg)
	})
}

// TestChecked runs steps behind the check decorator: no operand is freed, aliased or not finite.
func TestChecked(t *testing.T) {
	run := func(name string, cfg Config) {
		ranks(t, &reference.World{}, 2, func(_ int, dev kernels.Device, tp kernels.Comm) error {
			s, err := New(cfg, check.Wrap(dev, check.Options{Finite: true}), Groups{TP: tp})
			if err != nil {
				return err
			}
			if err := s.Model().Initialize(t.Context()); err != nil {
				return err
			}
			for i := range 2 { // the second is an exact step, or merges
				if _, err = s.Run(t.Context(), Input{Tokens: tokens(cfg.Model, i), LR: 1e-2, Index: i + 1}); err != nil {
					return fmt.Errorf("%s: %w", name, err)
				}
			}
			return nil
		})
	}
	every(run)
	everyRecompute(run)
	every(func(name string, cfg Config) {
		cfg.Model.DType = kernels.BF16
		run(name+" in bf16", cfg)
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
