package kernels

import "fmt"

// SumSq is Out[0] += sum of squares of a contiguous X, in fixed order, accumulated in float64. Out is 1x1.
type SumSq struct{ X, Out View }

// Name implements Op.
func (e *SumSq) Name() string { return "sumsq" }

// Class implements Op.
func (e *SumSq) Class() Class { return Compute }

// FLOPs implements Op.
func (e *SumSq) FLOPs() int64 { return 0 }

// Operands implements Op.
func (e *SumSq) Operands(yield func(Operand)) {
	operands(yield, Operand{"X", e.X, Read}, Operand{"Out", e.Out, ReadWrite})
}

// Check implements Op.
func (e *SumSq) Check() error {
	if !e.X.Contiguous() {
		return fmt.Errorf("operand X %s is not contiguous", e.X)
	}
	return checkAll(expect{"X", e.X, -1, -1, F32, false}, expect{"Out", e.Out, 1, 1, F32, false})
}

// ClipScale gives Norm[0] = sqrt(SumSq[0]) and Scale[0] = min(1, MaxNorm/(Norm+1e-6)), or 1 when MaxNorm is 0
// (METHOD.md §2, clip). A norm that is not finite gives Scale = NaN, which makes AdamW a no-op.
type ClipScale struct {
	SumSq, Norm, Scale View
	MaxNorm            float32
}

// Name implements Op.
func (e *ClipScale) Name() string { return "clip_scale" }

// Class implements Op.
func (e *ClipScale) Class() Class { return Compute }

// FLOPs implements Op.
func (e *ClipScale) FLOPs() int64 { return 0 }

// Operands implements Op.
func (e *ClipScale) Operands(yield func(Operand)) {
	operands(yield, Operand{"SumSq", e.SumSq, Read}, Operand{"Norm", e.Norm, Write}, Operand{"Scale", e.Scale, Write})
}

// Check implements Op.
func (e *ClipScale) Check() error {
	return checkAll(expect{"SumSq", e.SumSq, 1, 1, F32, false}, expect{"Norm", e.Norm, 1, 1, F32, false}, expect{"Scale", e.Scale, 1, 1, F32, false})
}

// AdamW updates Param in place (METHOD.md §2, AdamW): p *= 1 − LR·WeightDecay; m, v; p −= LR·(m/(1−b1^Step))/(sqrt(v/(1−b2^Step))+Eps),
// with g = Grad·Scale[0]. Step counts from 1. A Scale that is not finite leaves everything as it is.
// All views are contiguous and of the same length.
type AdamW struct {
	Param, M, V, Grad, Scale           View
	LR, Beta1, Beta2, Eps, WeightDecay float32
	Step                               int
}

// Name implements Op.
func (e *AdamW) Name() string { return "adamw" }

// Class implements Op.
func (e *AdamW) Class() Class { return Compute }

// FLOPs implements Op.
func (e *AdamW) FLOPs() int64 { return 0 }

// Operands implements Op.
func (e *AdamW) Operands(yield func(Operand)) {
	operands(yield, Operand{"Param", e.Param, ReadWrite}, Operand{"M", e.M, ReadWrite}, Operand{"V", e.V, ReadWrite},
		Operand{"Grad", e.Grad, Read}, Operand{"Scale", e.Scale, Read})
}

// Check implements Op.
func (e *AdamW) Check() error {
	r, c := e.Param.Rows, e.Param.Cols
	if e.Step < 1 {
		return fmt.Errorf("step %d: counts from 1", e.Step)
	}
	for _, v := range []View{e.Param, e.M, e.V, e.Grad} {
		if !v.Contiguous() {
			return fmt.Errorf("%s is not contiguous", v)
		}
	}
	return checkAll(expect{"Param", e.Param, -1, -1, F32, false}, expect{"M", e.M, r, c, F32, false}, expect{"V", e.V, r, c, F32, false},
		expect{"Grad", e.Grad, r, c, F32, false}, expect{"Scale", e.Scale, 1, 1, F32, false})
}

// FindNonFinite writes to At (I32, 1x2) the row and column of the first NaN or infinity of X in row-major order, or −1, −1.
// The check decorator asks for it after every operation.
type FindNonFinite struct{ X, At View }

// Name implements Op.
func (e *FindNonFinite) Name() string { return "find_non_finite" }

// Class implements Op.
func (e *FindNonFinite) Class() Class { return Compute }

// FLOPs implements Op.
func (e *FindNonFinite) FLOPs() int64 { return 0 }

// Operands implements Op.
func (e *FindNonFinite) Operands(yield func(Operand)) {
	operands(yield, Operand{"X", e.X, Read}, Operand{"At", e.At, Write})
}

// Check implements Op.
func (e *FindNonFinite) Check() error {
	dt := e.X.DType
	return checkNumbers(dt, expect{"X", e.X, -1, -1, dt, false}, expect{"At", e.At, 1, 2, I32, false})
}
