package kernels

import "fmt"

// The operations of a decoder block. T is the number of rows (batch x sequence). Statistics are
// column vectors stored as views of T rows x 1 column, always F32, and so are DW and whatever else gradients of weights
// accumulate in (see number.go). METHOD.md §1 and §3.5 hold the formulas.

// NormStats is Stat[row] = sum of squares of the row of X: the half of RMSNorm that must be summed over ranks when d is sharded.
type NormStats struct{ X, Stat View }

// Name implements Op.
func (e *NormStats) Name() string { return "norm_stats" }

// Class implements Op.
func (e *NormStats) Class() Class { return Compute }

// FLOPs implements Op.
func (e *NormStats) FLOPs() int64 { return 0 }

// Operands implements Op.
func (e *NormStats) Operands(yield func(Operand)) {
	operands(yield, Operand{"X", e.X, Read}, Operand{"Stat", e.Stat, Write})
}

// Check implements Op.
func (e *NormStats) Check() error {
	dt := e.X.DType
	return checkNumbers(dt, expect{"X", e.X, -1, -1, dt, false}, expect{"Stat", e.Stat, e.X.Rows, 1, F32, false})
}

// NormRStd is RStd[row] = 1/sqrt(Stat[row]/Width + Eps); Width is the unsharded d. RStd may be Stat.
type NormRStd struct {
	Stat, RStd View
	Width      int
	Eps        float32
}

// Name implements Op.
func (e *NormRStd) Name() string { return "norm_rstd" }

// Class implements Op.
func (e *NormRStd) Class() Class { return Compute }

// FLOPs implements Op.
func (e *NormRStd) FLOPs() int64 { return 0 }

// Operands implements Op.
func (e *NormRStd) Operands(yield func(Operand)) {
	operands(yield, Operand{"Stat", e.Stat, Read}, Operand{"RStd", e.RStd, Write})
}

// Check implements Op.
func (e *NormRStd) Check() error {
	if e.Width <= 0 {
		return fmt.Errorf("width %d", e.Width)
	}
	return checkAll(expect{"Stat", e.Stat, -1, 1, F32, false}, expect{"RStd", e.RStd, e.Stat.Rows, 1, F32, false})
}

// NormApply is Y = X · RStd[row] · W[col]. RStd absent counts as 1: the un-normalised input of the online form.
// W is one row.
type NormApply struct{ X, W, RStd, Y View }

// Name implements Op.
func (e *NormApply) Name() string { return "norm_apply" }

// Class implements Op.
func (e *NormApply) Class() Class { return Compute }

// FLOPs implements Op.
func (e *NormApply) FLOPs() int64 { return 0 }

// Operands implements Op.
func (e *NormApply) Operands(yield func(Operand)) {
	operands(yield, Operand{"X", e.X, Read}, Operand{"W", e.W, Read}, Operand{"RStd", e.RStd, Read}, Operand{"Y", e.Y, Write})
}

// Check implements Op.
func (e *NormApply) Check() error {
	dt := e.X.DType
	return checkNumbers(dt, expect{"X", e.X, -1, -1, dt, false}, expect{"W", e.W, 1, e.X.Cols, dt, false},
		expect{"RStd", e.RStd, e.X.Rows, 1, F32, true}, expect{"Y", e.Y, e.X.Rows, e.X.Cols, dt, false})
}

// NormBwdStats is Dot[row] = sum over the local columns of DY·W·X·RStd: the half of the backward that spans ranks.
type NormBwdStats struct{ X, W, RStd, DY, Dot View }

// Name implements Op.
func (e *NormBwdStats) Name() string { return "norm_bwd_stats" }

// Class implements Op.
func (e *NormBwdStats) Class() Class { return Compute }

// FLOPs implements Op.
func (e *NormBwdStats) FLOPs() int64 { return 0 }

// Operands implements Op.
func (e *NormBwdStats) Operands(yield func(Operand)) {
	operands(yield, Operand{"X", e.X, Read}, Operand{"W", e.W, Read}, Operand{"RStd", e.RStd, Read},
		Operand{"DY", e.DY, Read}, Operand{"Dot", e.Dot, Write})
}

// Check implements Op.
func (e *NormBwdStats) Check() error {
	r, c := e.X.Rows, e.X.Cols
	dt := e.X.DType
	return checkNumbers(dt, expect{"X", e.X, -1, -1, dt, false}, expect{"W", e.W, 1, c, dt, false}, expect{"RStd", e.RStd, r, 1, F32, false},
		expect{"DY", e.DY, r, c, dt, false}, expect{"Dot", e.Dot, r, 1, F32, false})
}

// NormBwdApply is DX = Base + RStd·(DY·W − X·RStd·Dot/Width) and DW += sum over rows of DY·X·RStd.
// Base is the gradient that the residual branch brings (absent: 0; may be DX). Width is the unsharded d.
type NormBwdApply struct {
	X, W, RStd, DY, Dot, Base, DX, DW View
	Width                             int
}

// Name implements Op.
func (e *NormBwdApply) Name() string { return "norm_bwd_apply" }

// Class implements Op.
func (e *NormBwdApply) Class() Class { return Compute }

// FLOPs implements Op.
func (e *NormBwdApply) FLOPs() int64 { return 0 }

// Operands implements Op.
func (e *NormBwdApply) Operands(yield func(Operand)) {
	operands(yield, Operand{"X", e.X, Read}, Operand{"W", e.W, Read}, Operand{"RStd", e.RStd, Read}, Operand{"DY", e.DY, Read},
		Operand{"Dot", e.Dot, Read}, Operand{"Base", e.Base, Read}, Operand{"DX", e.DX, Write}, Operand{"DW", e.DW, ReadWrite})
}

