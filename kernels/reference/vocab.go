package reference

import (
	"math"

	"boost-tui/kernels"
)

func (d *Device) runVocab(op kernels.Op) error {
	switch o := op.(type) {
	case *kernels.Embed:
		id, table := d.mat(o.IDs), d.mat(o.Table)
		each(d.mat(o.Out), func(r, c int) float64 {
			if i := id.id(r, 0) - o.First; i >= 0 && i < table.rows {
				return table.at(i, c)
			}
			return 0
		})
	case *kernels.EmbedBwd:
		id, table, dy := d.mat(o.IDs), d.mat(o.DTable), d.mat(o.DOut)
		for r := range dy.rows {
			if i := id.id(r, 0) - o.First; i >= 0 && i < table.rows {
				for c := range dy.cols {
					table.set(i, c, table.at(i, c)+dy.at(r, c))
				}
			}
		}
	case *kernels.XentMax:
		x := d.mat(o.Logits)
		each(d.mat(o.Max), func(r, _ int) float64 {
			top := math.Inf(-1)
			for c := range x.cols {
				top = math.Max(top, x.at(r, c))
			}
			return top
		})
	case *kernels.XentSum:
		x, top, tgt := d.mat(o.Logits), d.mat(o.Max), d.mat(o.Targets)
		each(d.mat(o.Sum), func(r, _ int) float64 {
			return d.sum(x.cols, func(c int) float64 { return math.Exp(x.at(r, c) - top.at(r, 0)) })
		})
		each(d.mat(o.Target), func(r, _ int) float64 {
			if i := tgt.id(r, 0) - o.First; i >= 0 && i < x.cols {
				return x.at(r, i) - top.at(r, 0)
			}
			return 0
		})
	case *kernels.XentLoss:
		d.xentLoss(o)
	default:
		return d.runOptim(op)
	}
	return nil
}

func (d *Device) xentLoss(o *kernels.XentLoss) {
	x, top, tgt := d.mat(o.Logits), d.mat(o.Max), d.mat(o.Targets)
	sum, target, loss := d.mat(o.Sum), d.mat(o.Target), d.mat(o.Loss)
	total := d.sum(x.rows, func(r int) float64 { return math.Log(sum.at(r, 0)) - target.at(r, 0) })
	loss.set(0, 0, loss.at(0, 0)+float64(o.Scale)*total)
	each(d.mat(o.DLogits), func(r, c int) float64 {
		p := math.Exp(x.at(r, c)-top.at(r, 0)) / sum.at(r, 0)
		if tgt.id(r, 0)-o.First == c {
			p--
		}
		return float64(o.Scale) * p
	})
}

func (d *Device) runOptim(op kernels.Op) error {
	switch o := op.(type) {
	case *kernels.SumSq:
		x, out := d.mat(o.X), d.mat(o.Out)
		s := d.sum(x.rows, func(r int) float64 {
			return d.sum(x.cols, func(c int) float64 { return x.at(r, c) * x.at(r, c) })
		})
		out.set(0, 0, out.at(0, 0)+s)
	case *kernels.ClipScale:
		norm := math.Sqrt(d.mat(o.SumSq).at(0, 0))
		scale := 1.0
		if o.MaxNorm > 0 {
			scale = min(1, float64(o.MaxNorm)/(norm+1e-6))
		}
		if math.IsNaN(norm) || math.IsInf(norm, 0) {
			scale = math.NaN()
		}
		d.mat(o.Norm).set(0, 0, norm)
		d.mat(o.Scale).set(0, 0, scale)
	case *kernels.AdamW:
		d.adamw(o)
	case *kernels.FindNonFinite:
		x := d.mat(o.At).w
		x[0], x[1] = 0xFFFFFFFF, 0xFFFFFFFF
		m := d.mat(o.X)
		for i := range m.rows * m.cols {
			if v := m.at(i/m.cols, i%m.cols); math.IsNaN(v) || math.IsInf(v, 0) {
				x[0], x[1] = uint32(i/m.cols), uint32(i%m.cols)
				break
			}
		}
	default:
		return d.runVariant(op)
	}
	return nil
}

func (d *Device) adamw(o *kernels.AdamW) {
	p, m, v, g := d.mat(o.Param), d.mat(o.M), d.mat(o.V), d.mat(o.Grad)
	scale := d.mat(o.Scale).at(0, 0)
	if math.IsNaN(scale) || math.IsInf(scale, 0) {
		return
	}
	b1, b2, lr := float64(o.Beta1), float64(o.Beta2), float64(o.LR)
	c1, c2 := 1-math.Pow(b1, float64(o.Step)), 1-math.Pow(b2, float64(o.Step))
	for r := range p.rows {
		for c := range p.cols {
			grad := g.at(r, c) * scale
			mv, vv := b1*m.at(r, c)+(1-b1)*grad, b2*v.at(r, c)+(1-b2)*grad*grad
			m.set(r, c, mv)
			v.set(r, c, vv)
			p.set(r, c, p.at(r, c)*(1-lr*float64(o.WeightDecay))-lr*(mv/c1)/(math.Sqrt(vv/c2)+float64(o.Eps)))
		}
	}
}
