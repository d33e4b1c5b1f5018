package kernels

import "fmt"

// Rope rotates X in place: X is [Batch·Seq, Heads·HeadDim], "rotate half" within a head, positions 0..Seq-1
// (METHOD.md §1). Inverse is the transpose, for the backward.
type Rope struct {
	X            View
	Seq, HeadDim int
	Theta        float32
	Inverse      bool
}

// Name implements Op.
func (e *Rope) Name() string { return "rope" }

// Class implements Op.
func (e *Rope) Class() Class { return Compute }

// FLOPs implements Op.
func (e *Rope) FLOPs() int64 { return 0 }

// Operands implements Op.
func (e *Rope) Operands(yield func(Operand)) { operands(yield, Operand{"X", e.X, ReadWrite}) }

// Check implements Op.
func (e *Rope) Check() error {
	if e.Seq <= 0 || e.HeadDim <= 0 || e.HeadDim%2 != 0 || e.X.Rows%e.Seq != 0 || e.X.Cols%e.HeadDim != 0 {
		return fmt.Errorf("rope of %dx%d in sequences of %d and heads of %d", e.X.Rows, e.X.Cols, e.Seq, e.HeadDim)
	}
	dt := e.X.DType
	return checkNumbers(dt, expect{"X", e.X, -1, -1, dt, false})
}

// Attention is causal softmax(Q K^T·Scale) V per head, without the s x s matrix in memory.
// Q, K, V, O are [Batch·Seq, Heads·HeadDim]; LSE[row, head] is the log of the sum of exponentials, kept for the backward.
type Attention struct {
	Q, K, V, O, LSE View
	Seq, HeadDim    int
	Scale           float32
}

// Name implements Op.
func (e *Attention) Name() string { return "attention" }

// Class implements Op.
func (e *Attention) Class() Class { return Compute }

// FLOPs is 2·s·d per token: causal attention, both products (METHOD.md §3.9).
func (e *Attention) FLOPs() int64 {
	return 2 * int64(e.Seq) * e.Q.Len()
}

// Operands implements Op.
func (e *Attention) Operands(yield func(Operand)) {
	operands(yield, Operand{"Q", e.Q, Read}, Operand{"K", e.K, Read}, Operand{"V", e.V, Read},
		Operand{"O", e.O, Write}, Operand{"LSE", e.LSE, Write})
}

// Check implements Op.
func (e *Attention) Check() error {
	if err := checkHeads(e.Q, e.Seq, e.HeadDim); err != nil {
		return err
	}
	r, c := e.Q.Rows, e.Q.Cols
	dt := e.Q.DType
	return checkNumbers(dt, expect{"Q", e.Q, -1, -1, dt, false}, expect{"K", e.K, r, c, dt, false}, expect{"V", e.V, r, c, dt, false},
		expect{"O", e.O, r, c, dt, false}, expect{"LSE", e.LSE, r, c / e.HeadDim, F32, false})
}

// AttentionBwd is the backward of Attention; it recomputes the probabilities from LSE.
// Work holds at least [rows, heads] floats (the row sums of DO·O).
type AttentionBwd struct {
	Q, K, V, O, LSE, DO, DQ, DK, DV, Work View
	Seq, HeadDim                          int
	Scale                                 float32
}

// Name implements Op.
func (e *AttentionBwd) Name() string { return "attention_bwd" }

// Class implements Op.
func (e *AttentionBwd) Class() Class { return Compute }

// FLOPs is twice the forward's, by the usual count; the recomputed scores are not counted.
func (e *AttentionBwd) FLOPs() int64 { return 4 * int64(e.Seq) * e.Q.Len() }

// Operands implements Op.
func (e *AttentionBwd) Operands(yield func(Operand)) {
	operands(yield, Operand{"Q", e.Q, Read}, Operand{"K", e.K, Read}, Operand{"V", e.V, Read}, Operand{"O", e.O, Read},
		Operand{"LSE", e.LSE, Read}, Operand{"DO", e.DO, Read}, Operand{"DQ", e.DQ, Write}, Operand{"DK", e.DK, Write},
		Operand{"DV", e.DV, Write}, Operand{"Work", e.Work, Write})
}

// Check implements Op.
func (e *AttentionBwd) Check() error {
	if err := checkHeads(e.Q, e.Seq, e.HeadDim); err != nil {
		return err
	}
	r, c := e.Q.Rows, e.Q.Cols
	h := c / e.HeadDim
	dt := e.Q.DType
	return checkNumbers(dt, expect{"Q", e.Q, -1, -1, dt, false}, expect{"K", e.K, r, c, dt, false}, expect{"V", e.V, r, c, dt, false},
		expect{"O", e.O, r, c, dt, false}, expect{"LSE", e.LSE, r, h, F32, false}, expect{"DO", e.DO, r, c, dt, false},
		expect{"DQ", e.DQ, r, c, dt, false}, expect{"DK", e.DK, r, c, dt, false}, expect{"DV", e.DV, r, c, dt, false},
		expect{"Work", e.Work, r, h, F32, false})
}

func checkHeads(q View, seq, headDim int) error {
	if seq <= 0 || headDim <= 0 || q.Rows%seq != 0 || q.Cols%headDim != 0 {
		return fmt.Errorf("attention of %dx%d in sequences of %d and heads of %d", q.Rows, q.Cols, seq, headDim)
	}
	return nil
}
