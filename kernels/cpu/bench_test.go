package cpu

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"testing"
	"time"

	"boost-tui/kernels"
)

// Benchmarks report GFLOP/s or GB/s beside what the machine gives in the same run: OpenBLAS itself at 1024³ on one thread, and
// a copy through memory.

// timed is the best time of b.N runs: what else runs on the machine only ever adds.
func (r *rig) timed(b *testing.B, op kernels.Op) time.Duration {
	r.run(op)
	best := time.Hour
	for range b.N {
		start := time.Now()
		if err := r.Do(kernels.Call{}, op); err != nil {
			r.Fatal(err)
		}
		best = min(best, time.Since(start))
	}
	return best
}

func (r *rig) product(m, n, k int, ta, tb bool) *kernels.Gemm {
	a, b := r.matrix(m, k, 0), r.matrix(k, n, 0)
	if ta {
		a = a.Reshape(k, m)
	}
	if tb {
		b = b.Reshape(n, k)
	}
	return &kernels.Gemm{TransA: ta, TransB: tb, Alpha: 1, A: a, B: b, D: r.matrix(m, n, 0)}
}

// peak is what the library reaches at 1024³ on one thread, in GFLOP/s.
func (r *rig) peak() float64 {
	g := r.product(1024, 1024, 1024, false, false)
	best := time.Hour
	for range 5 {
		start := time.Now()
		r.run(g)
		best = min(best, time.Since(start))
	}
	return float64(g.FLOPs()) / float64(best.Nanoseconds())
}

func BenchmarkGemm(b *testing.B) {
	for _, s := range []struct {
		m, n, k int
		ta, tb  bool
	}{{1024, 1024, 1024, false, false}, {2048, 512, 512, false, true}, {2048, 512, 128, false, true}, {2048, 1376, 128, false, true},
		{128, 512, 2048, true, false}, {1376, 128, 2048, true, false}, {2048, 128, 1376, false, false},
		{2048, 32000, 512, false, true}, {2048, 512, 32000, false, false}, {32000, 512, 2048, true, false}} {
		for _, threads := range []int{1, 2} {
			b.Run(fmt.Sprintf("%dx%dx%d-%v-%v-t%d", s.m, s.n, s.k, s.ta, s.tb, threads), func(b *testing.B) {
				r := open(b, Options{Threads: threads})
				g := r.product(s.m, s.n, s.k, s.ta, s.tb)
				b.ReportMetric(float64(g.FLOPs())/float64(r.timed(b, g).Nanoseconds()), "GFLOP/s")
			})
		}
	}
}

func BenchmarkAttention(b *testing.B) {
	for _, isa := range []string{"base", "avx2", "avx512"} {
		for _, s := range []heads{{4, 512, 8, 64, 0}, {8, 128, 4, 32, 0}, {1, 2048, 4, 128, 0}} {
			for _, backward := range []bool{false, true} {
				b.Run(fmt.Sprintf("%s-s%d-hd%d-bwd=%v", isa, s.seq, s.hd, backward), func(b *testing.B) {
					d, err := Open(Options{ISA: isa})
					if err != nil {
						b.Skip(err)
					}
					d.Close()
					r := open(b, Options{ISA: isa})
					n, c := s.batch*s.seq, s.heads*s.hd
					m := func() kernels.View { return r.matrix(n, c, 0) }
					fwd := &kernels.Attention{Q: m(), K: m(), V: m(), O: m(), LSE: r.matrix(n, s.heads, 0),
						Seq: s.seq, HeadDim: s.hd, Scale: 0.125}
					bwd := &kernels.AttentionBwd{Q: fwd.Q, K: fwd.K, V: fwd.V, O: fwd.O, LSE: fwd.LSE,
						DO: m(), DQ: m(), DK: m(), DV: m(), Work: r.matrix(n, s.heads, 0), Seq: s.seq, HeadDim: s.hd, Scale: 0.125}
					var op kernels.Op = fwd
					if r.run(fwd); backward {
						op = bwd
					}
					rate := float64(op.FLOPs()) / float64(r.timed(b, op).Nanoseconds())
					b.ReportMetric(rate, "GFLOP/s")
					b.ReportMetric(100*rate/r.peak(), "%peak")
				})
			}
		}
	}
}

