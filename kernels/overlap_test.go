package kernels

import (
	"math/rand/v2"
	"testing"
)

// Overlaps agrees with sets of bytes: exactly where one view is contiguous, and never missing one elsewhere.
func TestOverlapsAgainstBytes(t *testing.T) {
	rng := rand.New(rand.NewPCG(3, 4))
	buf := &Buffer{Name: "b", Bytes: 1 << 12}
	random := func() View {
		v := View{Buf: buf, Offset: rng.Int64N(40), Rows: 1 + rng.IntN(4), Cols: 1 + rng.IntN(6), DType: U8}
		v.LD = v.Cols + rng.IntN(4)
		return v
	}
	bytes := func(v View) map[int64]bool {
		m := map[int64]bool{}
		for i := range v.Rows {
			for j := range v.Cols {
				m[v.Offset+int64(i*v.LD+j)] = true
			}
		}
		return m
	}
	for range 50000 {
		v, w := random(), random()
		want := false
		in := bytes(w)
		for b := range bytes(v) {
			want = want || in[b]
		}
		got := v.Overlaps(w)
		if want && !got || (v.Contiguous() || w.Contiguous()) && got != want {
			t.Fatalf("%s %s: %v, want %v", v, w, got, want)
		}
		if got != w.Overlaps(v) || !v.Overlaps(v) || !v.Same(v) {
			t.Fatalf("%s %s: not symmetric or not reflexive", v, w)
		}
	}
}

func TestOverlapsCases(t *testing.T) {
	a, b := &Buffer{Name: "a", Bytes: 1 << 12}, &Buffer{Name: "b", Bytes: 1 << 12}
	m := Matrix(a, 0, 8, 24, F32)
	for _, tc := range []struct {
		name string
		v, w View
		want bool
	}{
		{"columns side by side", m.ColRange(0, 8), m.ColRange(8, 16), false},
		{"columns that share one", m.ColRange(0, 9), m.ColRange(8, 16), true},
		{"rows", m.RowRange(0, 4), m.RowRange(4, 8), false},
		{"a column and a row", m.ColRange(3, 4), m.RowRange(2, 3), true},
		{"other buffers", m, Matrix(b, 0, 8, 24, F32), false},
		{"nothing", m, m.RowRange(2, 2), false},
		{"absent", m, View{}, false},
	} {
		if got := tc.v.Overlaps(tc.w); got != tc.want {
			t.Errorf("%s: %v", tc.name, got)
		}
	}
	if m.Same(m.ColRange(0, 3)) || !m.RowRange(1, 2).Same(View{Buf: a, Offset: 96, Rows: 1, Cols: 24, LD: 99}) {
		t.Error("Same")
	}
}

func TestEachOperandOfBatch(t *testing.T) {
	buf := &Buffer{Name: "b", Bytes: 1 << 12}
	m := Matrix(buf, 0, 4, 12, F32)
	g := &Gemm{Alpha: 1, A: m.ColRange(0, 4), B: Matrix(buf, 256, 4, 2, F32), D: Matrix(buf, 512, 4, 2, F32), Batch: 3, StrideA: 4, StrideD: 8}
	var got []string
	EachOperand(g, func(o Operand) { got = append(got, o.Name) })
	want := []string{"A", "B", "D", "A", "D", "A", "D"}
	if len(got) != len(want) {
		t.Fatalf("%v, want %v", got, want)
	}
	for i := range want {
		if got[i] != want[i] {
			t.Fatalf("%v, want %v", got, want)
		}
	}
}
