package kernels

import "fmt"

// The crossing of latents between blocks (METHOD.md §2, LaX). Gates that are matrices are products (Gemm) instead.

// Cross is H = act(U) + Gate[col]·act(Prev): a latent with that of the block before. act is silu when Silu, else
// nothing. Gate is one row; absent it counts as 1.
type Cross struct {
	U, Prev, Gate, H View
	Silu             bool
}

// Name implements Op.
func (e *Cross) Name() string { return "cross" }

// Class implements Op.
func (e *Cross) Class() Class { return Compute }

// FLOPs implements Op.
func (e *Cross) FLOPs() int64 { return 0 }

// Operands implements Op.
func (e *Cross) Operands(yield func(Operand)) {
	operands(yield, Operand{"U", e.U, Read}, Operand{"Prev", e.Prev, Read}, Operand{"Gate", e.Gate, Read}, Operand{"H", e.H, Write})
}

// Check implements Op.
func (e *Cross) Check() error {
	r, c := e.U.Rows, e.U.Cols
	dt := e.U.DType
	return checkNumbers(dt, expect{"U", e.U, -1, -1, dt, false}, expect{"Prev", e.Prev, r, c, dt, false},
		expect{"Gate", e.Gate, 1, c, dt, true}, expect{"H", e.H, r, c, dt, false})
}

// CrossBwd is the backward of Cross but for act(U). DH is the gradient of H, Carry what the next block's crossing
// brought to this latent (Fresh: nothing, whatever it holds). DGate[col] += sum over rows of DH·act(Prev); then, in
// place, Carry becomes Gate·DH, the gradient of act(Prev), and DH becomes DH + Carry, that of act(U).
// Prev and DGate are there when Gate is. DGate is F32.
type CrossBwd struct {
	DH, Carry, Prev, Gate, DGate View
	Silu, Fresh                  bool
}

// Name implements Op.
func (e *CrossBwd) Name() string { return "cross_bwd" }

// Class implements Op.
func (e *CrossBwd) Class() Class { return Compute }

// FLOPs implements Op.
func (e *CrossBwd) FLOPs() int64 { return 0 }

// Operands implements Op.
func (e *CrossBwd) Operands(yield func(Operand)) {
	carry := ReadWrite
	if e.Fresh {
		carry = Write
	}
	operands(yield, Operand{"DH", e.DH, ReadWrite}, Operand{"Carry", e.Carry, carry}, Operand{"Prev", e.Prev, Read},
		Operand{"Gate", e.Gate, Read}, Operand{"DGate", e.DGate, ReadWrite})
}

// Check implements Op.
func (e *CrossBwd) Check() error {
	r, c, gate := e.DH.Rows, e.DH.Cols, e.Gate.IsZero()
	if gate != e.DGate.IsZero() || gate != e.Prev.IsZero() {
		return fmt.Errorf("operands Gate, DGate and Prev come together")
	}
	dt := e.DH.DType
	return checkNumbers(dt, expect{"DH", e.DH, -1, -1, dt, false}, expect{"Carry", e.Carry, r, c, dt, false},
		expect{"Prev", e.Prev, r, c, dt, true}, expect{"Gate", e.Gate, 1, c, dt, true}, expect{"DGate", e.DGate, 1, c, F32, true})
}
