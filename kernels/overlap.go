package kernels

// Same reports whether two views are the same elements in the same shape.
func (v View) Same(w View) bool {
	return v.Buf == w.Buf && v.Offset == w.Offset && v.Rows == w.Rows && v.Cols == w.Cols && v.DType == w.DType && (v.LD == w.LD || v.Rows <= 1)
}

// Overlaps reports whether two views share a byte. It never misses one; of two views with gaps of
// different leading dimensions it says yes when their extents meet.
func (v View) Overlaps(w View) bool {
	if v.Buf == nil || v.Buf != w.Buf || v.Len() == 0 || w.Len() == 0 {
		return false
	}
	r, s := spanOf(v), spanOf(w)
	switch {
	case r.lo >= s.end() || s.lo >= r.end():
		return false
	case r.rows == 1:
		return s.meets(r.lo, r.end())
	case s.rows == 1:
		return r.meets(s.lo, s.end())
	case r.stride == s.stride:
		// The distance between a row of one and the row of the other before it.
		d := ((s.lo-r.lo)%r.stride + r.stride) % r.stride
		return d < r.length || d+s.length > r.stride
	}
	return true
}

// span is the memory of a view in bytes: rows of length, stride apart.
type span struct{ lo, length, stride, rows int64 }

func spanOf(v View) span {
	es := v.DType.Bytes()
	if v.Contiguous() {
		return span{lo: v.Offset, length: v.Bytes(), rows: 1}
	}
	return span{v.Offset, int64(v.Cols) * es, int64(v.LD) * es, int64(v.Rows)}
}

func (r span) end() int64 { return r.lo + (r.rows-1)*r.stride + r.length }

// meets reports whether a row touches the bytes [lo, hi), which are known to meet the span's extent.
func (r span) meets(lo, hi int64) bool {
	if r.rows == 1 {
		return true
	}
	// Rows up to this one may end at or before lo; the row after the last of those decides.
	first := max((lo-r.lo-r.length)/r.stride, 0)
	for i := first; i < min(r.rows, first+3); i++ {
		at := r.lo + i*r.stride
		if lo < at+r.length && at < hi {
			return true
		}
	}
	return false
}

// EachOperand yields every view that an operation touches. Of a batch of products it yields the views of all,
// where Gemm.Operands yields those of the first and the last.
func EachOperand(op Op, yield func(Operand)) {
	g, ok := op.(*Gemm)
	if !ok || g.Count() == 1 {
		op.Operands(yield)
		return
	}
	one := *g
	one.Batch = 1
	for i := range int64(g.Count()) {
		one.Operands(func(o Operand) {
			stride := map[string]int64{"A": g.StrideA, "B": g.StrideB, "C": g.StrideC, "D": g.StrideD}[o.Name]
			if i > 0 && stride == 0 {
				return
			}
			o.View.Offset += i * stride * o.View.DType.Bytes()
			yield(o)
		})
	}
}
