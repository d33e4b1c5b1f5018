package cpu

import (
	"fmt"
	"math"
	"testing"

	"boost-tui/kernels"
)

func TestGemm(t *testing.T) {
	shapes := [][3]int{{1, 1, 1}, {3, 5, 7}, {16, 32, 8}, {77, 53, 91}, {130, 129, 33}, {2, 200, 1}, {97, 1, 64}, {400, 200, 9}}
	each(t, func(t *testing.T, r *rig) {
		for _, s := range shapes {
			for mode := range 4 {
				checkGemm(r, s[0], s[1], s[2], mode&1 != 0, mode&2 != 0, 1, 1, 0, false)
			}
			checkGemm(r, s[0], s[1], s[2], false, true, 1, -0.5, 1.5, false)
			checkGemm(r, s[0], s[1], s[2], false, true, 3, 2, 1, true)
			checkGemm(r, s[0], s[1], s[2], true, false, 2, 1, 0, true)
		}
	})
}

func checkGemm(r *rig, m, n, k int, ta, tb bool, batch int, alpha, beta float32, withC bool) {
	r.Helper()
	operand := func(rows, cols int, trans bool) (kernels.View, int64) {
		if trans {
			rows, cols = cols, rows
		}
		v := r.matrix(rows*batch, cols, 3)
		stride := int64(rows * v.LD)
		v.Rows = rows
		return v, stride
	}
	g := &kernels.Gemm{TransA: ta, TransB: tb, Alpha: alpha, Beta: beta, Batch: batch}
	g.A, g.StrideA = operand(m, k, ta)
	g.B, g.StrideB = operand(k, n, tb)
	g.D, g.StrideD = operand(m, n, false)
	c, sc := g.D, g.StrideD
	if withC {
		c, sc = operand(m, n, false)
		g.C, g.StrideC = c, sc
	}
	shift := func(v kernels.View, s int64, b int) kernels.View { v.Offset += 4 * s * int64(b); return v }
	old := make([][][]float64, batch)
	for b := range batch {
		old[b] = r.get(shift(c, sc, b))
	}
	r.run(g)
	for b := range batch {
		A, B, D := shift(g.A, g.StrideA, b), shift(g.B, g.StrideB, b), shift(g.D, g.StrideD, b)
		D.Buf = g.D.Buf
		whole := D.LD > D.Cols && batch > 1
		check := func(i, j int) float64 {
			s := 0.0
			for p := range k {
				x, y := 0.0, 0.0
				if ta {
					x = r.at(A, p, i)
				} else {
					x = r.at(A, i, p)
				}
				if tb {
					y = r.at(B, j, p)
				} else {
					y = r.at(B, p, j)
				}
				s += x * y
			}
			s *= float64(alpha)
			if beta != 0 {
				s += float64(beta) * old[b][i][j]
			}
			return s
		}
		if whole {
			D.LD = g.D.LD
		}
		name := fmt.Sprintf("gemm %dx%dx%d ta=%v tb=%v batch %d/%d", m, n, k, ta, tb, b, batch)
		if batch > 1 {
			for i := range m {
				row := D.RowRange(i, i+1)
				row.LD = row.Cols
				r.want(name, row, 1e-4, func(_, j int) float64 { return check(i, j) })
			}
			continue
		}
		r.want(name, D, 1e-5, check)
	}
}

func TestGemmIgnoresOldNaN(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		d := r.matrix(2, 2, 0)
		r.set(d, 0, 0, float32(math.NaN()))
		a, b := r.matrix(2, 3, 0), r.matrix(3, 2, 0)
		r.run(&kernels.Gemm{Alpha: 1, A: a, B: b, D: d})
		if math.IsNaN(r.at(d, 0, 0)) {
			t.Error("beta 0 read the old value")
		}
		r.set(a, 1, 2, float32(math.NaN()))
		r.run(&kernels.Gemm{Alpha: 1, A: a, B: b, D: d})
		if !math.IsNaN(r.at(d, 1, 0)) || math.IsNaN(r.at(d, 0, 0)) {
			t.Error("NaN of A must reach its row and no other")
		}
	})
}
