package cpu

import (
	"math"
	"testing"

	"boost-tui/kernels"
)

func TestEmbed(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		for _, s := range []struct{ rows, vocab, first, shard, cols int }{{5, 10, 0, 10, 3}, {300, 50, 20, 17, 40}, {64, 8, 4, 4, 129}} {
			ids, table, out := r.ids(s.rows, s.vocab), r.matrix(s.shard, s.cols, 1), r.matrix(s.rows, s.cols, 2)
			local := func(i int) (int, bool) { k := r.id(ids, i) - s.first; return k, k >= 0 && k < s.shard }
			r.run(&kernels.Embed{IDs: ids, Table: table, Out: out, First: s.first})
			r.want("embed", out, 0, func(i, j int) float64 {
				if k, ok := local(i); ok {
					return r.at(table, k, j)
				}
				return 0
			})
			d, old := r.matrix(s.rows, s.cols, 0), r.get(table)
			r.run(&kernels.EmbedBwd{IDs: ids, DOut: d, DTable: table, First: s.first})
			for i := range s.rows {
				if k, ok := local(i); ok {
					for j := range s.cols {
						old[k][j] += r.at(d, i, j)
					}
				}
			}
			r.want("embed_bwd", table, 1e-6, func(i, j int) float64 { return old[i][j] })
		}
	})
}

func TestCrossEntropy(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		for _, s := range []struct{ rows, vocab, first, all, pad int }{
			{1, 1, 0, 1, 0}, {7, 33, 0, 33, 0}, {50, 1000, 500, 2000, 0}, {3, 20000, 0, 20000, 1},
		} {
			x, targets := r.matrix(s.rows, s.vocab, s.pad), r.ids(s.rows, s.all)
			r.run(&kernels.Axpby{A: 5, X: x, Out: x})
			peak, sum, target := r.matrix(s.rows, 1, 0), r.matrix(s.rows, 1, 1), r.matrix(s.rows, 1, 0)
			loss, d := r.matrix(1, 1, 0), r.matrix(s.rows, s.vocab, s.pad)
			local := func(i int) (int, bool) { k := r.id(targets, i) - s.first; return k, k >= 0 && k < s.vocab }
			r.run(&kernels.XentMax{Logits: x, Max: peak})
			r.run(&kernels.XentSum{Logits: x, Targets: targets, Max: peak, Sum: sum, Target: target, First: s.first})
			r.want("max", peak, 0, func(i, _ int) float64 {
				m := math.Inf(-1)
				for j := range s.vocab {
					m = max(m, r.at(x, i, j))
				}
				return m
			})
			r.want("sum", sum, 1e-6, func(i, _ int) (t float64) {
				for j := range s.vocab {
					t += math.Exp(r.at(x, i, j) - r.at(peak, i, 0))
				}
				return t
			})
			r.want("target", target, 1e-6, func(i, _ int) float64 {
				if k, ok := local(i); ok {
					return r.at(x, i, k) - r.at(peak, i, 0)
				}
				return 0
			})
			before := r.at(loss, 0, 0)
			r.run(&kernels.XentLoss{Logits: x, Targets: targets, Max: peak, Sum: sum, Target: target,
				Loss: loss, DLogits: d, First: s.first, Scale: 0.25})
			r.want("loss", loss, 1e-6, func(_, _ int) float64 {
				t := before
				for i := range s.rows {
					t += 0.25 * (math.Log(r.at(sum, i, 0)) - r.at(target, i, 0))
				}
				return t
			})
			r.want("dlogits", d, 1e-6, func(i, j int) float64 {
				g := math.Exp(r.at(x, i, j)-r.at(peak, i, 0)) / r.at(sum, i, 0)
				if k, ok := local(i); ok && k == j {
					g--
				}
				return 0.25 * g
			})
		}
	})
}

