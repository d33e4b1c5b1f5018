package reference

import (
	"math"

	"boost-tui/kernels"
)

func sigmoid(x float64) float64 { return 1 / (1 + math.Exp(-x)) }
func silu(x float64) float64    { return x * sigmoid(x) }
func dsilu(x float64) float64 {
	s := sigmoid(x)
	return s * (1 + x*(1-s))
}

func (d *Device) runBlock(op kernels.Op) error {
	switch o := op.(type) {
	case *kernels.NormStats:
		x := d.mat(o.X)
		each(d.mat(o.Stat), func(r, _ int) float64 {
			return d.sum(x.cols, func(c int) float64 { return x.at(r, c) * x.at(r, c) })
		})
	case *kernels.NormRStd:
		s := d.mat(o.Stat)
		each(d.mat(o.RStd), func(r, _ int) float64 { return 1 / math.Sqrt(s.at(r, 0)/float64(o.Width)+float64(o.Eps)) })
	case *kernels.NormApply:
		x, w, inv := d.mat(o.X), d.mat(o.W), d.mat(o.RStd)
		each(d.mat(o.Y), func(r, c int) float64 { return x.at(r, c) * w.at(0, c) * orOne(inv, r) })
	case *kernels.NormBwdStats:
		x, w, inv, dy := d.mat(o.X), d.mat(o.W), d.mat(o.RStd), d.mat(o.DY)
		each(d.mat(o.Dot), func(r, _ int) float64 {
			return d.sum(x.cols, func(c int) float64 { return dy.at(r, c) * w.at(0, c) * x.at(r, c) * inv.at(r, 0) })
		})
	case *kernels.NormBwdApply:
		d.normBwd(o)
	case *kernels.Latent:
		d.latent(o)
	case *kernels.LatentBwd:
		d.latentBwd(o)
	case *kernels.SwiGLU:
		g, u := d.mat(o.G), d.mat(o.U)
		each(d.mat(o.Y), func(r, c int) float64 {
			if o.Silu {
				return silu(g.at(r, c)) * u.at(r, c)
			}
			return g.at(r, c) * u.at(r, c)
		})
	case *kernels.SwiGLUBwd:
		d.swigluBwd(o)
	default:
		return d.runAttention(op)
	}
	return nil
}

// sum adds up f of 0 to n-1.
func (d *Device) sum(n int, f func(c int) float64) float64 {
	if d.world.Coarse {
		s := float32(0)
		for c := range n {
			s += float32(f(n - 1 - c))
		}
		return float64(s)
	}
	s := 0.0
	for c := range n {
		s += f(c)
	}
	return s
}

// orOne is the row's factor; an absent vector counts as ones.
func orOne(m matrix, r int) float64 {
	if m.rows == 0 {
		return 1
	}
	return m.at(r, 0)
}

func (d *Device) normBwd(o *kernels.NormBwdApply) {
	x, w, inv, dy, dot := d.mat(o.X), d.mat(o.W), d.mat(o.RStd), d.mat(o.DY), d.mat(o.Dot)
	base, dw := d.mat(o.Base), d.mat(o.DW)
	each(dw, func(_, c int) float64 {
		return dw.at(0, c) + d.sum(x.rows, func(r int) float64 { return dy.at(r, c) * x.at(r, c) * inv.at(r, 0) })
	})
	each(d.mat(o.DX), func(r, c int) float64 {
		i := inv.at(r, 0)
		v := i * (dy.at(r, c)*w.at(0, c) - x.at(r, c)*i*dot.at(r, 0)/float64(o.Width))
		if base.rows > 0 {
			v += base.at(r, c)
		}
		return v
	})
}

func (d *Device) latent(o *kernels.Latent) {
	p, inv, u, h := d.mat(o.P), d.mat(o.RStd), d.mat(o.U), d.mat(o.H)
	each(u, func(r, c int) float64 { return p.at(r, c) * orOne(inv, r) })
	each(h, func(r, c int) float64 { return silu(u.at(r, c)) })
}

func (d *Device) latentBwd(o *kernels.LatentBwd) {
	dh, u, du := d.mat(o.DH), d.mat(o.U), d.mat(o.DU)
	back := func(r, c int) float64 {
		if o.Silu {
			return dh.at(r, c) * dsilu(u.at(r, c))
		}
		return dh.at(r, c)
	}
	each(d.mat(o.Dot), func(r, _ int) float64 {
		return d.sum(u.cols, func(c int) float64 { return u.at(r, c) * float64(float32(back(r, c))) })
	})
	each(du, back)
}

func (d *Device) swigluBwd(o *kernels.SwiGLUBwd) {
	g, u, dy, dg, du := d.mat(o.G), d.mat(o.U), d.mat(o.DY), d.mat(o.DG), d.mat(o.DU)
	for r := range g.rows {
		for c := range g.cols {
			gv, uv, y := g.at(r, c), u.at(r, c), dy.at(r, c)
			a, da := gv, 1.0
			if o.Silu {
				a, da = silu(gv), dsilu(gv)
			}
			dg.set(r, c, y*uv*da)
			du.set(r, c, y*a)
		}
	}
}
