package reference

import (
	"math"

	"boost-tui/kernels"
)

func (d *Device) runAttention(op kernels.Op) error {
	switch o := op.(type) {
	case *kernels.Rope:
		d.rope(o)
	case *kernels.Attention:
		d.attention(o)
	case *kernels.AttentionBwd:
		d.attentionBwd(o)
	default:
		return d.runVocab(op)
	}
	return nil
}

// rope turns the pairs (i, i+hd/2) of each head by pos·theta^(-2i/hd).
func (d *Device) rope(o *kernels.Rope) {
	x, half := d.mat(o.X), o.HeadDim/2
	for r := range x.rows {
		for h := 0; h < x.cols; h += o.HeadDim {
			for i := range half {
				sin, cos := math.Sincos(float64(r%o.Seq) * math.Pow(float64(o.Theta), -2*float64(i)/float64(o.HeadDim)))
				if o.Inverse {
					sin = -sin
				}
				lo, hi := x.at(r, h+i), x.at(r, h+half+i)
				x.set(r, h+i, lo*cos-hi*sin)
				x.set(r, h+half+i, hi*cos+lo*sin)
			}
		}
	}
}

func (d *Device) dotHead(a matrix, ra int, b matrix, rb, from, n int) float64 {
	return d.sum(n, func(c int) float64 { return a.at(ra, from+c) * b.at(rb, from+c) })
}

// weight is what probabilities, and their gradients, are multiplied with matrices as. In BF16 tensor cores take heads of these
// dimensions, and round them; of other heads they stay as they are.
func weight(q matrix, headDim int, p float64) float64 {
	if q.half && (headDim == 64 || headDim == 128) {
		return float64(kernels.FromBF16(kernels.ToBF16(float32(p))))
	}
	return p
}

func (d *Device) attention(o *kernels.Attention) {
	q, k, v, out, lse := d.mat(o.Q), d.mat(o.K), d.mat(o.V), d.mat(o.O), d.mat(o.LSE)
	p := make([]float64, o.Seq)
	for r := range q.rows {
		first := r - r%o.Seq
		for h := range q.cols / o.HeadDim {
			from, n := h*o.HeadDim, r-first+1
			top := math.Inf(-1)
			for j := range n {
				p[j] = d.dotHead(q, r, k, first+j, from, o.HeadDim) * float64(o.Scale)
				top = math.Max(top, p[j])
			}
			sum := d.sum(n, func(j int) float64 { return math.Exp(p[j] - top) })
			lse.set(r, h, top+math.Log(sum))
			for c := range o.HeadDim {
				out.set(r, from+c, d.sum(n, func(j int) float64 { return weight(q, o.HeadDim, math.Exp(p[j]-top)) * v.at(first+j, from+c) })/sum)
			}
		}
	}
}

func (d *Device) attentionBwd(o *kernels.AttentionBwd) {
	q, k, v, out, lse := d.mat(o.Q), d.mat(o.K), d.mat(o.V), d.mat(o.O), d.mat(o.LSE)
	do, n, scale := d.mat(o.DO), q.rows*q.cols, float64(o.Scale)
	dq, dk, dv := make([]float64, n), make([]float64, n), make([]float64, n)
	for r := range q.rows {
		for h := range q.cols / o.HeadDim {
			from := h * o.HeadDim
			row := d.dotHead(do, r, out, r, from, o.HeadDim)
			for j := r - r%o.Seq; j <= r; j++ {
				p := math.Exp(d.dotHead(q, r, k, j, from, o.HeadDim)*scale - lse.at(r, h))
				ds := p * (d.dotHead(do, r, v, j, from, o.HeadDim) - row) * scale
				for c := from; c < from+o.HeadDim; c++ {
					dq[r*q.cols+c] += weight(q, o.HeadDim, ds) * k.at(j, c)
					dk[j*q.cols+c] += weight(q, o.HeadDim, ds) * q.at(r, c)
					dv[j*q.cols+c] += weight(q, o.HeadDim, p) * do.at(r, c)
				}
			}
		}
	}
	for view, from := range map[kernels.View][]float64{o.DQ: dq, o.DK: dk, o.DV: dv} {
		each(d.mat(view), func(r, c int) float64 { return from[r*q.cols+c] })
	}
}