func TestOptimizer(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		for _, n := range []int{1, 100, 40001} {
			p, m, v, g, scale := r.matrix(1, n, 0), r.matrix(1, n, 0), r.matrix(1, n, 0), r.matrix(1, n, 0), r.matrix(1, 1, 0)
			r.set(scale, 0, 0, 0.5)
			for i := range n {
				r.set(v, 0, i, float32(math.Abs(r.at(v, 0, i))))
			}
			p0, m0, v0 := r.get(p)[0], r.get(m)[0], r.get(v)[0]
			op := &kernels.AdamW{Param: p, M: m, V: v, Grad: g, Scale: scale,
				LR: 1e-2, Beta1: 0.9, Beta2: 0.95, Eps: 1e-8, WeightDecay: 0.1, Step: 3}
			b1, b2, lr, eps, wd := float64(op.Beta1), float64(op.Beta2), float64(op.LR), float64(op.Eps), float64(op.WeightDecay)
			wantM := func(_, i int) float64 { return b1*m0[i] + (1-b1)*0.5*r.at(g, 0, i) }
			wantV := func(_, i int) float64 { return b2*v0[i] + (1-b2)*math.Pow(0.5*r.at(g, 0, i), 2) }
			r.run(op)
			r.want("m", m, 1e-6, wantM)
			r.want("v", v, 1e-6, wantV)
			r.want("p", p, 1e-6, func(_, i int) float64 {
				return p0[i]*(1-lr*wd) - lr*(wantM(0, i)/(1-math.Pow(b1, 3)))/(math.Sqrt(wantV(0, i)/(1-math.Pow(b2, 3)))+eps)
			})
			p1 := r.get(p)[0]
			r.set(scale, 0, 0, float32(math.NaN()))
			r.run(op)
			r.want("p after NaN", p, 0, func(_, i int) float64 { return p1[i] })
			sum := r.matrix(1, 1, 0)
			start := r.at(sum, 0, 0)
			r.run(&kernels.SumSq{X: g, Out: sum})
			r.want("sumsq", sum, 1e-6, func(_, _ int) float64 {
				s := start
				for i := range n {
					s += r.at(g, 0, i) * r.at(g, 0, i)
				}
				return s
			})
		}
	})
}

func TestClipScale(t *testing.T) {
	r := open(t, Options{})
	for _, c := range []struct{ sumsq, max, norm, scale float64 }{
		{9, 1, 3, 1 / (3 + 1e-6)}, {0.25, 1, 0.5, 1}, {9, 0, 3, 1}, {0, 1, 0, 1},
		{math.Inf(1), 1, math.Inf(1), math.NaN()}, {math.NaN(), 0, math.NaN(), math.NaN()},
	} {
		s, n, k := r.matrix(1, 1, 0), r.matrix(1, 1, 0), r.matrix(1, 1, 0)
		r.set(s, 0, 0, float32(c.sumsq))
		r.run(&kernels.ClipScale{SumSq: s, Norm: n, Scale: k, MaxNorm: float32(c.max)})
		r.want("norm", n, 1e-7, func(_, _ int) float64 { return c.norm })
		r.want("scale", k, 1e-7, func(_, _ int) float64 { return c.scale })
	}
}

// TestExp reads the exponential that everything uses off the sum of a vocabulary of one.
func TestExp(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		const n = 20000
		x, ids, zero, sum, target := r.matrix(n, 1, 0), r.ids(n, 1), r.matrix(n, 1, 0), r.matrix(n, 1, 0), r.matrix(n, 1, 0)
		r.run(&kernels.Fill{X: zero})
		for i := range n {
			r.set(x, i, 0, float32(-86+174.5*float64(i)/n))
		}
		special := []float64{0, math.NaN(), math.Inf(1), math.Inf(-1), 89, 1e30, -87, -1e30}
		for i, s := range special {
			r.set(x, i, 0, float32(s))
		}
		r.run(&kernels.XentSum{Logits: x, Targets: ids, Max: zero, Sum: sum, Target: target})
		for i := range n {
			g, w := r.at(sum, i, 0), math.Exp(r.at(x, i, 0))
			if i < len(special) {
				w = []float64{1, math.NaN(), math.Inf(1), 0, math.Inf(1), math.Inf(1), 0, 0}[i]
			}
			if g != w && !(math.IsNaN(g) && math.IsNaN(w)) && !(math.Abs(g-w) <= 2e-7*w) {
				t.Fatalf("exp(%g) = %g, want %g", r.at(x, i, 0), g, w)
			}
		}
	})
}
