package model

import (
	"context"
	"fmt"
	"math"
	"math/rand/v2"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"boost-tui/experiment"
	"boost-tui/kernels"
	"boost-tui/kernels/reference"
)

// random configurations: sizes that divide by 2, all different where they may be.
func randomConfig(r *rand.Rand, v experiment.Variant, s experiment.Scheme) Config {
	heads := 2 * (1 + r.IntN(2))
	return Config{D: heads * 2 * (1 + r.IntN(4)), Layers: 1 + r.IntN(2), Heads: heads, FF: 2 * (3 + r.IntN(8)), Vocab: 2 * (4 + r.IntN(9)),
		RankAttn: 2 * (1 + r.IntN(2)), RankMLP: 2 * (1 + r.IntN(2)), Eps: 1e-5, Theta: 10000, Variant: v, PlainGLU: r.IntN(2) == 0,
		Scheme: s, Batch: 1 + r.IntN(2), Seq: 1 + r.IntN(7), Micros: 1 + r.IntN(2), SyncNorm: r.IntN(2) == 0, Grouped: r.IntN(2) == 0, Seed: r.Uint64()}
}

// variants are all that a decoder can be, each with what only it has.
func variants() []Config {
	out := []Config{{Variant: experiment.Full}, {Variant: experiment.SVD}, {Variant: experiment.CoLA}, {Variant: experiment.LORO},
		{Variant: experiment.ReLoRA, Alpha: 3}, {Variant: experiment.SLTrain, Alpha: 3, Delta: 0.3}}
	for _, gate := range []string{experiment.GateIdentity, experiment.GateVector, experiment.GateDense} {
		for _, base := range []experiment.Variant{experiment.SVD, experiment.CoLA} {
			out = append(out, Config{Variant: experiment.LaX, Gate: gate, Base: base})
		}
	}
	return out
}

// as gives a configuration the variant of another.
func (c Config) as(v Config) Config {
	c.Variant, c.Gate, c.Base, c.Alpha, c.Delta = v.Variant, v.Gate, v.Base, v.Alpha, v.Delta
	return c
}

