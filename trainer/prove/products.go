package prove

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"slices"

	"boost-tui/experiment"
	"boost-tui/kernels"
	"boost-tui/kernels/record"
	"boost-tui/step"
)

// Products is how fast the products of training steps are, beside the best that the library has.
type Products struct {
	Mark
	Card string    `json:"card"`
	Rows []Product `json:"rows"`
	// Share is the time that the best algorithms take of ours, over all products of the steps as often as they happen there.
	Share   float64  `json:"share"`
	LeftOut []string `json:"left_out,omitempty"`
}

// Product is one shape: D of m x n, sums of k, a batch of them.
type Product struct {
	M          int     `json:"m"`
	N          int     `json:"n"`
	K          int     `json:"k"`
	Batch      int     `json:"batch"`
	TransA     bool    `json:"trans_a"`
	TransB     bool    `json:"trans_b"`
	Types      string  `json:"types"` // of A and B, of D
	Adds       bool    `json:"adds"`  // to what is there
	Steps      string  `json:"steps"` // whose it is
	PerStep    int     `json:"per_step"`
	Seconds    float64 `json:"seconds"`
	TFLOPS     float64 `json:"tflops"`
	BestTFLOPS float64 `json:"best_tflops"`
	Best       int     `json:"best_algorithm"`
	Algorithms int     `json:"algorithms"` // that were tried
}

// collector keeps the products of a recorded step.
type collector struct {
	*record.Device
	found map[Product]int
	order []*kernels.Gemm
	keys  []Product
}

// Do implements kernels.Device.
func (c *collector) Do(at kernels.Call, op kernels.Op) error {
	if g, ok := op.(*kernels.Gemm); ok {
		k := keyOf(g)
		if c.found[k] == 0 {
			one := *g
			c.order, c.keys = append(c.order, &one), append(c.keys, k)
		}
		c.found[k]++
	}
	return c.Device.Do(at, op)
}

func keyOf(g *kernels.Gemm) Product {
	m, n, k := g.Dims()
	return Product{M: m, N: n, K: k, Batch: g.Count(), TransA: g.TransA, TransB: g.TransB,
		Types: g.A.DType.String() + " to " + g.D.DType.String(), Adds: g.Beta != 0}
}

// productsOf are the products of one step, each with how often it happens, those that take most first.
func productsOf(e experiment.Experiment) ([]Product, []*kernels.Gemm, error) {
	c := &collector{Device: record.New(record.Options{}), found: map[Product]int{}}
	cfg := step.ConfigOf(e)
	s, err := step.New(cfg, c, step.Groups{})
	if err != nil {
		return nil, nil, err
	}
	if _, err := s.Run(context.Background(), step.Input{Tokens: make([]int32, tokensOf(cfg)), LR: 1, Index: 1}); err != nil {
		return nil, nil, err
	}
	for i := range c.keys {
		n := c.found[c.keys[i]]
		c.keys[i].PerStep, c.keys[i].Steps = n, string(e.Model.Variant)
	}
	at := make([]int, len(c.keys))
	for i := range at {
		at[i] = i
	}
	work := func(i int) int64 { return c.order[i].FLOPs() * int64(c.keys[i].PerStep) }
	slices.SortStableFunc(at, func(i, j int) int { return cmp.Compare(work(j), work(i)) })
	rows, ops := make([]Product, len(at)), make([]*kernels.Gemm, len(at))
	for to, from := range at {
		rows[to], ops[to] = c.keys[from], c.order[from]
	}
	return rows, ops, nil
}

func tokensOf(c step.Config) int { return c.Model.Micros * c.Model.Batch * (c.Model.Seq + 1) }

// chooser is a device whose products have several algorithms.
type chooser interface {
	Algorithm(g *kernels.Gemm, which int) (count int, err error)
}

// products measures the shapes of 1b, full-rank and CoLA.
func (b *bench) products(ctx context.Context) (out Products, err error) {
	l, err := b.openLab()
	if err != nil {
		return out, err
	}
	defer func() { err = errors.Join(err, l.dev.Close()) }()
	out.Mark, out.Card = b.mark(), l.dev.Info().Name
	var ours, best float64
	for _, v := range []experiment.Variant{experiment.Full, experiment.CoLA} {
		e, err := b.experiment(stepPart{variant: v, dtype: experiment.BF16})
		if err != nil {
			return out, err
		}
		rows, ops, err := productsOf(e)
		if err != nil {
			return out, err
		}
		for i, p := range rows {
			if b.late() || b.Tiny && i >= 2 {
				out.LeftOut = append(out.LeftOut, fmt.Sprintf("%d shapes of %s", len(rows)-i, v))
				break
			}
			mine, top, err := l.product(ctx, &p, ops[i])
			if err != nil {
				return out, fmt.Errorf("%d x %d x %d: %w", p.M, p.N, p.K, err)
			}
			ours += mine * float64(p.PerStep)
			best += top * float64(p.PerStep)
			out.Rows = append(out.Rows, p)
		}
	}
	if ours > 0 {
		out.Share = best / ours
	}
	return out, nil
}

// product measures one shape by every algorithm.
func (l *lab) product(ctx context.Context, p *Product, like *kernels.Gemm) (ours, best float64, err error) {
	defer func() { err = errors.Join(err, l.free()) }()
	g := *like
	for _, v := range []struct {
		view   *kernels.View
		stride int64
	}{{&g.A, g.StrideA}, {&g.B, g.StrideB}, {&g.C, g.StrideC}, {&g.D, g.StrideD}} {
		if v.view.IsZero() {
			continue
		}
		n := (int64(v.view.Rows-1)*int64(v.view.LD) + int64(v.view.Cols)) + int64(g.Count()-1)*v.stride
		memory, err := l.random(1, int(n), v.view.DType)
		if err != nil {
			return 0, 0, err
		}
		v.view.Buf, v.view.Offset = memory.Buf, 0
	}
	if ours, err = l.time(ctx, &g); err != nil {
		return 0, 0, err
	}
	best, p.Algorithms = ours, 1
	if c, ok := l.dev.(chooser); ok {
		if p.Algorithms, err = c.Algorithm(&g, 0); err != nil {
			return 0, 0, err
		}
		for i := 1; i < p.Algorithms; i++ {
			if _, err = c.Algorithm(&g, i); err != nil {
				return 0, 0, err
			}
			// The first time its code is loaded; then the mean of two is enough to tell which are worth more.
			if _, err := l.round(ctx, 1, []kernels.Op{&g}); err != nil {
				return 0, 0, err
			}
			t, err := l.round(ctx, 2, []kernels.Op{&g})
			if err != nil {
				return 0, 0, err
			}
			if t >= best*1.05 {
				continue
			}
			if t, err = l.time(ctx, &g); err != nil {
				return 0, 0, err
			}
			if t < best {
				best, p.Best = t, i
			}
		}
		if _, err = c.Algorithm(&g, 0); err != nil {
			return 0, 0, err
		}
	}
	p.Seconds, p.TFLOPS, p.BestTFLOPS = ours, tera(g.FLOPs(), ours), tera(g.FLOPs(), best)
	return ours, best, nil
}
