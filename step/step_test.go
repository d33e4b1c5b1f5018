package step

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"testing"
	"time"

	"boost-tui/experiment"
	"boost-tui/kernels"
	"boost-tui/kernels/reference"
)

// TestDegreesAgree trains on 1, 2 and 4 ranks from the same seed. All schemes of a variant are the same model.
func TestDegreesAgree(t *testing.T) {
	base := map[string][]Result{}
	all := func(name string, cfg Config) {
		variant := fmt.Sprint(cfg.Model.Variant, cfg.Model.Gate, cfg.Model.Base)
		for _, n := range []int{1, 2, 4} {
			got := train(t, &reference.World{}, cfg, n, 3)
			want := base[variant]
			if want == nil {
				base[variant] = got
				continue
			}
			for i := range want {
				if d := math.Abs(got[i].Loss - want[i].Loss); d > 2e-6 {
					t.Errorf("%s tp %d step %d: loss %.7f differs by %.1e", name, n, i, got[i].Loss, d)
				}
				if d := math.Abs(got[i].GradNorm/want[i].GradNorm - 1); d > 1e-5 {
					t.Errorf("%s tp %d step %d: gradient norm %.7f differs by %.1e", name, n, i, got[i].GradNorm, d)
				}
			}
		}
	}
	every(all)
	everyRecompute(all)
}

// TestOperandsUntilWait runs collectives at the earliest and at the latest moment: an operand that is touched in between shows.
func TestOperandsUntilWait(t *testing.T) {
	compare := func(name string, cfg Config) {
		early, late := train(t, &reference.World{}, cfg, 2, 2), train(t, &reference.World{Deferred: true}, cfg, 2, 2)
		for i := range early {
			if early[i] != late[i] {
				t.Errorf("%s step %d: %+v when collectives are early, %+v when late", name, i, early[i], late[i])
			}
		}
	}
	every(compare)
	everyRecompute(compare)
}

// TestMicroBatches compares two micro-batches of two sequences with one of four.
func TestMicroBatches(t *testing.T) {
	cfg := small(experiment.CoLA, experiment.BTP)
	two := train(t, &reference.World{}, cfg, 2, 3)
	cfg.Model.Batch, cfg.Model.Micros = cfg.Model.Batch*2, 1
	one := train(t, &reference.World{}, cfg, 2, 3)
	for i := range one {
		if math.Abs(one[i].Loss-two[i].Loss) > 1e-6 || math.Abs(one[i].GradNorm/two[i].GradNorm-1) > 1e-5 {
			t.Errorf("step %d: %+v at once, %+v in two parts", i, one[i], two[i])
		}
	}
}

func TestEvaluateChangesNothing(t *testing.T) {
	cfg := small(experiment.SVD, experiment.BTP)
	want := train(t, &reference.World{}, cfg, 1, 3)
	ranks(t, &reference.World{}, 1, func(_ int, dev kernels.Device, tp kernels.Comm) error {
		s, err := New(cfg, dev, Groups{TP: tp})
		if err != nil {
			return err
		}
		if err := s.Model().Initialize(t.Context()); err != nil {
			return err
		}
		for i := range want {
			loss, err := s.Evaluate(t.Context(), tokens(cfg.Model, i))
			if err != nil {
				return err
			}
			got, err := s.Run(t.Context(), Input{Tokens: tokens(cfg.Model, i), LR: 1e-2, Index: i + 1})
			if err != nil {
				return err
			}
			if got != want[i] || loss != got.Loss {
				t.Errorf("step %d: %+v after evaluating %v, want %+v", i, got, loss, want[i])
			}
		}
		return nil
	})
}

func TestInputErrors(t *testing.T) {
	cfg := small(experiment.CoLA, experiment.BTP)
	s, err := New(cfg, reference.New(&reference.World{}, 0), Groups{})
	if err != nil {
		t.Fatal(err)
	}
	good := tokens(cfg.Model, 0)
	outside := append([]int32(nil), good...)
	outside[5] = int32(cfg.Model.Vocab)
	for _, c := range []struct {
		in   Input
		want string
	}{{Input{Tokens: good}, "counts from 1"}, {Input{Tokens: good[1:], Index: 1}, "tokens, want"}, {Input{Tokens: outside, Index: 1}, "token 5"}} {
		if _, err := s.Run(t.Context(), c.in); err == nil || !strings.Contains(err.Error(), c.want) {
			t.Errorf("%v, want %q", err, c.want)
		}
	}
}

// TestCancel leaves one rank waiting in a collective; its context must free it.
func TestCancel(t *testing.T) {
	cfg := small(experiment.CoLA, experiment.BTP)
	ranks(t, &reference.World{}, 2, func(r int, dev kernels.Device, tp kernels.Comm) error {
		if r == 1 {
			return nil
		}
		s, err := New(cfg, dev, Groups{TP: tp})
		if err != nil {
			return err
		}
		ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
		defer cancel()
		if _, err := s.Run(ctx, Input{Tokens: tokens(cfg.Model, 0), LR: 1e-2, Index: 1}); !errors.Is(err, kernels.ErrAborted) {
			t.Errorf("%v, want %v", err, kernels.ErrAborted)
		}
		return nil
	})
}
