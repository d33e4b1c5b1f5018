package cpu

import (
	"math"
	"math/rand/v2"
	"testing"

	"boost-tui/kernels"
	"boost-tui/kernels/backend"
)

// rig is a device with what tests do on it all the time.
type rig struct {
	testing.TB
	*Device
	rng    *rand.Rand
	memory map[*kernels.Buffer][]float32
}

func newRig(t testing.TB, d *Device, seed uint64) *rig {
	return &rig{t, d, rand.New(rand.NewPCG(7, seed)), map[*kernels.Buffer][]float32{}}
}

func open(t testing.TB, o Options) *rig {
	t.Helper()
	d, err := Open(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return newRig(t, d, 1)
}

// each runs a test on every instruction set that this machine has, on one thread and on several, and on gonum's products.
func each(t *testing.T, f func(t *testing.T, r *rig)) {
	for name, o := range map[string]Options{
		"base": {ISA: "base"}, "avx2": {ISA: "avx2"}, "avx512": {ISA: "avx512"}, "best-3-threads": {Threads: 3}, "gonum": {BLAS: Gonum},
	} {
		d, err := Open(o)
		if err != nil {
			t.Logf("%s left out: %v", name, err)
			continue
		}
		t.Run(name, func(t *testing.T) { f(t, newRig(t, d, 1)) })
		d.Close()
	}
}

// matrix is an fp32 view with pad elements between its rows, filled with normal numbers; gaps hold a mark.
func (r *rig) matrix(rows, cols, pad int) kernels.View {
	r.Helper()
	v := r.empty(rows, cols, pad, kernels.F32)
	for i := range rows {
		for j := range cols {
			r.set(v, i, j, float32(r.rng.NormFloat64()))
		}
	}
	return v
}

const mark = -12345

func (r *rig) empty(rows, cols, pad int, dt kernels.DType) kernels.View {
	r.Helper()
	return r.view(rows, cols, pad, dt, false)
}

func (r *rig) view(rows, cols, pad int, dt kernels.DType, symmetric bool) kernels.View {
	r.Helper()
	b, err := r.Alloc("test", int64(4*(rows*(cols+pad)+pad)), symmetric)
	if err != nil {
		r.Fatal(err)
	}
	v := kernels.Matrix(b, int64(4*pad), rows, cols, dt)
	v.LD = cols + pad
	if pad > 0 {
		for i := range r.raw(b) {
			r.raw(b)[i] = mark
		}
	}
	return v
}

func (r *rig) raw(b *kernels.Buffer) []float32 {
	if m, ok := r.memory[b]; ok {
		return m
	}
	r.memory[b] = backend.Floats(kernels.Matrix(b, 0, 1, int(b.Bytes/4), kernels.F32), 0)
	return r.memory[b]
}

func (r *rig) index(v kernels.View, i, j int) int { return int(v.Offset/4) + i*v.LD + j }

func (r *rig) set(v kernels.View, i, j int, x float32) { r.raw(v.Buf)[r.index(v, i, j)] = x }

func (r *rig) at(v kernels.View, i, j int) float64 { return float64(r.raw(v.Buf)[r.index(v, i, j)]) }

func (r *rig) ids(n, limit int) kernels.View {
	v := r.empty(n, 1, 2, kernels.I32)
	for i := range n {
		r.set(v, i, 0, math.Float32frombits(uint32(r.rng.IntN(limit))))
	}
	return v
}

func (r *rig) id(v kernels.View, i int) int {
	return int(int32(math.Float32bits(r.raw(v.Buf)[r.index(v, i, 0)])))
}

// get copies a view's elements.
func (r *rig) get(v kernels.View) [][]float64 {
	out := make([][]float64, v.Rows)
	for i := range out {
		out[i] = make([]float64, v.Cols)
		for j := range out[i] {
			out[i][j] = r.at(v, i, j)
		}
	}
	return out
}

func (r *rig) run(op kernels.Op) {
	r.Helper()
	if err := r.Do(kernels.Call{Label: kernels.Label{Layer: -1, Op: op.Name()}}, op); err != nil {
		r.Fatal(err)
	}
}

// want compares a view with a formula, relative to the largest element (or 0.01), and the gaps between rows with the mark.
func (r *rig) want(name string, v kernels.View, tolerance float64, f func(i, j int) float64) {
	r.Helper()
	r.wantOfTerms(name, v, tolerance, 0.01, f)
}

// wantOfTerms is want for sums whose terms are of the size of scale and may cancel: their rounding stays.
func (r *rig) wantOfTerms(name string, v kernels.View, tolerance, scale float64, f func(i, j int) float64) {
	r.Helper()
	wanted := make([]float64, v.Rows*v.Cols)
	for i := range wanted {
		wanted[i] = f(i/v.Cols, i%v.Cols)
		if w := math.Abs(wanted[i]); !math.IsNaN(w) && !math.IsInf(w, 0) {
			scale = max(scale, w)
		}
	}
	raw := r.raw(v.Buf)
	for i, w := range wanted {
		g := float64(raw[r.index(v, i/v.Cols, i%v.Cols)])
		if math.IsNaN(g) != math.IsNaN(w) || math.IsInf(w, 0) && g != w || math.Abs(g-w) > tolerance*scale {
			r.Errorf("%s[%d,%d] = %g, want %g (scale %g)", name, i/v.Cols, i%v.Cols, g, w, scale)
			return
		}
	}
	if v.LD > v.Cols {
		for i := range raw {
			k := i - int(v.Offset/4)
			if (k < 0 || k%v.LD >= v.Cols) && raw[i] != mark {
				r.Errorf("%s: wrote %g outside its rows, at element %d", name, raw[i], i)
				return
			}
		}
	}
}