// Check implements Op.
func (e *NormBwdApply) Check() error {
	r, c := e.X.Rows, e.X.Cols
	if e.Width <= 0 {
		return fmt.Errorf("width %d", e.Width)
	}
	dt := e.X.DType
	return checkNumbers(dt, expect{"X", e.X, -1, -1, dt, false}, expect{"W", e.W, 1, c, dt, false}, expect{"RStd", e.RStd, r, 1, F32, false},
		expect{"DY", e.DY, r, c, dt, false}, expect{"Dot", e.Dot, r, 1, F32, false}, expect{"Base", e.Base, r, c, dt, true},
		expect{"DX", e.DX, r, c, dt, false}, expect{"DW", e.DW, 1, c, F32, false})
}

// Latent finishes a down-projection: U = P·RStd[row] (RStd absent: 1), H = silu(U) when Silu, else U.
// U may be P. H is of the U that is stored, as the backward makes it again. H absent: only U is made; without Silu H must be
// absent (U serves).
type Latent struct {
	P, RStd, U, H View
	Silu          bool
}

// Name implements Op.
func (e *Latent) Name() string { return "latent" }

// Class implements Op.
func (e *Latent) Class() Class { return Compute }

// FLOPs implements Op.
func (e *Latent) FLOPs() int64 { return 0 }

// Operands implements Op.
func (e *Latent) Operands(yield func(Operand)) {
	operands(yield, Operand{"P", e.P, Read}, Operand{"RStd", e.RStd, Read}, Operand{"U", e.U, Write}, Operand{"H", e.H, Write})
}

// Check implements Op.
func (e *Latent) Check() error {
	r, c := e.P.Rows, e.P.Cols
	if !e.Silu && !e.H.IsZero() {
		return fmt.Errorf("operand H without an activation is U")
	}
	dt := e.P.DType
	return checkNumbers(dt, expect{"P", e.P, -1, -1, dt, false}, expect{"RStd", e.RStd, r, 1, F32, true},
		expect{"U", e.U, r, c, dt, false}, expect{"H", e.H, r, c, dt, true})
}

// LatentBwd is DU = DH·silu'(U) when Silu, else DH, and, when Dot is there, Dot[row] = <U, DU> over the row:
// what the backward of the online RMSNorm needs, with no collective (METHOD.md §3.5): of DU before it is rounded. DU may be DH.
type LatentBwd struct {
	DH, U, DU, Dot View
	Silu           bool
}

// Name implements Op.
func (e *LatentBwd) Name() string { return "latent_bwd" }

// Class implements Op.
func (e *LatentBwd) Class() Class { return Compute }

// FLOPs implements Op.
func (e *LatentBwd) FLOPs() int64 { return 0 }

// Operands implements Op.
func (e *LatentBwd) Operands(yield func(Operand)) {
	operands(yield, Operand{"DH", e.DH, Read}, Operand{"U", e.U, Read}, Operand{"DU", e.DU, Write}, Operand{"Dot", e.Dot, Write})
}

// Check implements Op.
func (e *LatentBwd) Check() error {
	r, c := e.U.Rows, e.U.Cols
	dt := e.U.DType
	return checkNumbers(dt, expect{"DH", e.DH, r, c, dt, false}, expect{"U", e.U, -1, -1, dt, false},
		expect{"DU", e.DU, r, c, dt, false}, expect{"Dot", e.Dot, r, 1, F32, true})
}

// SwiGLU is Y = silu(G)·U, or G·U without Silu (CoLA above 130m).
type SwiGLU struct {
	G, U, Y View
	Silu    bool
}

// Name implements Op.
func (e *SwiGLU) Name() string { return "swiglu" }

// Class implements Op.
func (e *SwiGLU) Class() Class { return Compute }

// FLOPs implements Op.
func (e *SwiGLU) FLOPs() int64 { return 0 }

// Operands implements Op.
func (e *SwiGLU) Operands(yield func(Operand)) {
	operands(yield, Operand{"G", e.G, Read}, Operand{"U", e.U, Read}, Operand{"Y", e.Y, Write})
}

// Check implements Op.
func (e *SwiGLU) Check() error {
	r, c := e.G.Rows, e.G.Cols
	dt := e.G.DType
	return checkNumbers(dt, expect{"G", e.G, -1, -1, dt, false}, expect{"U", e.U, r, c, dt, false}, expect{"Y", e.Y, r, c, dt, false})
}

// SwiGLUBwd is the backward of SwiGLU; DG may be G's and DU may be U's memory, or DY's for one of them.
type SwiGLUBwd struct {
	G, U, DY, DG, DU View
	Silu             bool
}

// Name implements Op.
func (e *SwiGLUBwd) Name() string { return "swiglu_bwd" }

// Class implements Op.
func (e *SwiGLUBwd) Class() Class { return Compute }

// FLOPs implements Op.
func (e *SwiGLUBwd) FLOPs() int64 { return 0 }

// Operands implements Op.
func (e *SwiGLUBwd) Operands(yield func(Operand)) {
	operands(yield, Operand{"G", e.G, Read}, Operand{"U", e.U, Read}, Operand{"DY", e.DY, Read},
		Operand{"DG", e.DG, Write}, Operand{"DU", e.DU, Write})
}

// Check implements Op.
func (e *SwiGLUBwd) Check() error {
	r, c := e.G.Rows, e.G.Cols
	dt := e.G.DType
	return checkNumbers(dt, expect{"G", e.G, -1, -1, dt, false}, expect{"U", e.U, r, c, dt, false}, expect{"DY", e.DY, r, c, dt, false},
		expect{"DG", e.DG, r, c, dt, false}, expect{"DU", e.DU, r, c, dt, false})
}
