package model

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"
	"math/bits"

	"boost-tui/kernels"
)

// holding is what a rank holds of a sparse matrix: rows and columns of the whole.
type holding struct {
	sparse
	rows, cols                 int
	rowLo, rowHi, colLo, colHi int
}

// sparse is the part of a sparse matrix that the rank holds (METHOD.md §2, SLTrain): of the values those whose elements
// lie in its rows and columns. How many those are is up to chance, so the memory has room for more; what is
// not used has the index -1 and counts for nothing.
type sparse struct {
	value, dvalue kernels.View // [1, room]
	index         kernels.View // [1, room], I32: places in the rank's [out, in]
}

// room is how many values a rank of t gets memory for: eight standard deviations above the mean of a uniform support.
// It depends on no draw, so that all ranks allocate the same and a plan knows it.
func room(nonzeros, t int) int {
	if t == 1 {
		return nonzeros
	}
	mean := float64(nonzeros) / float64(t)
	return min(nonzeros, int(mean+8*math.Sqrt(mean))+16)
}

// scatter makes the unit's matrices dense in w.
func (g *group) scatter(p *pass, u unit) kernels.View {
	w := g.operatorRoom(p, u, p.cfg.DType)
	for i := u.lo; i < u.hi; i++ {
		s := &g.sparse[i]
		p.x.Do(u.name+".S", &kernels.Scatter{Values: s.value, Index: s.index, Out: w.RowRange((i-u.lo)*g.out, (i-u.lo+1)*g.out)})
	}
	return w
}

// pick adds the gradients of the values: those of the dense matrices, where there are values.
func (g *group) pick(p *pass, dy bundle, in kernels.View) {
	for _, u := range g.units {
		w := g.operatorRoom(p, u, kernels.F32)
		p.x.Do(u.name+".dW", &kernels.Gemm{TransA: true, Alpha: 1, A: dy.span(u), B: in, D: w})
		for i := u.lo; i < u.hi; i++ {
			s := &g.sparse[i]
			p.x.Do(u.name+".dS", &kernels.Pick{X: w.RowRange((i-u.lo)*g.out, (i-u.lo+1)*g.out), Index: s.index, Out: s.dvalue, Beta: p.accumulate()})
		}
	}
}

// operatorRoom is shared memory for the unit's matrices, or for their gradients.
func (g *group) operatorRoom(p *pass, u unit, dt kernels.DType) kernels.View {
	w := p.work.operator
	return kernels.Matrix(w.Buf, w.Offset, u.count()*g.out, g.in, dt)
}

// LoadSupport sets where the elements of a linear's sparse matrix lie: all of them, as places in the whole matrix
// row by row, in rising order. Values are loaded after it.
func (d *Decoder) LoadSupport(ctx context.Context, linear string, places []int64) error {
	p, err := d.Param(linear + ".sparse_value")
	if err != nil {
		return err
	}
	if len(places) != p.Cols {
		return fmt.Errorf("model: support of %s has %d elements, want %d", linear, len(places), p.Cols)
	}
	h := p.sparse
	own, lie := []int64{}, []int64{}
	var local []int32
	for i, at := range places {
		row, col := int(at/int64(h.cols)), int(at%int64(h.cols))
		if at < 0 || row >= h.rows || i > 0 && at <= places[i-1] {
			return fmt.Errorf("model: support of %s: element %d is %d, outside %dx%d or not in rising order", linear, i, at, h.rows, h.cols)
		}
		if row >= h.rowLo && row < h.rowHi && col >= h.colLo && col < h.colHi {
			own, lie = append(own, int64(i)), append(lie, at)
			local = append(local, int32((row-h.rowLo)*(h.colHi-h.colLo)+col-h.colLo))
		}
	}
	if len(own) > h.index.Cols {
		return fmt.Errorf("model: support of %s has %d of its %d elements in one rank's part, where there is room for %d: it is far from uniform",
			linear, len(own), len(places), h.index.Cols)
	}
	err = d.pieces(h.index, func(host *kernels.Host, from int, piece kernels.View) error {
		for i := range piece.Cols {
			at := int32(-1)
			if from+i < len(local) {
				at = local[from+i]
			}
			binary.NativeEndian.PutUint32(host.Bytes[4*i:], uint32(at))
		}
		return d.upload(ctx, linear+".sparse_index", host, 0, piece)
	})
	if err != nil {
		return err
	}
	p.Picks, p.Places = own, lie
	p.Weight, p.Grad = h.value.ColRange(0, len(own)), h.dvalue.ColRange(0, len(own))
	d.params[d.byName[p.Name]] = p
	return nil
}

// support draws n different places of [0, total), in rising order, uniformly.
func support(g random, n int, total int64) []int64 {
	taken := make([]uint64, (total+63)/64)
	// Of a support above a half the rest is drawn.
	inverted := int64(n) > total/2
	want := int64(n)
	if inverted {
		want = total - want
	}
	for i := uint64(0); want > 0; i++ {
		at := int64(g.uniform(i) * float64(total))
		if word, bit := &taken[at/64], uint64(1)<<(at%64); *word&bit == 0 {
			*word |= bit
			want--
		}
	}
	out := make([]int64, 0, n)
	for w, word := range taken {
		if inverted {
			word = ^word
		}
		for ; word != 0; word &= word - 1 {
			if at := int64(w)*64 + int64(bits.TrailingZeros64(word)); at < total {
				out = append(out, at)
			}
		}
	}
	return out
}