// BenchmarkRows compares operations that are bound by memory with a copy of as many bytes.
func BenchmarkRows(b *testing.B) {
	const rows, cols = 2048, 1376
	r := open(b, Options{})
	m := func() kernels.View { return r.matrix(rows, cols, 0) }
	w, stat, one := r.matrix(1, cols, 0), r.matrix(rows, 1, 0), r.matrix(1, 1, 0)
	r.run(&kernels.Fill{X: stat, Value: 1})
	r.set(one, 0, 0, 1)
	for _, op := range []kernels.Op{
		&kernels.Copy{Src: m(), Dst: m()}, &kernels.Axpby{A: 1, B: 1, X: m(), Y: m(), Out: m()},
		&kernels.NormStats{X: m(), Stat: r.matrix(rows, 1, 0)},
		&kernels.NormApply{X: m(), W: w, RStd: stat, Y: m()}, &kernels.NormBwdStats{X: m(), W: w, RStd: stat, DY: m(), Dot: r.matrix(rows, 1, 0)},
		&kernels.NormBwdApply{X: m(), W: w, RStd: stat, DY: m(), Dot: stat, Base: m(), DX: m(), DW: r.matrix(1, cols, 0), Width: cols},
		&kernels.Latent{P: m(), RStd: stat, U: m(), H: m(), Silu: true},
		&kernels.LatentBwd{DH: m(), U: m(), DU: m(), Dot: r.matrix(rows, 1, 0), Silu: true},
		&kernels.SwiGLU{G: m(), U: m(), Y: m(), Silu: true},
		&kernels.SwiGLUBwd{G: m(), U: m(), DY: m(), DG: m(), DU: m(), Silu: true},
		&kernels.Rope{X: m(), Seq: 512, HeadDim: 32, Theta: 10000},
		&kernels.SumSq{X: m(), Out: r.matrix(1, 1, 0)},
		&kernels.AdamW{Param: m(), M: m(), V: m(), Grad: m(), Scale: one,
			LR: 1e-3, Beta1: 0.9, Beta2: 0.95, Eps: 1e-8, Step: 1},
		&kernels.FindNonFinite{X: m(), At: r.empty(1, 2, 0, kernels.I32)},
	} {
		b.Run(op.Name(), func(b *testing.B) {
			var bytes int64
			op.Operands(func(o kernels.Operand) {
				if o.Access&kernels.Read != 0 {
					bytes += o.View.Bytes()
				}
				if o.Access&kernels.Write != 0 {
					bytes += o.View.Bytes()
				}
			})
			b.ReportMetric(float64(bytes)/float64(r.timed(b, op).Nanoseconds()), "GB/s")
		})
	}
}

func BenchmarkCrossEntropy(b *testing.B) {
	const rows, vocab = 2048, 32000
	r := open(b, Options{})
	x, t := r.empty(rows, vocab, 0, kernels.F32), r.ids(rows, vocab)
	m, s, g, loss := r.matrix(rows, 1, 0), r.matrix(rows, 1, 0), r.matrix(rows, 1, 0), r.matrix(1, 1, 0)
	r.run(&kernels.Fill{X: x, Value: 0.1})
	for _, op := range []kernels.Op{&kernels.XentMax{Logits: x, Max: m}, &kernels.XentSum{Logits: x, Targets: t, Max: m, Sum: s, Target: g},
		&kernels.XentLoss{Logits: x, Targets: t, Max: m, Sum: s, Target: g, Loss: loss, DLogits: x, Scale: 1e-3}} {
		b.Run(op.Name(), func(b *testing.B) {
			b.ReportMetric(float64(x.Bytes())/float64(r.timed(b, op).Nanoseconds()), "GB/s")
		})
	}
}

func BenchmarkDo(b *testing.B) {
	r := open(b, Options{})
	x := r.matrix(1, 1, 0)
	op := &kernels.Axpby{A: 1, B: 1, X: x, Y: x, Out: x}
	b.ReportAllocs()
	for b.Loop() {
		if err := r.Do(kernels.Call{}, op); err != nil {
			b.Fatal(err)
		}
	}
}

