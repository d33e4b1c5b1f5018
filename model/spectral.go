package model

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack/gonum"
	"gonum.org/v1/gonum/lapack/lapack64"
)

// spectral sets a pair of factors to the balanced halves of the rank-r truncation of W0 ~ N(0, 0.02):
// A = sqrt(S_r) V_r^T, B = U_r sqrt(S_r) (METHOD.md §2, svd).
//
// W0 itself is never made. The singular vectors of a Gaussian matrix are uniformly distributed orthonormal
// frames, independent of its singular values, and those are distributed as the singular values of a bidiagonal
// matrix of chi variables (Dumitriu and Edelman, 2002). Drawing the three parts is exact in
// distribution and costs O((in+out)·r²) instead of a singular value decomposition.
func (d *Decoder) spectral(ctx context.Context, linear string) error {
	a, b := d.params[d.byName[linear+".A"]], d.params[d.byName[linear+".B"]]
	r, in, out := a.Rows, a.Cols, b.Rows
	if r > min(in, out) {
		return fmt.Errorf("model: rank %d of %s exceeds its %dx%d", r, linear, out, in)
	}
	s, err := gaussianSpectrum(newRandom(d.cfg.Seed, linear+".S"), max(in, out), min(in, out))
	if err != nil {
		return fmt.Errorf("model: %s: %w", linear, err)
	}
	root := make([]float64, r)
	for i := range root {
		root[i] = math.Sqrt(fullStd * s[i])
	}
	v, u := frame(newRandom(d.cfg.Seed, linear+".A"), in, r), frame(newRandom(d.cfg.Seed, linear+".B"), out, r)
	if err := d.set(ctx, a, func(i int64) float32 { return float32(root[int(i)/in] * v[int(i)%in*r+int(i)/in]) }); err != nil {
		return err
	}
	return d.set(ctx, b, func(i int64) float32 { return float32(root[int(i)%r] * u[i]) })
}

// frame is r orthonormal columns of length n, uniformly distributed, as a row-major [n, r] matrix: the Q of a
// Gaussian matrix's QR decomposition whose R has a positive diagonal.
func frame(g random, n, r int) []float64 {
	q := blas64.General{Rows: n, Cols: r, Stride: r, Data: make([]float64, n*r)}
	for i := range q.Data {
		q.Data[i] = g.normal(uint64(i))
	}
	tau, size := make([]float64, r), make([]float64, 1)
	lapack64.Geqrf(q, tau, size, -1)
	space := make([]float64, int(size[0]))
	lapack64.Geqrf(q, tau, space, len(space))
	flip := make([]bool, r)
	for j := range r {
		flip[j] = q.Data[j*r+j] < 0
	}
	lapack64.Orgqr(q, tau, size, -1)
	space = make([]float64, int(size[0]))
	lapack64.Orgqr(q, tau, space, len(space))
	for i := range q.Data {
		if flip[i%r] {
			q.Data[i] = -q.Data[i]
		}
	}
	return q.Data
}

// gaussianSpectrum draws the singular values of an m x n matrix (m >= n) of standard normals, largest first.
func gaussianSpectrum(g random, m, n int) ([]float64, error) {
	draw := &chi{random: g}
	diag, off := make([]float64, n), make([]float64, n)
	for i := range n {
		diag[i] = draw.squared(m - i)
		if i+1 < n {
			off[i] = draw.squared(n - 1 - i)
		}
	}
	// The square of the bidiagonal matrix is tridiagonal; its eigenvalues are the squares wanted.
	sub := make([]float64, max(n-1, 0))
	for i := range sub {
		sub[i] = math.Sqrt(diag[i] * off[i])
	}
	for i := n - 1; i > 0; i-- {
		diag[i] += off[i-1]
	}
	if !(gonum.Implementation{}).Dsterf(n, diag, sub) {
		return nil, fmt.Errorf("the singular values of %d did not converge", n)
	}
	for i, v := range diag {
		diag[i] = math.Sqrt(max(v, 0))
	}
	slices.Reverse(diag)
	return diag, nil
}

// chi draws chi-squared numbers one after the other.
type chi struct {
	random
	next uint64
}

// squared draws from chi-squared with k degrees of freedom: twice a gamma variable (Marsaglia and Tsang, 2000).
func (c *chi) squared(k int) float64 {
	shape, boost := float64(k)/2, 1.0
	if shape < 1 {
		boost = math.Pow(c.uniform(c.take(2)), 1/shape)
		shape++
	}
	d := shape - 1.0/3
	for {
		x := c.normal(c.take(2))
		v := 1 + x/math.Sqrt(9*d)
		if v <= 0 {
			continue
		}
		v *= v * v
		if math.Log(c.uniform(c.take(2))) < 0.5*x*x+d*(1-v+math.Log(v)) {
			return 2 * d * v * boost
		}
	}
}

// take reserves n numbers of the generator.
func (c *chi) take(n uint64) uint64 {
	i := c.next
	c.next += n
	return i
}
