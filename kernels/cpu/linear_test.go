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
	a, b := make([][][]float64, batch), make([][][]float64, batch)
	for i := range batch {
		a[i], b[i] = r.get(shift(g.A, g.StrideA, i)), r.get(shift(g.B, g.StrideB, i))
	}
	element := func(m [][]float64, trans bool, i, j int) float64 {
		if trans {
			i, j = j, i
		}
		return m[i][j]
	}
	all := kernels.View{Buf: g.D.Buf, Offset: g.D.Offset, Rows: m * batch, Cols: n, LD: g.D.LD}
	name, terms := fmt.Sprintf("gemm %dx%dx%d ta=%v tb=%v batch %d", m, n, k, ta, tb, batch), math.Sqrt(float64(k))
	r.wantOfTerms(name, all, 1e-5, terms, func(row, j int) float64 {
		p, i := row/m, row%m
		s := 0.0
		for q := range k {
			s += element(a[p], ta, i, q) * element(b[p], tb, q, j)
		}
		s *= float64(alpha)
		if beta != 0 {
			s += float64(beta) * old[p][i][j]
		}
		return s
	})
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

func TestElementwise(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		for _, s := range [][3]int{{1, 1, 0}, {1, 20000, 0}, {7, 5, 0}, {9, 33, 2}, {40, 1000, 0}} {
			x, y, out := r.matrix(s[0], s[1], s[2]), r.matrix(s[0], s[1], s[2]), r.matrix(s[0], s[1], s[2])
			r.run(&kernels.Axpby{A: 2, B: -3, X: x, Y: y, Out: out})
			r.want("axpby", out, 1e-6, func(i, j int) float64 { return 2*r.at(x, i, j) - 3*r.at(y, i, j) })
			r.run(&kernels.Axpby{A: 0.5, X: x, Out: out})
			r.want("ax", out, 1e-6, func(i, j int) float64 { return 0.5 * r.at(x, i, j) })
			r.run(&kernels.Copy{Src: y, Dst: out})
			r.want("copy", out, 0, func(i, j int) float64 { return r.at(y, i, j) })
			r.run(&kernels.Fill{X: out, Value: 7})
			r.want("fill", out, 0, func(i, j int) float64 { return 7 })
			if out.Contiguous() {
				h, _ := r.Host(out.Bytes() + 4)
				r.run(&kernels.Download{Src: y, Dst: h, Offset: 4})
				r.run(&kernels.Upload{Src: h, Offset: 4, Dst: out})
				r.want("round trip", out, 0, func(i, j int) float64 { return r.at(y, i, j) })
			}
		}
	})
}

func TestFindNonFinite(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		x, at := r.matrix(300, 301, 3), r.empty(1, 2, 0, kernels.I32)
		find := func() [2]int {
			r.run(&kernels.FindNonFinite{X: x, At: at})
			return [2]int{r.id(at, 0), int(int32(math.Float32bits(r.raw(at.Buf)[1])))}
		}
		if got := find(); got != [2]int{-1, -1} {
			t.Errorf("found %v in finite numbers", got)
		}
		r.set(x, 250, 7, float32(math.Inf(-1)))
		r.set(x, 250, 5, float32(math.NaN()))
		r.set(x, 299, 300, float32(math.NaN()))
		if got := find(); got != [2]int{250, 5} {
			t.Errorf("found %v, want 250, 5", got)
		}
	})
}
