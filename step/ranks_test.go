package step

import (
	"context"
	"fmt"
	"strings"
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

// variants are all that a model can be, each with what only it has.
func variants() map[string]func(*Config) {
	lax := func(gate string, base experiment.Variant) func(*Config) {
		return func(c *Config) { c.Model.Gate, c.Model.Base, c.Model.Layers = gate, base, 3 }
	}
	return map[string]func(*Config){
		"full": func(*Config) {}, "svd": func(*Config) {}, "cola": func(*Config) {},
		"lax/identity/svd": lax(experiment.GateIdentity, experiment.SVD), "lax/vector/svd": lax(experiment.GateVector, experiment.SVD),
		"lax/vector/cola": lax(experiment.GateVector, experiment.CoLA), "lax/dense/svd": lax(experiment.GateDense, experiment.SVD),
		"lax/dense/cola": lax(experiment.GateDense, experiment.CoLA),
		"loro":           func(c *Config) { c.Cycles = Cycles{Exact: 2, Refresh: 2} },
		"relora":         func(c *Config) { c.Model.Alpha, c.Cycles = 16, Cycles{Merge: 2} },
		"sltrain":        func(c *Config) { c.Model.Alpha, c.Model.Delta = 16, 0.25 },
	}
}

// each calls f for every variant and scheme, without sync and grouped.
func each(f func(name string, cfg Config)) {
	for name, set := range variants() {
		word, _, _ := strings.Cut(name, "/")
		for _, s := range experiment.Variant(word).Schemes() {
			cfg := small(experiment.Variant(word), s)
			set(&cfg)
			f(fmt.Sprintf("%s/%s", name, s), cfg)
		}
	}
}

// every calls f for each variant, scheme, norm and grouping. Only btp has norms that differ.
func every(f func(name string, cfg Config)) {
	each(func(name string, cfg Config) {
		for k := range 4 {
			cfg.Model.SyncNorm, cfg.Model.Grouped = k&1 > 0, k&2 > 0
			if cfg.Model.SyncNorm && cfg.Model.Scheme != experiment.BTP {
				continue
			}
			f(fmt.Sprintf("%s/sync=%v/grouped=%v", name, k&1 > 0, k&2 > 0), cfg)
		}
	})
}

// everyRecompute calls f for each variant, scheme, grouping and way of recomputing that is one.
func everyRecompute(f func(name string, cfg Config)) {
	every(func(name string, cfg Config) {
		if cfg.Model.SyncNorm {
			return
		}
		for _, r := range []string{experiment.RecomputeLowRank, experiment.RecomputeFull} {
			cfg.Model.Recompute = r
			f(name+"/recompute="+r, cfg)
		}
	})
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
		s, err := New(cfg, dev, Groups{TP: tp})
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
