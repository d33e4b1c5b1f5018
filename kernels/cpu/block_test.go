package cpu

import (
	"math"
	"testing"

	"boost-tui/kernels"
)

// shapes of the row-wise tests: rows, columns, gap.
var rowShapes = [][3]int{{1, 1, 0}, {3, 7, 2}, {5, 16, 0}, {33, 64, 1}, {70, 515, 0}, {200, 129, 4}}

func silu(x float64) float64 { return x / (1 + math.Exp(-x)) }

func siluSlope(x float64) float64 {
	s := 1 / (1 + math.Exp(-x))
	return s * (1 + x*(1-s))
}

func TestNorm(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		for _, s := range rowShapes {
			rows, cols, pad := s[0], s[1], s[2]
			x, w, dy, y := r.matrix(rows, cols, pad), r.matrix(1, cols, 0), r.matrix(rows, cols, pad), r.matrix(rows, cols, pad)
			stat, rstd, dot := r.matrix(rows, 1, 2), r.matrix(rows, 1, 1), r.matrix(rows, 1, 0)
			width, eps := 2*cols, float32(1e-5)
			sum := func(f func(j int) float64) (s float64) {
				for j := range cols {
					s += f(j)
				}
				return s
			}
			r.run(&kernels.NormStats{X: x, Stat: stat})
			r.want("stats", stat, 1e-6, func(i, _ int) float64 { return sum(func(j int) float64 { return r.at(x, i, j) * r.at(x, i, j) }) })
			r.run(&kernels.NormRStd{Stat: stat, RStd: rstd, Width: width, Eps: eps})
			r.want("rstd", rstd, 1e-6, func(i, _ int) float64 { return 1 / math.Sqrt(r.at(stat, i, 0)/float64(width)+float64(eps)) })
			r.run(&kernels.NormApply{X: x, W: w, RStd: rstd, Y: y})
			r.want("apply", y, 1e-6, func(i, j int) float64 { return r.at(x, i, j) * r.at(rstd, i, 0) * r.at(w, 0, j) })
			r.run(&kernels.NormApply{X: x, W: w, Y: y})
			r.want("apply without rstd", y, 1e-6, func(i, j int) float64 { return r.at(x, i, j) * r.at(w, 0, j) })
			r.run(&kernels.NormBwdStats{X: x, W: w, RStd: rstd, DY: dy, Dot: dot})
			r.want("dot", dot, 1e-5, func(i, _ int) float64 {
				return sum(func(j int) float64 { return r.at(dy, i, j) * r.at(w, 0, j) * r.at(x, i, j) * r.at(rstd, i, 0) })
			})
			checkNormBwd(r, x, w, rstd, dy, dot, pad, width)
		}
	})
}

func checkNormBwd(r *rig, x, w, rstd, dy, dot kernels.View, pad, width int) {
	rows, cols := x.Rows, x.Cols
	base, dx, dw := r.matrix(rows, cols, pad), r.matrix(rows, cols, pad), r.matrix(1, cols, 0)
	wantDX := func(i, j int) float64 {
		q := r.at(rstd, i, 0)
		return q * (r.at(dy, i, j)*r.at(w, 0, j) - r.at(x, i, j)*q*r.at(dot, i, 0)/float64(width))
	}
	was := r.get(dw)
	r.run(&kernels.NormBwdApply{X: x, W: w, RStd: rstd, DY: dy, Dot: dot, DX: dx, DW: dw, Width: width})
	r.want("dx", dx, 1e-5, wantDX)
	r.want("dw", dw, 1e-5, func(_, j int) float64 {
		s := was[0][j]
		for i := range rows {
			s += r.at(dy, i, j) * r.at(x, i, j) * r.at(rstd, i, 0)
		}
		return s
	})
	old := r.get(base)
	r.run(&kernels.NormBwdApply{X: x, W: w, RStd: rstd, DY: dy, Dot: dot, Base: base, DX: base, DW: dw, Width: width})
	r.want("dx on base", base, 1e-6, func(i, j int) float64 { return old[i][j] + wantDX(i, j) })
}

