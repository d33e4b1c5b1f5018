package reference

import (
	"math"

	"gonum.org/v1/gonum/mat"

	"boost-tui/kernels"
)

// runVariant does the operations that only some variants need.
func (d *Device) runVariant(op kernels.Op) error {
	switch o := op.(type) {
	case *kernels.Cross:
		u, prev, gate := d.mat(o.U), d.mat(o.Prev), d.mat(o.Gate)
		each(d.mat(o.H), func(r, c int) float64 { return act(o.Silu, u.at(r, c)) + gateOf(gate, c)*act(o.Silu, prev.at(r, c)) })
	case *kernels.CrossBwd:
		d.crossBwd(o)
	case *kernels.Scatter:
		each(d.mat(o.Out), func(int, int) float64 { return 0 })
		values, index, out := d.mat(o.Values), d.mat(o.Index), d.flat(o.Out)
		for i := range index.cols {
			if at := index.id(0, i); at >= 0 {
				out.setBits(0, at, values.bits(0, i))
			}
		}
	case *kernels.Pick:
		x, index, out := d.flat(o.X), d.mat(o.Index), d.mat(o.Out)
		each(out, func(_, i int) float64 {
			at := index.id(0, i)
			if at < 0 {
				return 0
			}
			v := x.at(0, at)
			if o.Beta != 0 {
				v += float64(o.Beta) * out.at(0, i)
			}
			return v
		})
	case *kernels.Draw:
		each(d.mat(o.X), func(r, c int) float64 {
			return float64(o.Bound) * (2*kernels.Uniform(o.Key, uint64((o.Row+r)*o.Width+o.Col+c)) - 1)
		})
	case *kernels.Adam:
		d.adam(o)
	case *kernels.LowRankStep:
		d.lowRankStep(o)
	default:
		return unsupported(op)
	}
	return nil
}

func act(on bool, x float64) float64 {
	if on {
		return silu(x)
	}
	return x
}

func gateOf(gate matrix, c int) float64 {
	if gate.rows == 0 {
		return 1
	}
	return gate.at(0, c)
}

func (d *Device) crossBwd(o *kernels.CrossBwd) {
	dh, carry, prev, gate, dgate := d.mat(o.DH), d.mat(o.Carry), d.mat(o.Prev), d.mat(o.Gate), d.mat(o.DGate)
	each(dgate, func(_, c int) float64 {
		return dgate.at(0, c) + d.sum(dh.rows, func(r int) float64 { return dh.at(r, c) * act(o.Silu, prev.at(r, c)) })
	})
	for r := range dh.rows {
		for c := range dh.cols {
			g, brought := dh.at(r, c), 0.0
			if !o.Fresh {
				brought = carry.at(r, c)
			}
			carry.set(r, c, gateOf(gate, c)*g)
			dh.set(r, c, g+brought)
		}
	}
}

func (d *Device) adam(o *kernels.Adam) {
	p, m, v, g, out := d.mat(o.Param), d.mat(o.M), d.mat(o.V), d.mat(o.Grad), d.mat(o.Out)
	scale := d.mat(o.Scale).at(0, 0)
	if math.IsNaN(scale) || math.IsInf(scale, 0) {
		each(out, func(int, int) float64 { return 0 })
		return
	}
	b1, b2 := float64(o.Beta1), float64(o.Beta2)
	for r := range m.rows {
		for c := range m.cols {
			grad := g.at(r, c) * scale
			mv, vv := b1*m.at(r, c)+(1-b1)*grad, b2*v.at(r, c)+(1-b2)*grad*grad
			m.set(r, c, mv)
			v.set(r, c, vv)
			dir := mv / (math.Sqrt(vv) + float64(o.Eps))
			if out.rows > 0 {
				out.set(r, c, dir)
			} else {
				p.set(r, c, (p.at(r, c)-float64(o.Rate)*dir)*(1-float64(o.Decay)))
			}
		}
	}
}

func (m matrix) dense() *mat.Dense {
	out := mat.NewDense(m.rows, m.cols, nil)
	for r := range m.rows {
		for c := range m.cols {
			out.Set(r, c, m.at(r, c))
		}
	}
	return out
}

// lowRankStep forms the moved matrix as a whole and decomposes it; with U and V the orthonormal bases of B and A^T,
// the direction is U·UG + (1 − U·U^T)·GV·V^T: what DA and DB say about the common part is taken from DA.
func (d *Device) lowRankStep(o *kernels.LowRankStep) {
	if scale := d.mat(o.Scale).at(0, 0); math.IsNaN(scale) || math.IsInf(scale, 0) {
		return
	}
	am, bm := d.mat(o.A), d.mat(o.B)
	a, b, da, db := am.dense(), bm.dense(), d.mat(o.DA).dense(), d.mat(o.DB).dense()
	u, rm := basis(b)
	v, rn := basis(a.T())
	var gvT, ug, z, term mat.Dense
	_ = gvT.Solve(rn.T(), db.T()) // (D_B Rn^-1)^T; a poor condition is no error here
	_ = ug.Solve(rm.T(), da)
	z.Mul(b, a)
	move := func(rate float64, factors ...mat.Matrix) {
		term.Reset()
		term.Product(factors...)
		term.Scale(rate, &term)
		z.Add(&z, &term)
	}
	rate := float64(o.Rate)
	move(-rate, gvT.T(), v.T())
	move(-rate, u, &ug)
	move(rate, u, u.T(), gvT.T(), v.T())
	var svd mat.SVD
	svd.Factorize(&z, mat.SVDThin)
	var left, right mat.Dense
	svd.UTo(&left)
	svd.VTo(&right)
	s := svd.Values(nil)
	each(am, func(r, c int) float64 { return math.Sqrt(s[r]) * right.At(c, r) })
	each(bm, func(r, c int) float64 { return math.Sqrt(s[c]) * left.At(r, c) })
}

// basis is the thin QR decomposition of a tall matrix.
func basis(a mat.Matrix) (q, r *mat.Dense) {
	n, c := a.Dims()
	var qr mat.QR
	qr.Factorize(a)
	var qf, rf mat.Dense
	qr.QTo(&qf)
	qr.RTo(&rf)
	return mat.DenseCopyOf(qf.Slice(0, n, 0, c)), mat.DenseCopyOf(rf.Slice(0, c, 0, c))
}
