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
	half           bool // BF16: two elements a word, the first in its low half
	first          int  // then, the first element counted from w
}

// bits are those of an element as it is stored.
func (m matrix) bits(r, c int) uint32 {
	if !m.half {
		return m.w[r*m.ld+c]
	}
	i := m.first + r*m.ld + c
	return m.w[i/2] >> (16 * (i % 2)) & 0xffff
}

func (m matrix) setBits(r, c int, b uint32) {
	if !m.half {
		m.w[r*m.ld+c] = b
		return
	}
	i := m.first + r*m.ld + c
	shift := 16 * (i % 2)
	m.w[i/2] = m.w[i/2]&^(0xffff<<shift) | b<<shift
}

// at is an element; set stores one as a device with fp32 arithmetic does: rounded to fp32 and, where it is BF16, from there.
func (m matrix) at(r, c int) float64 {
	if m.half {
		return float64(kernels.FromBF16(uint16(m.bits(r, c))))
	}
	return float64(math.Float32frombits(m.w[r*m.ld+c]))
}

func (m matrix) set(r, c int, v float64) {
	if m.half {
		m.setBits(r, c, uint32(kernels.ToBF16(float32(v))))
		return
	}
	m.w[r*m.ld+c] = math.Float32bits(float32(v))
}

func (m matrix) id(r, c int) int { return int(int32(m.w[r*m.ld+c])) }

// mat is the view's memory; an absent view gives a matrix of no rows.
func (d *Device) mat(v kernels.View) matrix {
	if v.IsZero() {
		return matrix{}
	}
	m := matrix{w: d.mem[v.Buf.Ptr], rows: v.Rows, cols: v.Cols, ld: v.LD}
	if v.DType == kernels.BF16 {
		m.half, m.first = true, int(v.Offset/2)
	} else {
		m.w = m.w[v.Offset/4:]
	}
	return m
}

// flat is a contiguous view as one row.
func (d *Device) flat(v kernels.View) matrix { return d.mat(v.Flat()) }

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
			for c := range dst.cols {
				dst.setBits(r, c, src.bits(r, c))
			}
		}
	case *kernels.Convert:
		src := d.mat(o.X)
		each(d.mat(o.Out), src.at)
	case *kernels.Fill:
		each(d.mat(o.X), func(int, int) float64 { return float64(o.Value) })
	case *kernels.Upload:
		m, from := d.flat(o.Dst), o.Src.Bytes[o.Offset:]
		for i := range m.cols {
			if m.half {
				m.setBits(0, i, uint32(binary.NativeEndian.Uint16(from[2*i:])))
			} else {
				m.setBits(0, i, binary.NativeEndian.Uint32(from[4*i:]))
			}
		}
	case *kernels.Download:
		m, to := d.flat(o.Src), o.Dst.Bytes[o.Offset:]
		for i := range m.cols {
			if m.half {
				binary.NativeEndian.PutUint16(to[2*i:], uint16(m.bits(0, i)))
			} else {
				binary.NativeEndian.PutUint32(to[4*i:], m.bits(0, i))
			}
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
			sum := d.dot(a[r], b[col]) * float64(o.Alpha)
			if o.Beta != 0 {
				sum += float64(o.Beta) * c.at(r, col)
			}
			return sum
		})
	}
}

func (d *Device) dot(a, b []float64) float64 {
	if d.world.Coarse {
		return d.sum(len(a), func(j int) float64 { return a[j] * b[j] })
	}
	sum := 0.0
	for j, v := range a {
		sum += v * b[j]
	}
	return sum
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