func TestLatent(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		for _, s := range rowShapes {
			rows, cols, pad := s[0], s[1], s[2]
			p, rstd, u, h := r.matrix(rows, cols, pad), r.matrix(rows, 1, 0), r.matrix(rows, cols, pad), r.matrix(rows, cols, pad)
			r.run(&kernels.Latent{P: p, RStd: rstd, U: u, H: h, Silu: true})
			r.want("u", u, 1e-6, func(i, j int) float64 { return r.at(p, i, j) * r.at(rstd, i, 0) })
			r.want("h", h, 1e-6, func(i, j int) float64 { return silu(r.at(p, i, j) * r.at(rstd, i, 0)) })
			dh, du, dot := r.matrix(rows, cols, pad), r.matrix(rows, cols, pad), r.matrix(rows, 1, 3)
			r.run(&kernels.LatentBwd{DH: dh, U: u, DU: du, Dot: dot, Silu: true})
			r.want("du", du, 1e-6, func(i, j int) float64 { return r.at(dh, i, j) * siluSlope(r.at(u, i, j)) })
			r.want("dot", dot, 1e-5, func(i, _ int) (s float64) {
				for j := range cols {
					s += r.at(u, i, j) * r.at(du, i, j)
				}
				return s
			})
			r.run(&kernels.LatentBwd{DH: dh, U: u, DU: dh})
			old := r.get(p)
			r.run(&kernels.Latent{P: p, RStd: rstd, U: p})
			r.want("u in place", p, 1e-6, func(i, j int) float64 { return old[i][j] * r.at(rstd, i, 0) })
		}
	})
}

func TestSwiGLU(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		for _, s := range rowShapes {
			rows, cols, pad := s[0], s[1], s[2]
			for _, act := range []bool{true, false} {
				f, slope := silu, siluSlope
				if !act {
					f, slope = func(x float64) float64 { return x }, func(float64) float64 { return 1 }
				}
				g, u, y, dy := r.matrix(rows, cols, pad), r.matrix(rows, cols, pad), r.matrix(rows, cols, pad), r.matrix(rows, cols, pad)
				r.run(&kernels.SwiGLU{G: g, U: u, Y: y, Silu: act})
				r.want("y", y, 1e-6, func(i, j int) float64 { return f(r.at(g, i, j)) * r.at(u, i, j) })
				g0, u0 := r.get(g), r.get(u)
				r.run(&kernels.SwiGLUBwd{G: g, U: u, DY: dy, DG: g, DU: u, Silu: act})
				r.want("dg", g, 1e-6, func(i, j int) float64 { return r.at(dy, i, j) * u0[i][j] * slope(g0[i][j]) })
				r.want("du", u, 1e-6, func(i, j int) float64 { return r.at(dy, i, j) * f(g0[i][j]) })
			}
		}
	})
}

func TestRope(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		for _, s := range []struct{ batch, seq, heads, hd, pad int }{{1, 1, 1, 2, 0}, {2, 7, 3, 16, 0}, {1, 130, 2, 10, 3}, {3, 9, 1, 64, 0}} {
			x := r.matrix(s.batch*s.seq, s.heads*s.hd, s.pad)
			old := r.get(x)
			r.run(&kernels.Rope{X: x, Seq: s.seq, HeadDim: s.hd, Theta: 10000})
			r.want("rope", x, 1e-6, func(i, j int) float64 {
				half, k := s.hd/2, j%s.hd
				angle := float64(i%s.seq) * math.Pow(10000, -2*float64(k%half)/float64(s.hd))
				if k < half {
					return old[i][j]*math.Cos(angle) - old[i][j+half]*math.Sin(angle)
				}
				return old[i][j]*math.Cos(angle) + old[i][j-half]*math.Sin(angle)
			})
			r.run(&kernels.Rope{X: x, Seq: s.seq, HeadDim: s.hd, Theta: 10000, Inverse: true})
			r.want("rope back", x, 1e-6, func(i, j int) float64 { return old[i][j] })
		}
	})
}

// TestNaNStaysInItsRow plants one NaN and expects it in its own row of every row-wise result, and nowhere else.
func TestNaNStaysInItsRow(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		const rows, cols = 9, 37
		x, w, y, z := r.matrix(rows, cols, 1), r.matrix(1, cols, 0), r.matrix(rows, cols, 1), r.matrix(rows, cols, 1)
		stat, rstd := r.matrix(rows, 1, 0), r.matrix(rows, 1, 0)
		r.set(x, 4, 36, float32(math.NaN()))
		r.run(&kernels.NormStats{X: x, Stat: stat})
		r.run(&kernels.NormRStd{Stat: stat, RStd: rstd, Width: cols, Eps: 1e-5})
		r.run(&kernels.NormApply{X: x, W: w, RStd: rstd, Y: y})
		r.run(&kernels.SwiGLU{G: y, U: z, Y: z, Silu: true})
		max := r.matrix(rows, 1, 0)
		r.run(&kernels.XentMax{Logits: z, Max: max})
		for _, v := range []kernels.View{stat, rstd, y, z, max} {
			for i := range rows {
				if got := math.IsNaN(r.at(v, i, 0)); got != (i == 4) {
					t.Errorf("%s: NaN in row %d: %v", v, i, got)
				}
			}
		}
	})
}
