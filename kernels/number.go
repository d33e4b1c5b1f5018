package kernels

import (
	"fmt"
	"math"
)

// Numbers that steps compute with: F32, and BF16 on the devices that have it. Of the operands of one operation, activations and
// working weights are of one such type. Statistics, logits, losses, accumulated gradients of weights, moments and the
// weights that an optimizer steps are F32 always. Arithmetic is in fp32 or wider whatever the types; a BF16 element is
// rounded once, to nearest even, when it is stored.

// ToBF16 rounds to the nearest BF16, of two as near to the even one. NaN stays NaN.
func ToBF16(f float32) uint16 {
	b := math.Float32bits(f)
	if f != f {
		return uint16(b>>16) | 0x40
	}
	return uint16((b + 0x7fff + b>>16&1) >> 16)
}

// FromBF16 is the number that a BF16 stands for.
func FromBF16(h uint16) float32 { return math.Float32frombits(uint32(h) << 16) }

// Number reports whether the type is one that steps compute with.
func (d DType) Number() bool { return d == F32 || d == BF16 }

// checkNumbers is checkAll of an operation whose activations are of type dt.
func checkNumbers(dt DType, list ...expect) error {
	if !dt.Number() {
		return fmt.Errorf("operands of type %s, want %s or %s", dt, F32, BF16)
	}
	return checkAll(list...)
}

// Convert is Out = X, element by element, each of its own type, F32 or BF16; either may have gaps between rows.
type Convert struct{ X, Out View }

// Name implements Op.
func (e *Convert) Name() string { return "convert" }

// Class implements Op.
func (e *Convert) Class() Class { return Memory }

// FLOPs implements Op.
func (e *Convert) FLOPs() int64 { return 0 }

// Operands implements Op.
func (e *Convert) Operands(yield func(Operand)) {
	operands(yield, Operand{"X", e.X, Read}, Operand{"Out", e.Out, Write})
}

// Check implements Op.
func (e *Convert) Check() error {
	if !e.X.DType.Number() || !e.Out.DType.Number() {
		return fmt.Errorf("from %s to %s, want %s or %s", e.X.DType, e.Out.DType, F32, BF16)
	}
	return checkAll(expect{"X", e.X, e.Out.Rows, e.Out.Cols, e.X.DType, false}, expect{"Out", e.Out, -1, -1, e.Out.DType, false})
}
