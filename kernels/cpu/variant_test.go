package cpu

import (
	"encoding/binary"
	"errors"
	"math"
	"testing"

	"boost-tui/kernels"
	"boost-tui/kernels/reference"
)

func TestCross(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		for _, s := range rowShapes {
			rows, cols, pad := s[0], s[1], s[2]
			u, prev, gate, h := r.matrix(rows, cols, pad), r.matrix(rows, cols, pad), r.matrix(1, cols, 0), r.matrix(rows, cols, pad)
			for _, on := range []bool{false, true} {
				act := func(x float64) float64 {
					if on {
						return silu(x)
					}
					return x
				}
				r.run(&kernels.Cross{U: u, Prev: prev, H: h, Silu: on})
				r.want("identity", h, 1e-6, func(i, j int) float64 { return act(r.at(u, i, j)) + act(r.at(prev, i, j)) })
				r.run(&kernels.Cross{U: u, Prev: prev, Gate: gate, H: h, Silu: on})
				r.want("vector", h, 1e-6, func(i, j int) float64 { return act(r.at(u, i, j)) + r.at(gate, 0, j)*act(r.at(prev, i, j)) })

				dh, carry, dgate := r.matrix(rows, cols, pad), r.matrix(rows, cols, pad), r.matrix(1, cols, 0)
				for _, fresh := range []bool{true, false} {
					was, brought, grad := r.get(dh), r.get(carry), r.get(dgate)
					r.run(&kernels.CrossBwd{DH: dh, Carry: carry, Prev: prev, Gate: gate, DGate: dgate, Silu: on, Fresh: fresh})
					r.want("carry", carry, 1e-6, func(i, j int) float64 { return r.at(gate, 0, j) * was[i][j] })
					r.want("dh", dh, 1e-6, func(i, j int) float64 {
						if fresh {
							return was[i][j]
						}
						return was[i][j] + brought[i][j]
					})
					r.want("dgate", dgate, 1e-5, func(_, j int) float64 {
						s := grad[0][j]
						for i := range rows {
							s += was[i][j] * act(r.at(prev, i, j))
						}
						return s
					})
				}
				was, brought := r.get(dh), r.get(carry)
				r.run(&kernels.CrossBwd{DH: dh, Carry: carry, Silu: on})
				r.want("carry of identity", carry, 0, func(i, j int) float64 { return was[i][j] })
				r.want("dh of identity", dh, 1e-6, func(i, j int) float64 { return was[i][j] + brought[i][j] })
			}
		}
	})
}

func TestSparse(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		for _, n := range []int{1, 9, 70000} {
			dense, values, out := r.matrix(n, 3, 0), r.matrix(1, n, 0), r.matrix(1, n, 0)
			index := r.empty(1, n, 0, kernels.I32)
			place := func(i int) int { // every third nowhere
				if i%3 == 2 {
					return -1
				}
				return (i*2 + 1) % (3 * n)
			}
			holds := map[int]float64{}
			for i := range n {
				r.set(index, 0, i, math.Float32frombits(uint32(int32(place(i)))))
				if place(i) >= 0 {
					holds[place(i)] = r.at(values, 0, i)
				}
			}
			r.run(&kernels.Scatter{Values: values, Index: index, Out: dense})
			r.want("scatter", dense, 0, func(i, j int) float64 { return holds[3*i+j] })
			x := r.matrix(n, 3, 0)
			for _, beta := range []float32{0, 1} {
				was := r.get(out)
				r.run(&kernels.Pick{X: x, Index: index, Out: out, Beta: beta})
				r.want("pick", out, 1e-6, func(_, i int) float64 {
					at := place(i)
					if at < 0 {
						return 0
					}
					return r.at(x, at/3, at%3) + float64(beta)*was[0][i]
				})
			}
		}
	})
}

func TestDraw(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		x := r.matrix(5, 7, 2)
		r.run(&kernels.Draw{X: x, Key: math.MaxUint64 - 3, Row: 2, Col: 3, Width: 11, Bound: 0.25})
		r.want("draw", x, 1e-7, func(i, j int) float64 {
			return 0.25 * (2*kernels.Uniform(math.MaxUint64-3, uint64((i+2)*11+j+3)) - 1)
		})
	})
}

