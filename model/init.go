package model

import (
	"context"
	"fmt"
	"math"
	"strings"

	"gonum.org/v1/gonum/mathext"

	"boost-tui/experiment"
)

// fullStd is the standard deviation of embedding, head and full linears (METHOD.md §1).
const fullStd = 0.02

// Initialize draws the weights. An element depends on the seed, the tensor's name and its place in the whole
// tensor alone, so that every scheme and number of ranks starts from the same bits.
func (d *Decoder) Initialize(ctx context.Context) error {
	for _, p := range d.params {
		if err := ctx.Err(); err != nil {
			return fmt.Errorf("model: initialize %s: %w", p.Name, err)
		}
		var err error
		switch base, factor := strings.CutSuffix(p.Name, ".A"); {
		case strings.HasSuffix(p.Name, "norm.weight"):
			err = d.set(ctx, p, func(int64) float32 { return 1 })
		case factor && d.cfg.Variant == experiment.SVD:
			err = d.spectral(ctx, base)
		case strings.HasSuffix(p.Name, ".B") && d.cfg.Variant == experiment.SVD: // set along with A
		default:
			g := newRandom(d.cfg.Seed, p.Name)
			std := d.std(p)
			err = d.set(ctx, p, func(i int64) float32 { return float32(std * g.normal(uint64(i))) })
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// std is the standard deviation of a normally drawn tensor; CoLA's factors get r^(-1/4) (in+out)^(-1/4) (METHOD.md §2).
func (d *Decoder) std(p Param) float64 {
	base, a := strings.CutSuffix(p.Name, ".A")
	base, b := strings.CutSuffix(base, ".B")
	if !a && !b {
		return fullStd
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

const golden = 0x9E3779B97F4A7C15

func mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

// uniform is the i-th number in (0, 1).
func (r random) uniform(i uint64) float64 {
	return (float64(mix(r.key+(i+1)*golden)>>11) + 0.5) / (1 << 53)
}

// normal is the i-th standard normal number: the quantile of the i-th uniform one.
func (r random) normal(i uint64) float64 { return mathext.NormalQuantile(r.uniform(i)) }
