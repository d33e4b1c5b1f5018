package reference

import (
	"context"
	"encoding/binary"
	"math"
	"strings"
	"testing"

	"golang.org/x/sync/errgroup"

	"boost-tui/kernels"
	"boost-tui/kernels/check"
)

// halves is a matrix in BF16 with the numbers given, beginning an odd number of elements into its memory.
func halves(t *testing.T, d kernels.Device, rows int, x ...float32) kernels.View {
	t.Helper()
	b, err := d.Alloc("half", int64(2*len(x)+6), true)
	if err != nil {
		t.Fatal(err)
	}
	v := kernels.Matrix(b, 2, rows, len(x)/rows, kernels.BF16)
	h, err := d.Host(v.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	for i, f := range x {
		binary.NativeEndian.PutUint16(h.Bytes[2*i:], kernels.ToBF16(f))
	}
	do(t, d, &kernels.Upload{Src: h, Dst: v})
	return v
}

func do(t *testing.T, d kernels.Device, op kernels.Op) {
	t.Helper()
	if err := d.Do(kernels.Call{}, op); err != nil {
		t.Fatal(err)
	}
}

func numbers(t *testing.T, d kernels.Device, v kernels.View) []float32 {
	t.Helper()
	h, err := d.Host(v.Bytes())
	if err != nil {
		t.Fatal(err)
	}
	do(t, d, &kernels.Download{Src: v, Dst: h})
	out := make([]float32, v.Len())
	for i := range out {
		if v.DType == kernels.BF16 {
			out[i] = kernels.FromBF16(binary.NativeEndian.Uint16(h.Bytes[2*i:]))
		} else {
			out[i] = math.Float32frombits(binary.NativeEndian.Uint32(h.Bytes[4*i:]))
		}
	}
	return out
}

// A product of BF16 is exact until it is stored: into F32 it is the sum, into BF16 that rounded once.
func TestProductsOfBF16(t *testing.T) {
	d := New(&World{}, 0)
	a, b := halves(t, d, 1, 1, 1, 1), halves(t, d, 3, 256, 1, 0.5)
	wide, err := d.Alloc("wide", 4, false)
	if err != nil {
		t.Fatal(err)
	}
	f, h := kernels.Matrix(wide, 0, 1, 1, kernels.F32), halves(t, d, 1, 7)
	do(t, d, &kernels.Gemm{Alpha: 1, A: a, B: b, D: f})
	do(t, d, &kernels.Gemm{Alpha: 1, A: a, B: b, D: h})
	if x, y := numbers(t, d, f)[0], numbers(t, d, h)[0]; x != 257.5 || y != 258 {
		t.Errorf("%g and %g", x, y)
	}
	do(t, d, &kernels.Convert{X: f, Out: h})
	do(t, d, &kernels.Convert{X: h, Out: f})
	if x := numbers(t, d, f)[0]; x != 258 {
		t.Errorf("converted and back %g", x)
	}
}

// Elements share words of memory with their neighbours, which must stay.
func TestNeighboursOfBF16(t *testing.T) {
	d := New(&World{}, 0)
	x := halves(t, d, 2, 1, 2, 3, 4, 5, 6)
	do(t, d, &kernels.Fill{X: x.ColRange(1, 2), Value: 9})
	do(t, d, &kernels.Copy{Src: x.RowRange(0, 1).ColRange(0, 2), Dst: x.RowRange(1, 2).ColRange(1, 3)})
	for i, want := range []float32{1, 9, 3, 4, 1, 9} {
		if got := numbers(t, d, x)[i]; got != want {
			t.Errorf("element %d is %g, want %g", i, got, want)
		}
	}
}

// TestMessagesOfBF16 sends both types in one message; sums are rounded once, and ranks must agree about types.
func TestMessagesOfBF16(t *testing.T) {
	w := &World{}
	id, err := New(w, 0).UID()
	if err != nil {
		t.Fatal(err)
	}
	var g errgroup.Group
	for r := range 3 {
		g.Go(func() error {
			d := New(w, r)
			c, err := d.Join(context.Background(), id, 3, r, "tp")
			if err != nil {
				return err
			}
			payload, wide := halves(t, d, 1, []float32{256, 1, 0.5}[r], float32(r)), halves(t, d, 1, 0, 0, 0, 0)
			sum := kernels.Matrix(wide.Buf, 4, 1, 1, kernels.F32)
			if err := d.Do(kernels.Call{}, &kernels.Fill{X: sum, Value: float32(r) + 0.001}); err != nil {
				return err
			}
			if err := d.Do(kernels.Call{}, &kernels.Collective{Comm: c, Parts: []kernels.Part{{Send: payload}, {Send: sum}}}); err != nil {
				return err
			}
			// 256 + 1 lies between two neighbours, and so does 256 + 0.5: both are rounded away.
			if x, y := numbers(t, d, payload), numbers(t, d, sum)[0]; x[0] != 256 || x[1] != 3 || math.Abs(float64(y)-3.003) > 1e-6 {
				t.Errorf("rank %d has %v and %g", r, x, y)
			}
			part := kernels.Part{Send: payload}
			if r == 1 {
				part.Send = kernels.Matrix(wide.Buf, 0, 1, 2, kernels.F32)
			}
			if err := d.Do(kernels.Call{}, &kernels.Collective{Comm: c, Parts: []kernels.Part{part}}); err == nil {
				t.Errorf("rank %d: bf16 and fp32 in one sum", r)
			}
			return nil
		})
	}
	if err := g.Wait(); err != nil {
		t.Fatal(err)
	}
}

// The check decorator finds what is not finite in BF16.
func TestNotFiniteInBF16(t *testing.T) {
	d := check.Wrap(New(&World{}, 0), check.Options{Finite: true})
	x := halves(t, d, 1, 1, 3e38)
	err := d.Do(kernels.Call{}, &kernels.Axpby{A: 2, X: x, Out: x})
	if want := "wrote +Inf to Out at row 0, column 1"; err == nil || !strings.Contains(err.Error(), want) {
		t.Errorf("%v, want %q", err, want)
	}
}
