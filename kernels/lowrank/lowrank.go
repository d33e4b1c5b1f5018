// Package lowrank moves matrices of a fixed rank along their manifold: LORO's exact step (METHOD.md §2). It computes
// on the host in float64, for devices that have no decompositions of their own. Start reading at Step.
package lowrank

import (
	"errors"
	"fmt"
	"math"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/lapack/lapack64"
)

// Matrix is a row-major fp32 matrix with rows Stride elements apart.
type Matrix struct {
	Rows, Cols, Stride int
	Data               []float32
}

// Step moves W = B A by −rate times the tangent direction that da and db stand for and cuts W back to the rank, in
// place: what kernels.LowRankStep says. A and da are [r, in], B and db [out, r]. Nothing larger than
// the factors and a matrix of 2r x 2r is made. Factors that have lost rank, and numbers that are not finite,
// are an error that leaves a and b as they were.
func Step(a, b, da, db Matrix, rate float64) error {
	r := a.Rows
	u, rm, err := qr(b.wide(false))
	if err != nil {
		return fmt.Errorf("up-projection: %w", err)
	}
	v, rn, err := qr(a.wide(true))
	if err != nil {
		return fmt.Errorf("down-projection: %w", err)
	}
	// gv = DB Rn^-1 stands for G V, gu = (Rm^-T DA)^T for G^T U.
	gv, gu := db.wide(false), da.wide(true)
	blas64.Trsm(blas.Right, blas.NoTrans, 1, rn, gv)
	blas64.Trsm(blas.Right, blas.NoTrans, 1, rm, gu)
	k0 := general(r, r)
	blas64.Gemm(blas.Trans, blas.NoTrans, 1, gu, v, 0, k0) // U^T G V
	q1, k1 := rest(gu, v)
	q2, k2 := rest(gv, u)
	c := general(2*r, 2*r)
	for i := range r {
		for j := range r {
			c.Data[i*2*r+j] = -rate * k0.Data[i*r+j]
			c.Data[i*2*r+r+j] = -rate * k1.Data[j*r+i]
			c.Data[(r+i)*2*r+j] = -rate * k2.Data[i*r+j]
		}
	}
	corner := blas64.General{Rows: r, Cols: r, Stride: 2 * r, Data: c.Data}
	blas64.Gemm(blas.NoTrans, blas.Trans, 1, full(rm), full(rn), 1, corner)
	left, rightT, s, err := svd(c)
	if err != nil {
		return err
	}
	put := func(dst Matrix, turned bool, first, second blas64.General, x func(i, j int) float64) {
		n := first.Rows
		part, out := general(2*r, r), general(n, r)
		for i := range 2 * r {
			for j := range r {
				part.Data[i*r+j] = x(i, j) * math.Sqrt(s[j])
			}
		}
		blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, first, rows(part, 0, r), 0, out)
		blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, second, rows(part, r, 2*r), 1, out)
		dst.set(out, turned)
	}
	put(b, false, u, q2, func(i, j int) float64 { return left.Data[i*2*r+j] })
	put(a, true, v, q1, func(i, j int) float64 { return rightT.Data[j*2*r+i] })
	return nil
}

// wide is the matrix in float64, turned where asked.
func (m Matrix) wide(turned bool) blas64.General {
	if turned {
		out := general(m.Cols, m.Rows)
		for i := range m.Rows {
			for j := range m.Cols {
				out.Data[j*m.Rows+i] = float64(m.Data[i*m.Stride+j])
			}
		}
		return out
	}
	out := general(m.Rows, m.Cols)
	for i := range m.Rows {
		for j := range m.Cols {
			out.Data[i*m.Cols+j] = float64(m.Data[i*m.Stride+j])
		}
	}
	return out
}

func (m Matrix) set(from blas64.General, turned bool) {
	for i := range m.Rows {
		for j := range m.Cols {
			at := i*from.Stride + j
			if turned {
				at = j*from.Stride + i
			}
			m.Data[i*m.Stride+j] = float32(from.Data[at])
		}
	}
}

func general(rows, cols int) blas64.General {
	return blas64.General{Rows: rows, Cols: cols, Stride: cols, Data: make([]float64, rows*cols)}
}

func rows(m blas64.General, lo, hi int) blas64.General {
	return blas64.General{Rows: hi - lo, Cols: m.Cols, Stride: m.Stride, Data: m.Data[lo*m.Stride : (hi-1)*m.Stride+m.Cols]}
}

// full is a triangular matrix with its zeros.
func full(t blas64.Triangular) blas64.General {
	out := general(t.N, t.N)
	for i := range t.N {
		copy(out.Data[i*t.N+i:(i+1)*t.N], t.Data[i*t.Stride+i:i*t.Stride+t.N])
	}
	return out
}

// qr is the thin decomposition of a tall matrix, which it overwrites with Q. A matrix of less than full rank is an error.
func qr(m blas64.General) (blas64.General, blas64.Triangular, error) {
	r := orthonormal(m)
	largest := 0.0
	for i := range r.N {
		largest = math.Max(largest, math.Abs(r.Data[i*r.Stride+i]))
	}
	for i := range r.N {
		if d := math.Abs(r.Data[i*r.Stride+i]); !(d > 1e-12*largest) || math.IsInf(largest, 0) {
			return m, r, errors.New("the factor has lost rank or is not finite: an exact step needs full rank")
		}
	}
	return m, r, nil
}

// orthonormal overwrites a tall matrix with the Q of its decomposition and returns R.
func orthonormal(m blas64.General) blas64.Triangular {
	tau, size := make([]float64, m.Cols), make([]float64, 1)
	lapack64.Geqrf(m, tau, size, -1)
	space := make([]float64, int(size[0]))
	lapack64.Geqrf(m, tau, space, len(space))
	r := blas64.Triangular{N: m.Cols, Stride: m.Cols, Uplo: blas.Upper, Diag: blas.NonUnit, Data: make([]float64, m.Cols*m.Cols)}
	for i := range m.Cols {
		copy(r.Data[i*m.Cols+i:(i+1)*m.Cols], m.Data[i*m.Stride+i:i*m.Stride+m.Cols])
	}
	lapack64.Orgqr(m, tau, size, -1)
	space = make([]float64, int(size[0]))
	lapack64.Orgqr(m, tau, space, len(space))
	return r
}

// rest is the decomposition of what of g lies outside of the space of q: g − q q^T g, which overwrites g.
func rest(g, q blas64.General) (blas64.General, blas64.General) {
	inside := general(q.Cols, g.Cols)
	blas64.Gemm(blas.Trans, blas.NoTrans, 1, q, g, 0, inside)
	blas64.Gemm(blas.NoTrans, blas.NoTrans, -1, q, inside, 1, g)
	k := orthonormal(g)
	return g, full(k)
}

// svd overwrites its argument.
func svd(c blas64.General) (left, rightT blas64.General, s []float64, err error) {
	for _, x := range c.Data {
		if math.IsNaN(x) || math.IsInf(x, 0) {
			return left, rightT, nil, errors.New("the direction is not finite")
		}
	}
	left, rightT, s = general(c.Rows, c.Rows), general(c.Cols, c.Cols), make([]float64, c.Rows)
	size := make([]float64, 1)
	lapack64.Gesvd(lapack.SVDAll, lapack.SVDAll, c, left, rightT, s, size, -1)
	space := make([]float64, int(size[0]))
	if !lapack64.Gesvd(lapack.SVDAll, lapack.SVDAll, c, left, rightT, s, space, len(space)) {
		return left, rightT, nil, errors.New("the singular value decomposition did not converge")
	}
	return left, rightT, s, nil
}
