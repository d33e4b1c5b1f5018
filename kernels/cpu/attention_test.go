package cpu

import (
	"fmt"
	"math"
	"testing"

	"boost-tui/kernels"
)

type heads struct{ batch, seq, heads, hd, pad int }

func TestAttention(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		for _, s := range []heads{{1, 1, 1, 1, 0}, {1, 2, 1, 4, 0}, {2, 47, 2, 16, 0}, {1, 48, 1, 32, 3},
			{1, 97, 2, 10, 0}, {2, 200, 1, 64, 1}, {1, 130, 2, 33, 0}, {1, 193, 1, 128, 0}} {
			checkAttention(r, s)
		}
	})
}

// checkAttention compares forward and backward with softmax written out in float64.
func checkAttention(r *rig, s heads) {
	r.Helper()
	n, c := s.batch*s.seq, s.heads*s.hd
	q, k, v, do := r.matrix(n, c, s.pad), r.matrix(n, c, s.pad), r.matrix(n, c, s.pad), r.matrix(n, c, s.pad)
	o, lse, work := r.matrix(n, c, s.pad), r.matrix(n, s.heads, 2), r.matrix(n, s.heads, 0)
	dq, dk, dv := r.matrix(n, c, s.pad), r.matrix(n, c, s.pad), r.matrix(n, c, s.pad)
	scale := 1 / math.Sqrt(float64(s.hd))
	r.run(&kernels.Attention{Q: q, K: k, V: v, O: o, LSE: lse, Seq: s.seq, HeadDim: s.hd, Scale: float32(scale)})
	r.run(&kernels.AttentionBwd{Q: q, K: k, V: v, O: o, LSE: lse, DO: do, DQ: dq, DK: dk, DV: dv, Work: work,
		Seq: s.seq, HeadDim: s.hd, Scale: float32(scale)})
	want := naiveAttention(s, scale, r.get(q), r.get(k), r.get(v), r.get(do))
	name := fmt.Sprintf("%+v ", s)
	for _, x := range []struct {
		name  string
		v     kernels.View
		want  [][]float64
		terms float64
	}{{"o", o, want.o, 0.01}, {"lse", lse, want.lse, 0.01}, {"dq", dq, want.dq, 4}, {"dk", dk, want.dk, 4}, {"dv", dv, want.dv, 0.01}} {
		r.wantOfTerms(name+x.name, x.v, 3e-6, x.terms, func(i, j int) float64 { return x.want[i][j] })
	}
}

type attended struct{ o, lse, dq, dk, dv [][]float64 }

func naiveAttention(s heads, scale float64, q, k, v, do [][]float64) attended {
	n, c := s.batch*s.seq, s.heads*s.hd
	zeros := func(cols int) [][]float64 {
		m := make([][]float64, n)
		for i := range m {
			m[i] = make([]float64, cols)
		}
		return m
	}
	a := attended{zeros(c), zeros(s.heads), zeros(c), zeros(c), zeros(c)}
	dot := func(x, y []float64) (t float64) {
		for i := range x {
			t += x[i] * y[i]
		}
		return t
	}
	for b := range s.batch {
		for h := range s.heads {
			of := func(m [][]float64, i int) []float64 { return m[b*s.seq+i][h*s.hd : (h+1)*s.hd] }
			for i := range s.seq {
				p, sum := make([]float64, i+1), 0.0
				for j := range p {
					p[j] = math.Exp(scale * dot(of(q, i), of(k, j)))
					sum += p[j]
				}
				a.lse[b*s.seq+i][h] = math.Log(sum)
				for j := range p {
					p[j] /= sum
					for x := range s.hd {
						of(a.o, i)[x] += p[j] * of(v, j)[x]
					}
				}
				d := dot(of(do, i), of(a.o, i))
				for j := range p {
					ds := scale * p[j] * (dot(of(do, i), of(v, j)) - d)
					for x := range s.hd {
						of(a.dv, j)[x] += p[j] * of(do, i)[x]
						of(a.dq, i)[x] += ds * of(k, j)[x]
						of(a.dk, j)[x] += ds * of(q, i)[x]
					}
				}
			}
		}
	}
	return a
}

func TestAttentionOfLargeScores(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		s := heads{1, 100, 1, 8, 0}
		q, k, v := r.matrix(s.seq, s.hd, 0), r.matrix(s.seq, s.hd, 0), r.matrix(s.seq, s.hd, 0)
		r.run(&kernels.Axpby{A: 300, X: q, Out: q})
		o, lse := r.matrix(s.seq, s.hd, 0), r.matrix(s.seq, 1, 0)
		r.run(&kernels.Attention{Q: q, K: k, V: v, O: o, LSE: lse, Seq: s.seq, HeadDim: s.hd, Scale: 1})
		for i := range s.seq {
			if x := r.at(o, i, 0); math.IsNaN(x) || math.Abs(x) > 10 {
				t.Fatalf("o[%d] = %g", i, x)
			}
		}
		r.set(v, 60, 3, float32(math.NaN()))
		r.run(&kernels.Axpby{A: 1. / 300, X: q, Out: q})
		r.run(&kernels.Attention{Q: q, K: k, V: v, O: o, LSE: lse, Seq: s.seq, HeadDim: s.hd, Scale: 1})
		if !math.IsNaN(r.at(o, 60, 3)) || !math.IsNaN(r.at(o, 99, 3)) || math.IsNaN(r.at(o, 99, 2)) {
			t.Error("a NaN in V must reach its column of every later query")
		}
	})
}

func FuzzShapes(f *testing.F) {
	f.Add(uint8(1), uint8(1), uint8(1), uint8(1), uint8(0))
	f.Add(uint8(49), uint8(3), uint8(17), uint8(2), uint8(3))
	f.Add(uint8(97), uint8(33), uint8(96), uint8(7), uint8(1))
	f.Fuzz(func(t *testing.T, a, b, c, d, e uint8) {
		r := open(t, Options{Threads: int(e)%3 + 1})
		checkAttention(r, heads{batch: int(b)%2 + 1, seq: int(a)%128 + 1, heads: int(d)%3 + 1, hd: int(c)%70 + 1, pad: int(e) % 4})
		checkGemm(r, int(a)+1, int(b)+1, int(c)+1, d&1 != 0, d&2 != 0, int(e)%3+1, 1, float32(d&1), d&4 != 0)
	})
}