// onRanks runs f on n reference ranks.
func onRanks(t *testing.T, n int, f func(rank int, dev kernels.Device, tp kernels.Comm) error) {
	t.Helper()
	w := &reference.World{}
	id, err := reference.New(w, 0).UID()
	if err != nil {
		t.Fatal(err)
	}
	g, ctx := errgroup.WithContext(t.Context())
	for r := range n {
		g.Go(func() error {
			d := reference.New(w, r)
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

// runner runs whole steps without an optimizer.
type runner struct {
	*Decoder
	x      *kernels.Exec
	tokens [][2][]uint32 // per micro-batch: inputs, targets
}

func newRunner(cfg Config, dev kernels.Device, tp kernels.Comm) (*runner, error) {
	d, err := New(cfg, dev, tp)
	if err != nil {
		return nil, err
	}
	x, err := kernels.NewExec(dev)
	if err != nil {
		return nil, err
	}
	r := &runner{Decoder: d, x: x}
	draw := rand.New(rand.NewPCG(cfg.Seed, 1))
	for range cfg.Micros {
		var io [2][]uint32
		for i := range io {
			for range cfg.Rows() {
				io[i] = append(io[i], uint32(draw.IntN(cfg.Vocab)))
			}
		}
		r.tokens = append(r.tokens, io)
	}
	return r, d.Initialize(context.Background())
}

func (r *runner) loss(backward bool) (float64, error) {
	r.Begin(r.x)
	for m, io := range r.tokens {
		ids, targets := r.Tokens(m)
		for i, v := range []kernels.View{ids, targets} {
			h, err := r.dev.Host(v.Bytes())
			if err != nil {
				return 0, err
			}
			putWords(h.Bytes, io[i])
			r.x.Do("tokens", &kernels.Upload{Src: h, Dst: v})
		}
		r.Forward(r.x, m)
		if backward {
			r.Backward(r.x, m, nil)
		}
	}
	h, err := r.dev.Host(4)
	if err != nil {
		return 0, err
	}
	r.x.Do("loss", &kernels.Download{Src: r.Loss(), Dst: h})
	return float64(getFloat(h.Bytes)), r.x.Err()
}

// TestFiniteDifferences compares every gradient with differences of the loss, on random small decoders of every
// variant and scheme, on two ranks.
func TestFiniteDifferences(t *testing.T) {
	draw := rand.New(rand.NewPCG(7, 7))
	for _, v := range variants() {
		for _, s := range v.Variant.Schemes() {
			for i := range 6 {
				cfg := randomConfig(draw, v.Variant, s).as(v)
				cfg.Recompute = []string{experiment.RecomputeNone, experiment.RecomputeLowRank, experiment.RecomputeFull}[i%3]
				if v.Variant == experiment.LaX {
					cfg.Layers++
				}
				onRanks(t, 2, func(rank int, dev kernels.Device, tp kernels.Comm) error {
					r, err := newRunner(cfg, dev, tp)
					if err != nil {
						return err
					}
					return r.check(t, rank)
				})
			}
		}
	}
}

// check moves each tensor along its gradient and compares the loss with what the gradient promises.
func (r *runner) check(t *testing.T, rank int) error {
	ctx := context.Background()
	if err := r.widen(ctx); err != nil {
		return err
	}
	if _, err := r.loss(true); err != nil {
		return err
	}
	for _, p := range r.Params() {
		if p.Grad.IsZero() { // frozen
			continue
		}
		w, _, err := r.ReadWeight(ctx, p.Name)
		if err != nil {
			return err
		}
		g, _, err := r.ReadGrad(ctx, p.Name)
		if err != nil {
			return err
		}
		own := 0.0
		for _, x := range g {
			own += float64(x) * float64(x)
		}
		total, err := r.sum(own, p.Replicated)
		if err != nil {
			return err
		}
		norm := math.Sqrt(total)
		if norm < 1e-4 { // the difference drowns in rounding (q and k of a sequence of one token: zero)
			continue
		}
		at := func(h float64) float64 {
			moved := make([]float32, len(w))
			for i := range w {
				moved[i] = w[i] + float32(h*float64(g[i])/norm)
			}
			if err = r.put(p, moved); err != nil {
				return 0
			}
			l, e := r.loss(false)
			err = e
			return l
		}
		h := min(0.02, 0.003/norm)
		slope := (8*(at(h)-at(-h)) - (at(2*h) - at(-2*h))) / (12 * h)
		if err != nil {
			return err
		}
		if err := r.put(p, w); err != nil {
			return err
		}
		if rank == 0 && math.Abs(slope/norm-1) > 5e-3 && math.Abs(slope-norm) > 2e-5/h {
			t.Errorf("%+v: %s: slope %.6f along a gradient of norm %.6f (h %.2g)", r.cfg, p.Name, slope, norm, h)
		}
	}
	return nil
}

// widen makes the weights larger, and the norms' different from 1, so that gradients are well above rounding.
func (r *runner) widen(ctx context.Context) error {
	for _, p := range r.Params() {
		g, std := newRandom(r.cfg.Seed+1, p.Name), 0.6/math.Sqrt(float64(p.Cols))
		mean := 0.0
		if strings.HasSuffix(p.Name, "norm.weight") {
			mean, std = 1, 0.1
		}
		if err := r.set(ctx, p, func(i int64) float32 { return float32(mean + std*g.normal(uint64(i))) }); err != nil {
			return err
		}
	}
	return nil
}

func (r *runner) put(p Param, part []float32) error {
	i := -1
	return r.set(context.Background(), p, func(int64) float32 { i++; return part[i] })
}

// sum adds over the ranks what each holds a part of.
func (r *runner) sum(own float64, replicated bool) (float64, error) {
	if replicated {
		return own, nil
	}
	b, err := r.dev.Alloc("sum", 4, true)
	if err != nil {
		return 0, err
	}
	v := kernels.Matrix(b, 0, 1, 1, kernels.F32)
	r.x.Do("own", &kernels.Fill{X: v, Value: float32(own)})
	r.x.Reduce("sum", r.tp, v)
	h, err := r.dev.Host(4)
	if err != nil {
		return 0, err
	}
	r.x.Do("sum", &kernels.Download{Src: v, Dst: h})
	return float64(getFloat(h.Bytes)), r.x.Err()
}