func TestAdam(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		for _, n := range []int{1, 17, 40000} {
			p, m, v, g, scale := r.matrix(1, n, 0), r.matrix(1, n, 0), r.matrix(1, n, 0), r.matrix(1, n, 0), r.matrix(1, 1, 0)
			r.run(&kernels.Fill{X: v, Value: 0.5})
			r.set(scale, 0, 0, 0.75)
			op := kernels.Adam{Param: p, M: m, V: v, Grad: g, Scale: scale, Rate: 0.01, Decay: 0.001, Beta1: 0.9, Beta2: 0.99, Eps: 1e-6}
			pw, mw, gw := r.get(p), r.get(m), r.get(g)
			mean := func(j int) float64 { return 0.9*mw[0][j] + 0.1*0.75*gw[0][j] }
			square := func(j int) float64 { return 0.99*0.5 + 0.01*0.75*0.75*gw[0][j]*gw[0][j] }
			direction := func(j int) float64 { return mean(j) / (math.Sqrt(square(j)) + 1e-6) }
			r.run(&op)
			r.want("m", m, 1e-6, func(_, j int) float64 { return mean(j) })
			r.want("v", v, 1e-6, func(_, j int) float64 { return square(j) })
			r.want("p", p, 1e-6, func(_, j int) float64 { return (pw[0][j] - 0.01*direction(j)) * (1 - 0.001) })

			mw = r.get(m)
			vw := r.get(v)
			op.Param, op.Out = kernels.View{}, g
			r.run(&op)
			r.want("out", g, 1e-6, func(_, j int) float64 {
				return (0.9*mw[0][j] + 0.1*0.75*gw[0][j]) / (math.Sqrt(0.99*vw[0][j]+0.01*0.75*0.75*gw[0][j]*gw[0][j]) + 1e-6)
			})

			r.set(scale, 0, 0, float32(math.NaN()))
			mw = r.get(m)
			r.run(&op)
			r.want("out of no scale", g, 0, func(int, int) float64 { return 0 })
			r.want("m of no scale", m, 0, func(_, j int) float64 { return mw[0][j] })
		}
	})
}

// TestLowRankStep compares the product of the factors with the reference's, which decomposes the whole matrix.
func TestLowRankStep(t *testing.T) {
	each(t, func(t *testing.T, r *rig) {
		for _, s := range [][3]int{{1, 1, 1}, {7, 5, 2}, {12, 30, 6}, {9, 9, 8}} {
			in, out, rank := s[0], s[1], s[2]
			op := &kernels.LowRankStep{A: r.matrix(rank, in, 1), B: r.matrix(out, rank, 2), DA: r.matrix(rank, in, 0), DB: r.matrix(out, rank, 0), Scale: r.matrix(1, 1, 0), Rate: 0.1}
			ref := reference.New(&reference.World{}, 0)
			other := *op
			for _, v := range []*kernels.View{&other.A, &other.B, &other.DA, &other.DB, &other.Scale} {
				*v = r.copyTo(ref, *v)
			}
			r.run(op)
			if err := ref.Do(kernels.Call{}, &other); err != nil {
				t.Fatal(err)
			}
			a, b := r.read(ref, other.A), r.read(ref, other.B)
			for i := range out {
				for j := range in {
					got, want := 0.0, 0.0
					for k := range rank {
						got += r.at(op.B, i, k) * r.at(op.A, k, j)
						want += b[i*rank+k] * a[k*in+j]
					}
					if math.Abs(got-want) > 1e-4*math.Max(1, math.Abs(want)) {
						t.Fatalf("%v: W[%d,%d] is %g, want %g", s, i, j, got, want)
					}
				}
			}
			r.run(&kernels.Fill{X: op.Scale, Value: float32(math.NaN())})
			before := r.get(op.B)
			r.run(op)
			r.want("b of no scale", op.B, 0, func(i, j int) float64 { return before[i][j] })
			r.run(&kernels.Fill{X: op.Scale, Value: 1})
			r.run(&kernels.Fill{X: op.B})
			if err := r.Do(kernels.Call{}, op); !errors.Is(err, kernels.ErrDevice) {
				t.Errorf("a factor of zeros: %v", err)
			}
		}
	})
}

// copyTo puts a view's elements on another device, without gaps.
func (r *rig) copyTo(d kernels.Device, v kernels.View) kernels.View {
	b, err := d.Alloc("copy", 4*v.Len(), false)
	if err != nil {
		r.Fatal(err)
	}
	h, err := d.Host(4 * v.Len())
	if err != nil {
		r.Fatal(err)
	}
	for i := range int(v.Len()) {
		putFloat(h.Bytes[4*i:], float32(r.at(v, i/v.Cols, i%v.Cols)))
	}
	w := kernels.Matrix(b, 0, v.Rows, v.Cols, kernels.F32)
	if err := d.Do(kernels.Call{}, &kernels.Upload{Src: h, Dst: w}); err != nil {
		r.Fatal(err)
	}
	return w
}

func (r *rig) read(d kernels.Device, v kernels.View) []float64 {
	h, err := d.Host(4 * v.Len())
	if err != nil {
		r.Fatal(err)
	}
	if err := d.Do(kernels.Call{}, &kernels.Download{Src: v, Dst: h}); err != nil {
		r.Fatal(err)
	}
	out := make([]float64, v.Len())
	for i := range out {
		out[i] = float64(getFloat(h.Bytes[4*i:]))
	}
	return out
}

func putFloat(b []byte, x float32) { binary.NativeEndian.PutUint32(b, math.Float32bits(x)) }

func getFloat(b []byte) float32 { return math.Float32frombits(binary.NativeEndian.Uint32(b)) }
