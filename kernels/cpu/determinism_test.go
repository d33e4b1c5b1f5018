package cpu

import (
	"math"
	"testing"

	"boost-tui/kernels"
)

// TestSameBitsAgain runs every kind of operation on one, two and five threads, twice each. Products may differ between numbers of
// threads, since a library rounds differently at the edges of the pieces; everything else may not.
func TestSameBitsAgain(t *testing.T) {
	var alone [][]float32
	for _, threads := range []int{1, 2, 5} {
		first := medley(open(t, Options{Threads: threads}), true)
		sameBits(t, "again", first, medley(open(t, Options{Threads: threads}), true))
		got := medley(open(t, Options{Threads: threads}), false)
		if threads == 1 {
			alone = got
		}
		sameBits(t, "on one thread", got, alone)
	}
}

func sameBits(t *testing.T, what string, a, b [][]float32) {
	t.Helper()
	for k := range a {
		for i := range a[k] {
			if math.Float32bits(a[k][i]) != math.Float32bits(b[k][i]) {
				t.Fatalf("result %d element %d is %g, %s %g", k, i, a[k][i], what, b[k][i])
			}
		}
	}
}

// medley runs one of each operation on fixed inputs and returns all that they wrote.
func medley(r *rig, products bool) [][]float32 {
	const rows, heads, hd, cols, vocab = 768, 4, 40, 160, 3001
	var all []kernels.View
	m := func(rows, cols int) kernels.View {
		v := r.matrix(rows, cols, 0)
		all = append(all, v)
		return v
	}
	x, y, z, u := m(rows, cols), m(rows, cols), m(rows, cols), m(rows, cols)
	dq, dk, dv, o := m(rows, cols), m(rows, cols), m(rows, cols), m(rows, cols)
	w, dw, stat, lse, work := m(1, cols), m(1, cols), m(rows, 1), m(rows, heads), m(rows, heads)
	logits, head, table := m(rows, vocab), m(vocab, cols), m(vocab, cols)
	ids, one, peak, sum, target := r.ids(rows, vocab), m(1, 1), m(rows, 1), m(rows, 1), m(rows, 1)
	for _, op := range []kernels.Op{
		&kernels.NormStats{X: x, Stat: stat}, &kernels.NormRStd{Stat: stat, RStd: stat, Width: cols, Eps: 1e-6},
		&kernels.NormApply{X: x, W: w, RStd: stat, Y: y}, &kernels.Rope{X: y, Seq: 256, HeadDim: hd, Theta: 1e4},
		&kernels.Attention{Q: y, K: z, V: u, O: o, LSE: lse, Seq: 256, HeadDim: hd, Scale: 0.2},
		&kernels.AttentionBwd{Q: y, K: z, V: u, O: o, LSE: lse, DO: x, DQ: dq, DK: dk, DV: dv, Work: work, Seq: 256, HeadDim: hd, Scale: 0.2},
		&kernels.SwiGLU{G: o, U: u, Y: o, Silu: true}, &kernels.Gemm{TransB: true, Alpha: 1, A: o, B: head, D: logits},
		&kernels.XentMax{Logits: logits, Max: peak}, &kernels.XentSum{Logits: logits, Targets: ids, Max: peak, Sum: sum, Target: target},
		&kernels.XentLoss{Logits: logits, Targets: ids, Max: peak, Sum: sum, Target: target, Loss: one, DLogits: logits, Scale: 1e-3},
		&kernels.Gemm{TransA: true, Alpha: 1, Beta: 1, A: logits, B: o, D: head}, &kernels.Gemm{Alpha: 1, A: logits, B: head, D: y},
		&kernels.EmbedBwd{IDs: ids, DOut: y, DTable: table},
		&kernels.NormBwdApply{X: x, W: w, RStd: stat, DY: y, Dot: stat, Base: z, DX: z, DW: dw, Width: cols},
		&kernels.SumSq{X: table, Out: one}, &kernels.LatentBwd{DH: z, U: x, DU: z, Dot: stat, Silu: true},
	} {
		if _, product := op.(*kernels.Gemm); !product || products {
			r.run(op)
		}
	}
	var out [][]float32
	for _, v := range all {
		out = append(out, append([]float32(nil), r.raw(v.Buf)...))
	}
	return out
}
