package lowrank

import (
	"math"
	"math/rand/v2"
	"testing"

	"gonum.org/v1/gonum/mat"
)

func random(rng *rand.Rand, rows, cols int) Matrix {
	m := Matrix{Rows: rows, Cols: cols, Stride: cols + 1, Data: make([]float32, rows*(cols+1))}
	for i := range m.Data {
		m.Data[i] = float32(rng.NormFloat64())
	}
	return m
}

func dense(m Matrix) *mat.Dense { return mat.NewDense(m.Rows, m.Cols, m.wide(false).Data) }

func pack(d *mat.Dense) Matrix {
	r, c := d.Dims()
	m := Matrix{Rows: r, Cols: c, Stride: c, Data: make([]float32, r*c)}
	for i := range m.Data {
		m.Data[i] = float32(d.At(i/c, i%c))
	}
	return m
}

// TestStepIsTruncation: with the factors' own gradients the step is the truncated singular value decomposition of
// W − rate·(P_U G + G P_V − P_U G P_V) (METHOD.md §2), whatever the signs of the factors' columns.
func TestStepIsTruncation(t *testing.T) {
	rng := rand.New(rand.NewPCG(1, 2))
	const in, out, r = 20, 30, 4
	for _, rate := range []float64{1e-3, 1e-2, 0.3} {
		a, b, g := random(rng, r, in), random(rng, out, r), dense(random(rng, out, in))
		var da, db mat.Dense // of W = B A: dB = G A^T, dA = B^T G
		db.Mul(g, dense(a).T())
		da.Mul(dense(b).T(), g)
		project := func(m mat.Matrix) *mat.Dense {
			var gram, p mat.Dense
			gram.Mul(m.T(), m)
			if err := gram.Inverse(&gram); err != nil {
				t.Fatal(err)
			}
			p.Product(m, &gram, m.T())
			return &p
		}
		pu, pv := project(dense(b)), project(dense(a).T())
		var z, left, right, both mat.Dense
		z.Mul(dense(b), dense(a))
		left.Mul(pu, g)
		right.Mul(g, pv)
		both.Product(pu, g, pv)
		left.Add(&left, &right)
		left.Sub(&left, &both)
		left.Scale(rate, &left)
		z.Sub(&z, &left)
		var svd mat.SVD
		svd.Factorize(&z, mat.SVDThin)
		var u, v, want mat.Dense
		svd.UTo(&u)
		svd.VTo(&v)
		want.Product(u.Slice(0, out, 0, r), mat.NewDiagDense(r, svd.Values(nil)[:r]), v.Slice(0, in, 0, r).T())

		if err := Step(a, b, pack(&da), pack(&db), rate); err != nil {
			t.Fatal(err)
		}
		var got, diff mat.Dense
		got.Mul(dense(b), dense(a))
		diff.Sub(&got, &want)
		if e := mat.Norm(&diff, 2) / mat.Norm(&want, 2); e > 1e-5 {
			t.Errorf("rate %g: relative error %.1e", rate, e)
		}
		var ga, gb mat.Dense
		ga.Mul(dense(a), dense(a).T())
		gb.Mul(dense(b).T(), dense(b))
		if !mat.EqualApprox(&ga, &gb, 1e-3*mat.Norm(&ga, 2)) {
			t.Errorf("rate %g: the factors are not balanced", rate)
		}
	}
}

func TestStepErrors(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	fresh := func() (a, b, da, db Matrix) {
		return random(rng, 3, 9), random(rng, 7, 3), random(rng, 3, 9), random(rng, 7, 3)
	}
	for name, spoil := range map[string]func(a, b, da, db *Matrix){
		"zeros":         func(_, b, _, _ *Matrix) { clear(b.Data) },
		"equal columns": func(a, _, _, _ *Matrix) { copy(a.Data[a.Stride:], a.Data[:a.Cols]) },
		"not finite":    func(a, _, _, _ *Matrix) { a.Data[4] = float32(math.NaN()) },
		"infinite":      func(_, b, _, _ *Matrix) { b.Data[4] = float32(math.Inf(1)) },
		"direction":     func(_, _, da, _ *Matrix) { da.Data[1] = float32(math.Inf(1)) },
	} {
		a, b, da, db := fresh()
		spoil(&a, &b, &da, &db)
		was := append([]float32(nil), b.Data...)
		if err := Step(a, b, da, db, 0.1); err == nil {
			t.Errorf("%s: no error", name)
		}
		for i := range was {
			if math.Float32bits(was[i]) != math.Float32bits(b.Data[i]) {
				t.Errorf("%s: B changed", name)
				break
			}
		}
	}
}
