package golden

import (
	"maps"
	"math"
	"slices"
	"strings"

	"boost-tui/experiment"
)

// zeroGradient is the share of the whole gradient's norm below which a reference gradient counts as zero.
const zeroGradient = 1e-12

// compare holds every rank's numbers against the reference (DESIGN.md, what the numbers mean).
func (c Case) compare(ranks []outcome, m *comparison) {
	r := m.report
	for rank, o := range ranks {
		for i, want := range c.Expected.Loss {
			m.note(&r.LossMaxAbsError, math.Abs(o.loss[i]-want), LossTolerance, "loss of step %d on rank %d", i, rank)
		}
		m.note(&r.LossMaxAbsError, math.Abs(o.after-c.Expected.LossAfter), LossTolerance, "loss after the last step on rank %d", rank)
		for i, want := range c.Expected.GradNorm {
			m.note(&r.GradientMaxRelError, math.Abs(o.norm[i]-want)/want, GradientTolerance, "gradient norm of step %d on rank %d", i, rank)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Expected.GradL2)) {
		for _, g := range whole(ranks, name, func(o outcome) map[string]shard { return o.grads }) {
			c.compareGradient(name, g, m)
		}
	}
	for _, name := range slices.Sorted(maps.Keys(c.Expected.ParamFinal)) {
		want := c.Expected.ParamFinal[name]
		if linear, ok := strings.CutSuffix(name, ".effective"); ok {
			m.note(&r.FinalMaxRelError, math.Abs(norm(c.product(ranks, linear, finals))-want)/want, FinalTolerance, "final norm of the product of %s", linear)
			continue
		}
		for _, w := range whole(ranks, name, finals) {
			if w == nil {
				m.note(&r.FinalMaxRelError, math.Inf(1), FinalTolerance, "final %s is missing", name)
			} else if !c.zero(name) { // AdamW turns the rounding of a zero gradient into steps
				m.note(&r.FinalMaxRelError, math.Abs(norm(w)-want)/want, FinalTolerance, "final norm of %s", name)
			}
		}
	}
}

func finals(o outcome) map[string]shard { return o.final }

// product is what a pair of factors stands for, with a frozen matrix that is beside them. NaN: a part is missing.
func (c Case) product(ranks []outcome, linear string, of func(outcome) map[string]shard) []float64 {
	a, b := whole(ranks, linear+".A", of)[0], whole(ranks, linear+".B", of)[0]
	if a == nil || b == nil {
		return []float64{math.NaN()}
	}
	r, scale := c.Config.Rank, 1.0
	in, out := len(a)/r, len(b)/r
	w := make([]float64, in*out)
	if c.Config.Variant == string(experiment.ReLoRA) {
		scale = c.Config.Alpha / float64(r)
		if w = whole(ranks, linear+".weight", of)[0]; w == nil {
			return []float64{math.NaN()}
		}
	}
	for i := range out {
		for k := range r {
			for j := range in {
				w[i*in+j] += scale * b[i*r+k] * a[k*in+j]
			}
		}
	}
	return w
}

// zero reports whether the reference gradient of a tensor is zero.
func (c Case) zero(name string) bool {
	return c.Expected.GradL2[name] <= zeroGradient*c.Expected.GradNorm[0]
}

func (c Case) compareGradient(name string, g []float64, m *comparison) {
	want, example := c.Expected.GradL2[name], c.Gradients[name]
	figure := &m.report.GradientMaxRelError
	switch {
	case g == nil:
		m.note(figure, math.Inf(1), GradientTolerance, "gradient of %s is missing", name)
	case c.zero(name):
		m.note(figure, norm(g)/c.Expected.GradNorm[0], ZeroTolerance, "gradient of %s, which is zero", name)
	case len(example.Data) == len(g):
		diff := make([]float64, len(g))
		for i := range g {
			diff[i] = g[i] - example.Data[i]
		}
		m.note(figure, norm(diff)/want, GradientTolerance, "gradient of %s", name)
	default:
		m.note(figure, math.Abs(norm(g)-want)/want, GradientTolerance, "norm of the gradient of %s", name)
	}
}

// copyOf tells copies of a tensor apart: of replicas, and of tensor-parallel ranks that hold it whole.
type copyOf struct{ dp, tp int }

// whole puts a tensor together from the ranks' parts: once for each replica, or once where they hold slices of it; of one that
// every rank of a group holds whole, each copy. What no rank has is not a number. A tensor that nobody has gives one nil.
func whole(ranks []outcome, name string, of func(outcome) map[string]shard) [][]float64 {
	var out [][]float64
	known := map[copyOf]int{}
	for _, o := range ranks {
		s, ok := of(o)[name]
		if !ok {
			continue // another stage's
		}
		var key copyOf
		if s.slices == nil {
			key.dp = o.at.DP
		}
		if s.param.Replicated {
			key.tp = o.at.TP
		}
		at, ok := known[key]
		if !ok {
			at = len(out)
			known[key] = at
			out = append(out, nothing(s.param.Rows*s.param.Cols))
		}
		s.into(out[at])
	}
	if out == nil {
		return [][]float64{nil}
	}
	return out
}

func nothing(n int) []float64 {
	v := make([]float64, n)
	for i := range v {
		v[i] = math.NaN()
	}
	return v
}

// into puts the elements that the rank answers for in their places.
func (s shard) into(whole []float64) {
	slices := s.slices
	if slices == nil {
		slices = [][2]int64{{0, int64(len(s.data))}}
	}
	for _, r := range slices {
		for i := r[0]; i < r[1]; i++ {
			whole[s.param.Global(i)] = float64(s.data[i])
		}
	}
}

func norm(v []float64) float64 {
	s := 0.0
	for _, x := range v {
		s += x * x
	}
	return math.Sqrt(s)
}
