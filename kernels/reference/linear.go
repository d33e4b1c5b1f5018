package reference

import (
	"encoding/binary"
	"fmt"
	"math"

	"boost-tui/kernels"
)

// matrix is a view with its memory.
type matrix struct {
	w              []uint32
	rows, cols, ld int
}

func (m matrix) at(r, c int) float64     { return float64(math.Float32frombits(m.w[r*m.ld+c])) }
func (m matrix) set(r, c int, v float64) { m.w[r*m.ld+c] = math.Float32bits(float32(v)) }
func (m matrix) id(r, c int) int         { return int(int32(m.w[r*m.ld+c])) }

// mat is the view's memory; an absent view gives a matrix of no rows.
func (d *Device) mat(v kernels.View) matrix {
	if v.IsZero() {
		return matrix{}
	}
	return matrix{w: d.mem[v.Buf.Ptr][v.Offset/4:], rows: v.Rows, cols: v.Cols, ld: v.LD}
}

// words are the elements of a contiguous view.
func (d *Device) words(v kernels.View) []uint32 {
	return d.mem[v.Buf.Ptr][v.Offset/4:][:v.Len()]
}

// run does one operation whose views were checked.
func (d *Device) run(op kernels.Op) error {
	switch o := op.(type) {
	case *kernels.Gemm:
		d.gemm(o)
	case *kernels.Axpby:
		d.axpby(o)
	case *kernels.Copy:
		src, dst := d.mat(o.Src), d.mat(o.Dst)
		for r := range dst.rows {
			copy(dst.w[r*dst.ld:][:dst.cols], src.w[r*src.ld:][:src.cols])
		}
	case *kernels.Fill:
		each(d.mat(o.X), func(int, int) float64 { return float64(o.Value) })
	case *kernels.Upload:
		for i, w := 0, d.words(o.Dst); i < len(w); i++ {
			w[i] = binary.NativeEndian.Uint32(o.Src.Bytes[o.Offset+int64(4*i):])
		}
	case *kernels.Download:
		for i, w := range d.words(o.Src) {
			binary.NativeEndian.PutUint32(o.Dst.Bytes[o.Offset+int64(4*i):], w)
		}
	case *kernels.Collective:
		return d.collective(o)
	case *kernels.Send:
		return d.send(o)
	case *kernels.Recv:
		return d.receive(o)
	default:
		return d.runBlock(op)
	}
	return nil
}

// each sets every element to f.
func each(m matrix, f func(r, c int) float64) {
	for r := range m.rows {
		for c := range m.cols {
			m.set(r, c, f(r, c))
		}
	}
}

func (d *Device) axpby(o *kernels.Axpby) {
	x, y := d.mat(o.X), d.mat(o.Y)
	each(d.mat(o.Out), func(r, c int) float64 {
		v := float64(o.A) * x.at(r, c)
		if y.rows > 0 {
			v += float64(o.B) * y.at(r, c)
		}
		return v
	})
}

func (d *Device) gemm(o *kernels.Gemm) {
	m, n, k := o.Dims()
	for i := range o.Count() {
		at := func(v kernels.View, stride int64) matrix {
			v.Offset += int64(i) * stride * v.DType.Bytes()
			return d.mat(v)
		}
		a, b := rowsOf(at(o.A, o.StrideA), o.TransA, m, k), rowsOf(at(o.B, o.StrideB), !o.TransB, n, k)
		out := at(o.D, o.StrideD)
		c := out
		if !o.C.IsZero() {
			c = at(o.C, o.StrideC)
		}
		each(out, func(r, col int) float64 {
			sum := 0.0
			for j, v := range a[r] {
				sum += v * b[col][j]
			}
			sum *= float64(o.Alpha)
			if o.Beta != 0 {
				sum += float64(o.Beta) * c.at(r, col)
			}
			return sum
		})
	}
}

// rowsOf copies n vectors of length k: the rows, or when turned the columns.
func rowsOf(m matrix, turned bool, n, k int) [][]float64 {
	out := make([][]float64, n)
	for i := range out {
		out[i] = make([]float64, k)
		for j := range out[i] {
			if turned {
				out[i][j] = m.at(j, i)
			} else {
				out[i][j] = m.at(i, j)
			}
		}
	}
	return out
}

func unsupported(op kernels.Op) error {
	return fmt.Errorf("operation %s: %w", op.Name(), kernels.ErrUnsupported)
}
