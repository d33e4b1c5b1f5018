package kernels

import "fmt"

// Gemm is D = Alpha * op(A) op(B) + Beta * C, Batch times; accumulation is in fp32 or wider.
//
// The views describe the first product of the batch; the others lie StrideX elements further on
// (0: the same matrix again). C absent means C = D. TransA: A is stored [k, m]; TransB: B is stored [n, k].
// A and B are of one type, C and D of one; from BF16 D is BF16 or F32, from F32 it is F32.
type Gemm struct {
	TransA, TransB                     bool
	Alpha, Beta                        float32
	A, B, C, D                         View
	Batch                              int // 0 counts as 1
	StrideA, StrideB, StrideC, StrideD int64
}

// Dims are m, n and k of one product.
func (g *Gemm) Dims() (m, n, k int) {
	if g.TransA {
		return g.D.Rows, g.D.Cols, g.A.Rows
	}
	return g.D.Rows, g.D.Cols, g.A.Cols
}

// Count is the number of products.
func (g *Gemm) Count() int { return max(g.Batch, 1) }

// Name implements Op.
func (g *Gemm) Name() string { return "gemm" }

// Class implements Op.
func (g *Gemm) Class() Class { return Compute }

// FLOPs is 2·m·n·k per product.
func (g *Gemm) FLOPs() int64 {
	m, n, k := g.Dims()
	return 2 * int64(m) * int64(n) * int64(k) * int64(g.Count())
}

// Operands implements Op. For a batch the last product's views are yielded too, so that bounds hold for all.
func (g *Gemm) Operands(yield func(Operand)) {
	dw := Write
	if g.Beta != 0 && g.C.IsZero() {
		dw = ReadWrite
	}
	list := []Operand{{"A", g.A, Read}, {"B", g.B, Read}, {"C", g.C, Read}, {"D", g.D, dw}}
	operands(yield, list...)
	if last := int64(g.Count() - 1); last > 0 {
		for i, s := range []int64{g.StrideA, g.StrideB, g.StrideC, g.StrideD} {
			if s != 0 && !list[i].View.IsZero() {
				list[i].View.Offset += last * s * list[i].View.DType.Bytes()
				yield(list[i])
			}
		}
	}
}

// Check implements Op.
func (g *Gemm) Check() error {
	m, n, k := g.Dims()
	ar, ac, br, bc := m, k, k, n
	if g.TransA {
		ar, ac = k, m
	}
	if g.TransB {
		br, bc = n, k
	}
	if g.Batch < 0 {
		return fmt.Errorf("batch %d", g.Batch)
	}
	if g.Count() > 1 && g.StrideD == 0 {
		return fmt.Errorf("the products of a batch of %d write to the same D", g.Batch)
	}
	dt := g.D.DType
	if g.A.DType == F32 && dt != F32 {
		return fmt.Errorf("operand D is %s, want %s as A", dt, F32)
	}
	if !dt.Number() {
		return fmt.Errorf("operand D is %s; products are %s or %s", dt, F32, BF16)
	}
	return checkNumbers(g.A.DType, expect{"A", g.A, ar, ac, g.A.DType, false}, expect{"B", g.B, br, bc, g.A.DType, false},
		expect{"C", g.C, m, n, dt, true}, expect{"D", g.D, m, n, dt, false})
}

// Axpby is Out = A·X + B·Y, element by element; Y absent: Out = A·X. Out may be X or Y.
type Axpby struct {
	A, B      float32
	X, Y, Out View
}

// Name implements Op.
func (e *Axpby) Name() string { return "axpby" }

// Class implements Op.
func (e *Axpby) Class() Class { return Compute }

// FLOPs implements Op.
func (e *Axpby) FLOPs() int64 { return 0 }

// Operands implements Op.
func (e *Axpby) Operands(yield func(Operand)) {
	operands(yield, Operand{"X", e.X, Read}, Operand{"Y", e.Y, Read}, Operand{"Out", e.Out, Write})
}

// Check implements Op.
func (e *Axpby) Check() error {
	r, c := e.Out.Rows, e.Out.Cols
	dt := e.Out.DType
	return checkNumbers(dt, expect{"X", e.X, r, c, dt, false}, expect{"Y", e.Y, r, c, dt, true}, expect{"Out", e.Out, r, c, dt, false})
}

// Copy copies Src to Dst, same shape and type, either may have gaps between rows.
type Copy struct{ Src, Dst View }

// Name implements Op.
func (e *Copy) Name() string { return "copy" }

// Class implements Op.
func (e *Copy) Class() Class { return Memory }

// FLOPs implements Op.
func (e *Copy) FLOPs() int64 { return 0 }

// Operands implements Op.
func (e *Copy) Operands(yield func(Operand)) {
	operands(yield, Operand{"Src", e.Src, Read}, Operand{"Dst", e.Dst, Write})
}

// Check implements Op.
func (e *Copy) Check() error {
	return checkAll(expect{"Src", e.Src, e.Dst.Rows, e.Dst.Cols, e.Dst.DType, false}, expect{"Dst", e.Dst, -1, -1, e.Dst.DType, false})
}

// Fill sets every element of an F32 or BF16 view to Value.
type Fill struct {
	X     View
	Value float32
}

// Name implements Op.
func (e *Fill) Name() string { return "fill" }

// Class implements Op.
func (e *Fill) Class() Class { return Memory }

// FLOPs implements Op.
func (e *Fill) FLOPs() int64 { return 0 }

// Operands implements Op.
func (e *Fill) Operands(yield func(Operand)) { operands(yield, Operand{"X", e.X, Write}) }

// Check implements Op.
func (e *Fill) Check() error {
	dt := e.X.DType
	return checkNumbers(dt, expect{"X", e.X, -1, -1, dt, false})
}

// Upload copies host memory to a contiguous view.
type Upload struct {
	Src    *Host
	Offset int64 // bytes into Src
	Dst    View
}

// Name implements Op.
func (e *Upload) Name() string { return "upload" }

// Class implements Op.
func (e *Upload) Class() Class { return Memory }

// FLOPs implements Op.
func (e *Upload) FLOPs() int64 { return 0 }

// Operands implements Op.
func (e *Upload) Operands(yield func(Operand)) { operands(yield, Operand{"Dst", e.Dst, Write}) }

// Check implements Op.
func (e *Upload) Check() error { return checkHostCopy(e.Src, e.Offset, e.Dst) }

// Download copies a contiguous view to host memory.
type Download struct {
	Src    View
	Dst    *Host
	Offset int64 // bytes into Dst
}

// Name implements Op.
func (e *Download) Name() string { return "download" }

// Class implements Op.
func (e *Download) Class() Class { return Memory }

// FLOPs implements Op.
func (e *Download) FLOPs() int64 { return 0 }

// Operands implements Op.
func (e *Download) Operands(yield func(Operand)) { operands(yield, Operand{"Src", e.Src, Read}) }

// Check implements Op.
func (e *Download) Check() error { return checkHostCopy(e.Dst, e.Offset, e.Src) }

func checkHostCopy(h *Host, offset int64, v View) error {
	if h == nil {
		return fmt.Errorf("host memory is missing")
	}
	if v.IsZero() || !v.Contiguous() {
		return fmt.Errorf("view %s: a copy to or from the host needs a contiguous view", v)
	}
	if offset < 0 || offset+v.Bytes() > int64(len(h.Bytes)) {
		return fmt.Errorf("bytes [%d, %d) of %d bytes of host memory", offset, offset+v.Bytes(), len(h.Bytes))
	}
	return nil
}
