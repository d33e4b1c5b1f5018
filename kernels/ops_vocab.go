package kernels

import "fmt"

// Operations over the vocabulary. IDs and Targets are I32, T rows x 1 column. A shard holds the rows
// [First, First+n) of the vocabulary.

// Embed is Out[row] = Table[IDs[row]−First], zero for ids that another rank holds.
type Embed struct {
	IDs, Table, Out View
	First           int
}

// Name implements Op.
func (e *Embed) Name() string { return "embed" }

// Class implements Op.
func (e *Embed) Class() Class { return Compute }

// FLOPs implements Op.
func (e *Embed) FLOPs() int64 { return 0 }

// Operands implements Op.
func (e *Embed) Operands(yield func(Operand)) {
	operands(yield, Operand{"IDs", e.IDs, Read}, Operand{"Table", e.Table, Read}, Operand{"Out", e.Out, Write})
}

// Check implements Op.
func (e *Embed) Check() error {
	dt := e.Out.DType
	return checkNumbers(dt, expect{"IDs", e.IDs, -1, 1, I32, false}, expect{"Table", e.Table, -1, -1, dt, false},
		expect{"Out", e.Out, e.IDs.Rows, e.Table.Cols, dt, false})
}

// EmbedBwd is DTable[IDs[row]−First] += DOut[row], in row order. DTable is F32.
type EmbedBwd struct {
	IDs, DOut, DTable View
	First             int
}

// Name implements Op.
func (e *EmbedBwd) Name() string { return "embed_bwd" }

// Class implements Op.
func (e *EmbedBwd) Class() Class { return Compute }

// FLOPs implements Op.
func (e *EmbedBwd) FLOPs() int64 { return 0 }

// Operands implements Op.
func (e *EmbedBwd) Operands(yield func(Operand)) {
	operands(yield, Operand{"IDs", e.IDs, Read}, Operand{"DOut", e.DOut, Read}, Operand{"DTable", e.DTable, ReadWrite})
}

// Check implements Op.
func (e *EmbedBwd) Check() error {
	dt := e.DOut.DType
	return checkNumbers(dt, expect{"IDs", e.IDs, -1, 1, I32, false}, expect{"DTable", e.DTable, -1, -1, F32, false},
		expect{"DOut", e.DOut, e.IDs.Rows, e.DTable.Cols, dt, false})
}

// XentMax is Max[row] = the largest local logit. The caller reduces it over ranks (max).
type XentMax struct{ Logits, Max View }

// Name implements Op.
func (e *XentMax) Name() string { return "xent_max" }

// Class implements Op.
func (e *XentMax) Class() Class { return Compute }

// FLOPs implements Op.
func (e *XentMax) FLOPs() int64 { return 0 }

// Operands implements Op.
func (e *XentMax) Operands(yield func(Operand)) {
	operands(yield, Operand{"Logits", e.Logits, Read}, Operand{"Max", e.Max, Write})
}

// Check implements Op.
func (e *XentMax) Check() error {
	return checkAll(expect{"Logits", e.Logits, -1, -1, F32, false}, expect{"Max", e.Max, e.Logits.Rows, 1, F32, false})
}

// XentSum gives Sum[row] = sum of exp(logit − Max) over the local vocabulary and Target[row] = logit − Max of the
// target, 0 where another rank holds it. The caller reduces both over ranks (sum). The logits stay.
type XentSum struct {
	Logits, Targets, Max, Sum, Target View
	First                             int
}

// Name implements Op.
func (e *XentSum) Name() string { return "xent_sum" }

// Class implements Op.
func (e *XentSum) Class() Class { return Compute }

// FLOPs implements Op.
func (e *XentSum) FLOPs() int64 { return 0 }

// Operands implements Op.
func (e *XentSum) Operands(yield func(Operand)) {
	operands(yield, Operand{"Logits", e.Logits, Read}, Operand{"Targets", e.Targets, Read}, Operand{"Max", e.Max, Read},
		Operand{"Sum", e.Sum, Write}, Operand{"Target", e.Target, Write})
}

// Check implements Op.
func (e *XentSum) Check() error {
	r := e.Logits.Rows
	return checkAll(expect{"Logits", e.Logits, -1, -1, F32, false}, expect{"Targets", e.Targets, r, 1, I32, false},
		expect{"Max", e.Max, r, 1, F32, false}, expect{"Sum", e.Sum, r, 1, F32, false}, expect{"Target", e.Target, r, 1, F32, false})
}

// XentLoss gives Loss[0] += Scale·sum over rows of (log(Sum) − Target) and DLogits = Scale·(exp(logit − Max)/Sum − onehot).
// DLogits may be Logits, or BF16 in other memory. Scale is 1/(rows · micro-batches). Loss is 1x1.
type XentLoss struct {
	Logits, Targets, Max, Sum, Target, Loss, DLogits View
	First                                            int
	Scale                                            float32
}

// Name implements Op.
func (e *XentLoss) Name() string { return "xent_loss" }

// Class implements Op.
func (e *XentLoss) Class() Class { return Compute }

// FLOPs implements Op.
func (e *XentLoss) FLOPs() int64 { return 0 }

// Operands implements Op.
func (e *XentLoss) Operands(yield func(Operand)) {
	operands(yield, Operand{"Logits", e.Logits, Read}, Operand{"Targets", e.Targets, Read}, Operand{"Max", e.Max, Read},
		Operand{"Sum", e.Sum, Read}, Operand{"Target", e.Target, Read}, Operand{"Loss", e.Loss, ReadWrite}, Operand{"DLogits", e.DLogits, Write})
}

// Check implements Op.
func (e *XentLoss) Check() error {
	r, c := e.Logits.Rows, e.Logits.Cols
	if !(e.Scale > 0) {
		return fmt.Errorf("scale %g", e.Scale)
	}
	dt := e.DLogits.DType
	return checkNumbers(dt, expect{"Logits", e.Logits, -1, -1, F32, false}, expect{"Targets", e.Targets, r, 1, I32, false},
		expect{"Max", e.Max, r, 1, F32, false}, expect{"Sum", e.Sum, r, 1, F32, false}, expect{"Target", e.Target, r, 1, F32, false},
		expect{"Loss", e.Loss, 1, 1, F32, false}, expect{"DLogits", e.DLogits, r, c, dt, false})
}
