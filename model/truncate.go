package model

import (
	"context"
	"fmt"
	"math"
	"slices"

	"gonum.org/v1/gonum/blas"
	"gonum.org/v1/gonum/blas/blas64"
	"gonum.org/v1/gonum/lapack"
	"gonum.org/v1/gonum/lapack/lapack64"
)

// LoadTruncated sets a pair of factors from a matrix [out, in], row by row: to the balanced halves of its truncated
// singular value decomposition, the product of rank r that is closest to it (METHOD.md §2, svd). So a low-rank model starts
// from a trained dense one. Every rank computes the same; the signs of the vectors follow a rule.
func (d *Decoder) LoadTruncated(ctx context.Context, linear string, w []float32) error {
	a, err := d.Param(linear + ".A")
	if err != nil {
		return err
	}
	b, err := d.Param(linear + ".B")
	if err != nil {
		return err
	}
	in, out, r := a.Cols, b.Rows, a.Rows
	if len(w) != in*out || r > min(in, out) {
		return fmt.Errorf("model: %s: %d elements and rank %d, want a matrix of %dx%d of at least that rank", linear, len(w), r, out, in)
	}
	u, v, err := truncate(w, out, in, r)
	if err != nil {
		return fmt.Errorf("model: %s: %w", linear, err)
	}
	if err := d.set(ctx, a, func(i int64) float32 { return float32(v[i]) }); err != nil {
		return err
	}
	return d.set(ctx, b, func(i int64) float32 { return float32(u[i]) })
}

// truncate is the balanced halves b [out, r] and a [r, in] of a matrix' truncation. The singular vectors of its shorter
// side are the eigenvectors of its Gram matrix, in float64; the others follow from them by a product.
func truncate(w []float32, out, in, r int) (b, a []float64, err error) {
	wide := blas64.General{Rows: out, Cols: in, Stride: in, Data: make([]float64, len(w))}
	for i, x := range w {
		if math.IsNaN(float64(x)) || math.IsInf(float64(x), 0) {
			return nil, nil, fmt.Errorf("element %d is %g", i, x)
		}
		wide.Data[i] = float64(x)
	}
	short, t := min(out, in), blas.NoTrans // Gram = W W^T, or W^T W
	if in < out {
		t = blas.Trans
	}
	gram := blas64.Symmetric{N: short, Stride: short, Uplo: blas.Upper, Data: make([]float64, short*short)}
	blas64.Syrk(t, 1, wide, 0, gram)
	values, size := make([]float64, short), make([]float64, 1)
	lapack64.Syev(lapack.EVCompute, gram, values, size, -1)
	space := make([]float64, int(size[0]))
	if !lapack64.Syev(lapack.EVCompute, gram, values, space, len(space)) {
		return nil, nil, fmt.Errorf("the singular vectors of %dx%d did not converge", out, in)
	}
	near := blas64.General{Rows: short, Cols: r, Stride: r, Data: make([]float64, short*r)}
	for k := range r {
		vector(near, k, gram.Data, short, short-1-k) // eigenvalues rise
	}
	slices.Reverse(values)
	far := blas64.General{Rows: max(out, in), Cols: r, Stride: r, Data: make([]float64, max(out, in)*r)}
	if t == blas.NoTrans {
		blas64.Gemm(blas.Trans, blas.NoTrans, 1, wide, near, 0, far) // V S = W^T U
	} else {
		blas64.Gemm(blas.NoTrans, blas.NoTrans, 1, wide, near, 0, far) // U S = W V
	}
	balance(near, far, values)
	left, right := near, far
	if t == blas.Trans {
		left, right = far, near
	}
	a = make([]float64, r*in)
	for i := range a {
		a[i] = right.Data[i%in*r+i/in]
	}
	return left.Data, a, nil
}

// balance gives both sides the square roots of the singular values; squares are their squares. near has unit columns, far
// has them times the singular values.
func balance(near, far blas64.General, squares []float64) {
	for k := range near.Cols {
		root := math.Sqrt(math.Sqrt(max(squares[k], 0)))
		for i := range near.Rows {
			near.Data[i*near.Stride+k] *= root
		}
		for i := range far.Rows {
			if root > 0 {
				far.Data[i*far.Stride+k] /= root
			}
		}
	}
}

// vector copies an eigenvector, its largest element made positive.
func vector(dst blas64.General, k int, from []float64, n, at int) {
	largest := 0.0
	for i := range n {
		if x := from[i*n+at]; math.Abs(x) > math.Abs(largest)*(1+1e-9) {
			largest = x
		}
	}
	for i := range n {
		dst.Data[i*dst.Stride+k] = math.Copysign(1, largest) * from[i*n+at]
	}
}