func BenchmarkAllReduce(b *testing.B) {
	for _, n := range []int{2, 4} {
		for _, bytes := range []int{64, 4 << 10, 64 << 10, 1 << 20, 16 << 20} {
			b.Run(fmt.Sprintf("%d-ranks-%dB", n, bytes), func(b *testing.B) {
				world(b, n, func(r *rig, c kernels.Comm) error {
					v := r.symmetric(bytes / 4)
					op := &kernels.Collective{Comm: c, Parts: []kernels.Part{{Send: v}}}
					best := r.timed(b, op)
					if c.Rank() == 0 {
						b.ReportMetric(float64(best.Nanoseconds())/1e3, "µs")
						b.ReportMetric(float64(bytes)/float64(best.Nanoseconds()), "GB/s")
					}
					return nil
				})
			})
		}
	}
}

// BenchmarkAcrossHosts compares what goes over TCP with what goes through shared memory, in the same run: ranks on hosts
// of their own, and two ranks on each of two hosts.
func BenchmarkAcrossHosts(b *testing.B) {
	for _, n := range []int{2, 4} {
		for _, bytes := range []int{4 << 10, 64 << 10, 1 << 20, 16 << 20} {
			shared := reduceAcross(b, make([]int, n), bytes)
			layouts := map[string][]int{"ring": []int{0, 1, 2, 3}[:n]}
			if n == 4 {
				layouts["hybrid"] = []int{0, 0, 1, 1}
			}
			for name, at := range layouts {
				b.Run(fmt.Sprintf("%s-%d-ranks-%dB", name, n, bytes), func(b *testing.B) {
					best := reduceAcross(b, at, bytes)
					b.ReportMetric(float64(best.Nanoseconds())/1e3, "µs")
					b.ReportMetric(float64(bytes)/float64(best.Nanoseconds()), "GB/s")
					b.ReportMetric(float64(best)/float64(shared), "x-shm")
				})
			}
		}
	}
}

// reduceAcross is the best time of an all-reduce on a stream of its own.
func reduceAcross(b *testing.B, at []int, bytes int) time.Duration {
	best := time.Hour
	noErrors(b, acrossHosts(b, at, func(r *rig, c kernels.Comm) error {
		s, err := r.NewStream("dp")
		if err != nil {
			return err
		}
		op := &kernels.Collective{Comm: c, Parts: []kernels.Part{{Send: r.symmetric(bytes / 4)}}}
		for range 20 {
			start := time.Now()
			if err := errors.Join(r.Do(kernels.Call{Stream: s}, op), r.Sync(context.Background(), s)); err != nil {
				return err
			}
			if c.Rank() == 0 {
				best = min(best, time.Since(start))
			}
		}
		return nil
	}))
	return best
}

// BenchmarkLink says how much longer than it should a message beside an emulated link takes, at best and in the median.
func BenchmarkLink(b *testing.B) {
	for _, want := range []time.Duration{40 * time.Microsecond, 200 * time.Microsecond, time.Millisecond, 10 * time.Millisecond} {
		b.Run(want.String(), func(b *testing.B) {
			var took []time.Duration
			noErrors(b, linked(b, 2, kernels.Link{Latency: want / 2}, func(r *rig, c kernels.Comm) error {
				s, err := r.NewStream("tp")
				if err != nil {
					return err
				}
				op := &kernels.Collective{Comm: c, Parts: []kernels.Part{{Send: r.symmetric(256)}}}
				for range 200 {
					t, err := r.under(s, op)
					if err != nil {
						return err
					}
					if c.Rank() == 0 {
						took = append(took, t-want)
					}
				}
				return nil
			}))
			slices.Sort(took)
			b.ReportMetric(float64(took[0].Nanoseconds())/1e3, "best-excess-µs")
			b.ReportMetric(float64(took[len(took)/2].Nanoseconds())/1e3, "median-excess-µs")
		})
	}
}
