package model

import (
	"context"
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/gonum/mathext"

	"boost-tui/experiment"
	"boost-tui/kernels"
)

// fullStd is the standard deviation of embedding, head and full linears (METHOD.md §1).
const fullStd = 0.02

// Initialize draws the weights. An element depends on the seed, the tensor's name and its place in the whole
// tensor alone, so that every scheme and number of ranks starts from the same bits.
func (d *Decoder) Initialize(ctx context.Context) error {
	for i := range d.params {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("model: initialize %s: %w", d.params[i].Name, err)
		}
		if err := d.draw(ctx, d.params[i]); err != nil {
			return err
		}
	}
	return nil
}

// draw gives one parameter its first value (METHOD.md §1, §2).
func (d *Decoder) draw(ctx context.Context, p Param) error {
	linear, kind := p.Name, "weight"
	if i := strings.LastIndexByte(p.Name, '.'); i >= 0 {
		linear, kind = p.Name[:i], p.Name[i+1:]
	}
	scaled := d.cfg.dense() // beside a matrix of full size the factors' product starts at 0
	spectral := d.cfg.Variant == experiment.SVD || d.cfg.Variant == experiment.LaX && d.cfg.Base == experiment.SVD
	g := newRandom(d.cfg.Seed, p.Name)
	switch {
	case strings.HasSuffix(p.Name, "norm.weight"):
		return d.set(ctx, p, func(int64) float32 { return 1 })
	case kind == "lax_gate" && p.Rows == 1:
		return d.set(ctx, p, func(int64) float32 { return 1 })
	case kind == "lax_gate":
		return d.set(ctx, p, func(i int64) float32 {
			if i/int64(p.Cols) == i%int64(p.Cols) {
				return 1
			}
			return 0
		})
	case kind == "sparse_value":
		total := int64(p.sparse.rows) * int64(p.sparse.cols)
		if err := d.LoadSupport(ctx, linear, support(newRandom(d.cfg.Seed, linear+".sparse_index"), p.Cols, total)); err != nil {
			return err
		}
		bound := 1 / math.Sqrt(float64(p.sparse.cols))
		return d.set(ctx, d.params[d.byName[p.Name]], func(i int64) float32 { return float32(bound * (2*g.uniform(uint64(i)) - 1)) })
	case kind == "A" && scaled:
		bound := float64(boundOf(p))
		return d.set(ctx, p, func(i int64) float32 { return float32(bound * (2*g.uniform(uint64(i)) - 1)) })
	case kind == "B" && scaled:
		return d.set(ctx, p, func(int64) float32 { return 0 })
	case kind == "A" && spectral:
		return d.spectral(ctx, linear)
	case kind == "B" && spectral: // set along with A
		return nil
	}
	std := d.std(p)
	return d.set(ctx, p, func(i int64) float32 { return float32(std * g.normal(uint64(i))) })
}

// boundOf is the largest element of a down-projection beside a matrix of full size: 1/sqrt(in).
func boundOf(a Param) float32 { return float32(1 / math.Sqrt(float64(a.Cols))) }

// drawKey is the key of a tensor's nth drawing; the first, of Initialize, is number 0.
func (d *Decoder) drawKey(name string, nth int) uint64 {
	if nth == 0 {
		return newRandom(d.cfg.Seed, name).key
	}
	return newRandom(d.cfg.Seed, fmt.Sprintf("%s.%d", name, nth)).key
}

// std is the standard deviation of a normally drawn tensor (METHOD.md §2): CoLA's factors get r^(-1/4) (in+out)^(-1/4),
// LORO's each sqrt(2/(rows+columns)).
func (d *Decoder) std(p Param) float64 {
	base, a := strings.CutSuffix(p.Name, ".A")
	base, b := strings.CutSuffix(base, ".B")
	if !a && !b {
		return fullStd
	}
	if d.cfg.Variant == experiment.LORO {
		return math.Sqrt(2 / float64(p.Rows+p.Cols))
	}
	down, up := d.params[d.byName[base+".A"]], d.params[d.byName[base+".B"]]
	return math.Pow(float64(down.Rows), -0.25) * math.Pow(float64(down.Cols+up.Rows), -0.25)
}

// random is a counter-based generator: SplitMix64 over (key, counter).
type random struct{ key uint64 }

func newRandom(seed uint64, name string) random {
	k := mix(seed + golden)
	for _, b := range []byte(name) {
		k = mix((k ^ uint64(b)) + golden)
	}
	return random{k}
}

// golden and mix are SplitMix64's.
const golden = kernels.Golden

func mix(z uint64) uint64 { return kernels.Mix(z) }

// uniform is the i-th number in (0, 1).
func (r random) uniform(i uint64) float64 { return kernels.Uniform(r.key, i) }

// normal is the i-th standard normal number: the quantile of the i-th uniform one.
func (r random) normal(i uint64) float64 { return mathext.NormalQuantile(r.uniform(i)) }
