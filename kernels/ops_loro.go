package kernels

import "fmt"

// The optimizer of LORO (METHOD.md §2).

// Adam moves the moments as AdamW does, with g = Grad·Scale[0], and steps along D = m/(sqrt(v)+Eps), whose epsilon is
// not corrected for the step: Param = (Param − Rate·D)·(1 − Decay). The caller puts the corrections into Rate.
// Param absent: Out = D, for what uses the direction otherwise; Out may be Grad. A Scale that is not finite leaves
// Param and the moments as they are and Out zero. All views are contiguous and of the same length.
type Adam struct {
	Param, M, V, Grad, Scale, Out  View
	Rate, Decay, Beta1, Beta2, Eps float32
}

// Name implements Op.
func (e *Adam) Name() string { return "adam" }

// Class implements Op.
func (e *Adam) Class() Class { return Compute }

// FLOPs implements Op.
func (e *Adam) FLOPs() int64 { return 0 }

// Operands implements Op.
func (e *Adam) Operands(yield func(Operand)) {
	operands(yield, Operand{"Param", e.Param, ReadWrite}, Operand{"M", e.M, ReadWrite}, Operand{"V", e.V, ReadWrite},
		Operand{"Grad", e.Grad, Read}, Operand{"Scale", e.Scale, Read}, Operand{"Out", e.Out, Write})
}

// Check implements Op.
func (e *Adam) Check() error {
	if e.Param.IsZero() == e.Out.IsZero() {
		return fmt.Errorf("one of Param and Out is there, not both")
	}
	for _, v := range []View{e.Param, e.M, e.V, e.Grad, e.Out} {
		if !v.Contiguous() {
			return fmt.Errorf("%s is not contiguous", v)
		}
	}
	r, c := e.M.Rows, e.M.Cols
	return checkAll(expect{"Param", e.Param, r, c, F32, true}, expect{"M", e.M, -1, -1, F32, false}, expect{"V", e.V, r, c, F32, false},
		expect{"Grad", e.Grad, r, c, F32, false}, expect{"Scale", e.Scale, 1, 1, F32, false}, expect{"Out", e.Out, r, c, F32, true})
}

// LowRankStep is a Riemannian step of W = B A on the matrices of rank r, in place (METHOD.md §2, exact step): W is
// moved by −Rate times the tangent direction that DA and DB stand for, and cut back to rank r by its singular value
// decomposition, whose values both factors share alike. A and DA are [r, in], B and DB [out, r]. The
// decompositions are computed in fp32 or wider; the signs of the factors' columns are the device's choice. A Scale that is
// not finite leaves A and B as they are, to the bit.
type LowRankStep struct {
	A, B, DA, DB, Scale View
	Rate                float32
}

// Name implements Op.
func (e *LowRankStep) Name() string { return "low_rank_step" }

// Class implements Op.
func (e *LowRankStep) Class() Class { return Compute }

// FLOPs implements Op.
func (e *LowRankStep) FLOPs() int64 { return 0 }

// Operands implements Op.
func (e *LowRankStep) Operands(yield func(Operand)) {
	operands(yield, Operand{"A", e.A, ReadWrite}, Operand{"B", e.B, ReadWrite}, Operand{"DA", e.DA, Read}, Operand{"DB", e.DB, Read},
		Operand{"Scale", e.Scale, Read})
}

// Check implements Op.
func (e *LowRankStep) Check() error {
	r, in, out := e.A.Rows, e.A.Cols, e.B.Rows
	if r > min(in, out) {
		return fmt.Errorf("rank %d of a matrix of %dx%d", r, out, in)
	}
	return checkAll(expect{"A", e.A, -1, -1, F32, false}, expect{"B", e.B, -1, r, F32, false},
		expect{"DA", e.DA, r, in, F32, false}, expect{"DB", e.DB, out, r, F32, false}, expect{"Scale", e.Scale, 1, 1, F32, false})
}
