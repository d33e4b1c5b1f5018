package kernels

import "fmt"

// Matrices with a fixed sparse support (METHOD.md §2, SLTrain) and numbers drawn on the device.

// Scatter makes a sparse matrix dense: Out is 0 but for Out[Index[i]] = Values[i]. An index counts the elements of
// Out row by row; no two are the same; a negative one places nothing. Out is contiguous and of the type of Values, Index I32 of one row.
type Scatter struct{ Values, Index, Out View }

// Name implements Op.
func (e *Scatter) Name() string { return "scatter" }

// Class implements Op.
func (e *Scatter) Class() Class { return Memory }

// FLOPs implements Op.
func (e *Scatter) FLOPs() int64 { return 0 }

// Operands implements Op.
func (e *Scatter) Operands(yield func(Operand)) {
	operands(yield, Operand{"Values", e.Values, Read}, Operand{"Index", e.Index, Read}, Operand{"Out", e.Out, Write})
}

// Check implements Op.
func (e *Scatter) Check() error { return checkSparse(e.Values, e.Index, e.Out) }

// Pick is Out[i] = X[Index[i]] + Beta·Out[i], the gradient of a sparse matrix' values; 0 where the index is negative.
// X is contiguous, Index I32 of one row; X and Out are F32.
type Pick struct {
	X, Index, Out View
	Beta          float32
}

// Name implements Op.
func (e *Pick) Name() string { return "pick" }

// Class implements Op.
func (e *Pick) Class() Class { return Memory }

// FLOPs implements Op.
func (e *Pick) FLOPs() int64 { return 0 }

// Operands implements Op.
func (e *Pick) Operands(yield func(Operand)) {
	out := Write
	if e.Beta != 0 {
		out = ReadWrite
	}
	operands(yield, Operand{"X", e.X, Read}, Operand{"Index", e.Index, Read}, Operand{"Out", e.Out, out})
}

// Check implements Op.
func (e *Pick) Check() error {
	if e.X.DType != F32 {
		return fmt.Errorf("operand X is %s, want %s", e.X.DType, F32)
	}
	return checkSparse(e.Out, e.Index, e.X)
}

func checkSparse(values, index, dense View) error {
	if !dense.Contiguous() || dense.Len() >= 1<<31 {
		return fmt.Errorf("%s must be contiguous and of fewer than 2^31 elements", dense)
	}
	dt := dense.DType
	return checkNumbers(dt, expect{"the values", values, 1, -1, dt, false}, expect{"Index", index, 1, values.Cols, I32, false},
		expect{"the matrix", dense, -1, -1, dt, false})
}

// Draw fills X, the part of a whole tensor that begins at Row and Col, with numbers in (−Bound, Bound): each is
// (2·Uniform(Key, i) − 1)·Bound, where i = (Row+r)·Width + Col+c is the element's place in the whole.
type Draw struct {
	X        View
	Key      uint64
	Row, Col int
	Width    int
	Bound    float32
}

// Name implements Op.
func (e *Draw) Name() string { return "draw" }

// Class implements Op.
func (e *Draw) Class() Class { return Compute }

// FLOPs implements Op.
func (e *Draw) FLOPs() int64 { return 0 }

// Operands implements Op.
func (e *Draw) Operands(yield func(Operand)) { operands(yield, Operand{"X", e.X, Write}) }

// Check implements Op.
func (e *Draw) Check() error {
	if e.Row < 0 || e.Col < 0 || e.Col+e.X.Cols > e.Width {
		return fmt.Errorf("%d columns from %d of %d, rows from %d", e.X.Cols, e.Col, e.Width, e.Row)
	}
	dt := e.X.DType
	return checkNumbers(dt, expect{"X", e.X, -1, -1, dt, false})
}

// Golden is the increment of the counter-based generator SplitMix64, and Mix its finaliser.
const Golden = 0x9E3779B97F4A7C15

// Mix spreads the bits of a number over all 64.
func Mix(z uint64) uint64 {
	z = (z ^ z>>30) * 0xBF58476D1CE4E5B9
	z = (z ^ z>>27) * 0x94D049BB133111EB
	return z ^ z>>31
}

// Uniform is number i in (0, 1) of the generator with a key.
func Uniform(key, i uint64) float64 {
	return (float64(Mix(key+(i+1)*Golden)>>11) + 0.5) / (1 << 53)
}
