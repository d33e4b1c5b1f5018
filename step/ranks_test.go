package step

import (
	"context"
	"fmt"
	"testing"

	"golang.org/x/sync/errgroup"

	"boost-tui/experiment"
	"boost-tui/kernels"
	"boost-tui/kernels/reference"
	"boost-tui/model"
)

// small is a step whose sizes all differ, with two micro-batches and different ranks of attention and MLP.
func small(v experiment.Variant, s experiment.Scheme) Config {
	return Config{Model: model.Config{D: 32, Layers: 2, Heads: 4, FF: 48, Vocab: 40, RankAttn: 8, RankMLP: 12, Eps: 1e-5, Theta: 10000,
		Variant: v, Scheme: s, Batch: 2, Seq: 6, Micros: 2, Grouped: true, Seed: 3},
		Clip: 1, Beta1: 0.9, Beta2: 0.95, Eps: 1e-8, WeightDecay: 0.1}
}

// every calls f for each variant, scheme, norm and grouping of this version.
func every(f func(name string, cfg Config)) {
	for _, v := range []experiment.Variant{experiment.Full, experiment.SVD, experiment.CoLA} {
		for _, s := range v.Schemes() {
			for k := range 4 {
				cfg := small(v, s)
				cfg.Model.SyncNorm, cfg.Model.Grouped = k&1 > 0, k&2 > 0
				f(fmt.Sprintf("%s/%s/sync=%v/grouped=%v", v, s, k&1 > 0, k&2 > 0), cfg)
			}
		}
	}
}

// tokens are the same for every call.
func tokens(c model.Config, index int) []int32 {
	out := make([]int32, c.Micros*c.Batch*(c.Seq+1))
	for i := range out {
		out[i] = int32((i*i*7 + i*3 + index*11) % c.Vocab)
	}
	return out
}

// ranks runs f on n reference ranks, wrapped when wrap is there.
func ranks(t *testing.T, w *reference.World, n int, f func(rank int, dev kernels.Device, tp kernels.Comm) error) {
	t.Helper()
	id, err := reference.New(w, 0).UID()
	if err != nil {
		t.Fatal(err)
	}
	g, ctx := errgroup.WithContext(t.Context())
	for r := range n {
		g.Go(func() error {
			d := reference.New(w, r)
			if n == 1 {
				return f(r, d, nil)
			}
			c, err := d.Join(ctx, id, n, r, "tp")
			if err != nil {
				return err
			}
			if err := f(r, d, c); err != nil {
				_ = c.Abort()
				return fmt.Errorf("rank %d: %w", r, err)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
}

// train is the results of a few steps on n ranks; all ranks must agree.
func train(t *testing.T, w *reference.World, cfg Config, n, steps int) []Result {
	t.Helper()
	out := make([][]Result, n)
	ranks(t, w, n, func(r int, dev kernels.Device, tp kernels.Comm) error {
		s, err := New(cfg, dev, tp)
		if err != nil {
			return err
		}
		if err := s.Model().Initialize(context.Background()); err != nil {
			return err
		}
		for i := range steps {
			res, err := s.Run(context.Background(), Input{Tokens: tokens(cfg.Model, i), LR: 1e-2, Index: i + 1})
			if err != nil {
				return err
			}
			out[r] = append(out[r], res)
		}
		return nil
	})
	for r := range out {
		for i := range out[r] {
			if out[r][i] != out[0][i] {
				t.Errorf("step %d: rank %d has %+v, rank 0 %+v", i, r, out[r][i], out[0][i])
			}
		}
	}
	return out[0]
}
