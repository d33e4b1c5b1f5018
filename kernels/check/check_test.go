package check

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"testing"

	"boost-tui/kernels"
	"boost-tui/kernels/record"
)

// memory is a device with just enough arithmetic: fills, copies, sums, and the search. The rest it records.
type memory struct {
	*record.Device
	bytes map[*kernels.Buffer][]byte
	syncs int
}

func newMemory() *memory {
	return &memory{Device: record.New(record.Options{}), bytes: map[*kernels.Buffer][]byte{}}
}

func (m *memory) Alloc(name string, n int64, symmetric bool) (*kernels.Buffer, error) {
	b, err := m.Device.Alloc(name, n, symmetric)
	if err == nil {
		m.bytes[b] = make([]byte, n)
	}
	return b, err
}

func (m *memory) Sync(ctx context.Context, s kernels.Stream) error {
	m.syncs++
	return m.Device.Sync(ctx, s)
}

func (m *memory) word(v kernels.View, r, c int) []byte {
	return m.bytes[v.Buf][v.Offset+int64(r*v.LD+c)*4:]
}

func (m *memory) get(v kernels.View, r, c int) float32 {
	return math.Float32frombits(binary.LittleEndian.Uint32(m.word(v, r, c)))
}

func (m *memory) set(v kernels.View, r, c int, f float32) {
	binary.LittleEndian.PutUint32(m.word(v, r, c), math.Float32bits(f))
}

func each(v kernels.View, f func(r, c int)) {
	for r := range v.Rows {
		for c := range v.Cols {
			f(r, c)
		}
	}
}

func (m *memory) Do(at kernels.Call, op kernels.Op) error {
	if err := m.Device.Do(at, op); err != nil {
		return err
	}
	switch o := op.(type) {
	case *kernels.Fill:
		each(o.X, func(r, c int) { m.set(o.X, r, c, o.Value) })
	case *kernels.Axpby:
		each(o.Out, func(r, c int) { m.set(o.Out, r, c, o.A*m.get(o.X, r, c)) })
	case *kernels.Download:
		for i := range o.Src.Cols {
			copy(o.Dst.Bytes[o.Offset+int64(i)*4:][:4], m.word(o.Src, 0, i))
		}
	case *kernels.FindNonFinite:
		row, col := int32(-1), int32(-1)
		each(o.X, func(r, c int) {
			if row < 0 && !isFinite(m.get(o.X, r, c)) {
				row, col = int32(r), int32(c)
			}
		})
		binary.LittleEndian.PutUint32(m.word(o.At, 0, 0), uint32(row))
		binary.LittleEndian.PutUint32(m.word(o.At, 0, 1), uint32(col))
	}
	return nil
}

func view(t *testing.T, dev kernels.Device, rows, cols int) kernels.View {
	t.Helper()
	b, err := dev.Alloc("x", int64(rows*cols)*4, true)
	if err != nil {
		t.Fatal(err)
	}
	return kernels.Matrix(b, 0, rows, cols, kernels.F32)
}

var label = kernels.Label{Phase: kernels.Forward, Layer: 2, Chunk: "mlp.in", Op: "gate.A"}

func TestFinite(t *testing.T) {
	m := newMemory()
	dev := Wrap(m, Options{Finite: true})
	big, out := view(t, dev, 6, 10), view(t, dev, 3, 4)
	x := big.RowRange(2, 5).ColRange(3, 7)
	at := kernels.Call{Label: label}
	double := &kernels.Axpby{A: 2, X: x, Out: out}
	if err := dev.Do(at, double); err != nil {
		t.Fatal(err)
	}
	m.set(x, 2, 0, float32(math.Inf(-1)))
	m.set(x, 1, 3, math.MaxFloat32)
	err := dev.Do(at, double)
	var e *kernels.Error
	if !errors.Is(err, kernels.ErrNotFinite) || !errors.As(err, &e) || e.Label != label || e.Op != "axpby" {
		t.Fatalf("%v", err)
	}
	if want := "check(record): axpby (forward.l2.mlp.in/gate.A): wrote +Inf to Out at row 1, column 3 of x+0[3x4 ld 4 fp32]"; err.Error() != want {
		t.Errorf("%q, want %q", err, want)
	}
	// A view with gaps is searched too, and only inside.
	m.set(big, 0, 0, float32(math.NaN()))
	if err := dev.Do(at, &kernels.Fill{X: x, Value: 1}); err != nil {
		t.Error(err)
	}
	if err := dev.Do(at, &kernels.Axpby{A: float32(math.NaN()), X: x, Out: x}); err == nil || !strings.Contains(err.Error(), "wrote NaN to Out at row 0, column 0") {
		t.Errorf("%v", err)
	}
	if err := dev.Do(at, &kernels.Fill{X: out, Value: float32(math.NaN())}); err != nil {
		t.Errorf("a fill with NaN was asked for: %v", err)
	}
}

func TestWithoutFinite(t *testing.T) {
	m := newMemory()
	dev := Wrap(m, Options{})
	x := view(t, dev, 2, 2)
	if err := dev.Do(kernels.Call{}, &kernels.Axpby{A: float32(math.NaN()), X: x, Out: x}); err != nil || m.syncs != 0 || len(m.Calls()) != 1 {
		t.Errorf("%v, %d syncs, %d calls", err, m.syncs, len(m.Calls()))
	}
}

func TestBounds(t *testing.T) {
	dev, other := Wrap(newMemory(), Options{}), newMemory()
	x, gone, foreign := view(t, dev, 4, 4), view(t, dev, 4, 4), view(t, other, 4, 4)
	if err := dev.Free(gone.Buf); err != nil {
		t.Fatal(err)
	}
	last := x.RowRange(3, 4)
	for _, tc := range []struct {
		op   kernels.Op
		want string
	}{
		{&kernels.Fill{X: gone}, "operand X: buffer x was freed"},
		{&kernels.Copy{Src: foreign, Dst: x}, "operand Src: buffer x is not of this device"},
		{&kernels.Fill{X: x.RowRange(2, 5)}, "operand X: view x+32[3x4 ld 4 fp32] ends at byte 80 of 64"},
		{&kernels.Copy{Src: x, Dst: x.RowRange(0, 3)}, "want 3x4"},
		{&kernels.Fill{X: kernels.Matrix(x.Buf, 0, 1, 4, kernels.I32)}, "want fp32"},
		{&kernels.Gemm{Alpha: 1, A: last, B: view(t, dev, 4, 1), D: view(t, dev, 1, 1), Batch: 3, StrideA: -8, StrideD: 1}, "operand D"},
	} {
		err := dev.Do(kernels.Call{Label: label}, tc.op)
		if !errors.Is(err, kernels.ErrInvalid) || !strings.Contains(err.Error(), tc.want) || !strings.Contains(err.Error(), "forward.l2.mlp.in/gate.A") {
			t.Errorf("%T: %v, want %q", tc.op, err, tc.want)
		}
	}
	for what, b := range map[string]*kernels.Buffer{"twice": gone.Buf, "foreign": foreign.Buf, "nil": nil} {
		if err := dev.Free(b); !errors.Is(err, kernels.ErrInvalid) {
			t.Errorf("free %s: %v", what, err)
		}
	}
}

// A receive is not waited for: what it waits for may depend on what this rank does next.
func TestReceivesAreNotWaitedFor(t *testing.T) {
	m := newMemory()
	dev := Wrap(m, Options{Finite: true})
	v := view(t, dev, 4, 4)
	c, err := dev.Join(context.Background(), kernels.UID{}, 2, 0, "pp")
	if err != nil {
		t.Fatal(err)
	}
	before := m.syncs
	if err := dev.Do(kernels.Call{}, &kernels.Recv{Comm: c, Peer: 1, Views: []kernels.View{v}}); err != nil || m.syncs != before {
		t.Errorf("%v after %d waits", err, m.syncs-before)
	}
}

func TestAliasing(t *testing.T) {
	dev := Wrap(newMemory(), Options{})
	v := func(r, c int) kernels.View { return view(t, dev, r, c) }
	x, y, col := v(4, 4), v(4, 4), v(4, 1)
	wide := v(4, 12)
	c, err := dev.Join(context.Background(), kernels.UID{}, 2, 0, "tp")
	if err != nil {
		t.Fatal(err)
	}
	for _, tc := range []struct {
		name string
		op   kernels.Op
		ok   bool
	}{
		{"gemm C is D", &kernels.Gemm{Alpha: 1, Beta: 1, A: y, B: v(4, 4), C: x, D: x}, true},
		{"gemm A is D", &kernels.Gemm{Alpha: 1, A: x, B: y, D: x}, false},
		{"gemm C overlaps D", &kernels.Gemm{Alpha: 1, Beta: 1, A: y, B: y, C: wide.ColRange(2, 6), D: wide.ColRange(0, 4)}, false},
		{"gemm side by side", &kernels.Gemm{Alpha: 1, A: wide.ColRange(4, 8), B: y, D: wide.ColRange(0, 4)}, true},
		{"gemm batch that overlaps itself", &kernels.Gemm{Alpha: 1, A: x, B: y, D: wide.ColRange(0, 4), Batch: 3, StrideD: 3}, false},
		{"gemm batch side by side", &kernels.Gemm{Alpha: 1, A: x, B: y, D: wide.ColRange(0, 4), Batch: 3, StrideD: 4}, true},
		{"axpby out is y", &kernels.Axpby{A: 1, B: 1, X: y, Y: x, Out: x}, true},
		{"axpby out is x is y", &kernels.Axpby{A: 1, B: 1, X: x, Y: x, Out: x}, true},
		{"copy to itself", &kernels.Copy{Src: x, Dst: x}, false},
		{"norm in place", &kernels.NormApply{X: x, W: v(1, 4), RStd: col, Y: x}, false},
		{"rstd in place", &kernels.NormRStd{Stat: col, RStd: col, Width: 4}, true},
		{"norm backward onto base", &kernels.NormBwdApply{X: y, W: v(1, 4), RStd: col, DY: v(4, 4), Dot: v(4, 1), Base: x, DX: x, DW: v(1, 4), Width: 4}, true},
		{"latent in place", &kernels.Latent{P: x, U: x, H: y, Silu: true}, true},
		{"latent twice the same output", &kernels.Latent{P: y, U: x, H: x, Silu: true}, false},
		{"latent backward in place", &kernels.LatentBwd{DH: x, U: y, DU: x}, true},
		{"swiglu in place", &kernels.SwiGLU{G: x, U: y, Y: x}, false},
		{"swiglu backward in place", &kernels.SwiGLUBwd{G: x, U: y, DY: v(4, 4), DG: x, DU: y}, true},
		{"swiglu backward DG in DY", &kernels.SwiGLUBwd{G: x, U: y, DY: wide.ColRange(0, 4), DG: wide.ColRange(0, 4), DU: y}, true},
		{"swiglu backward both in DY", &kernels.SwiGLUBwd{G: x, U: y, DY: wide.ColRange(0, 4), DG: wide.ColRange(0, 4), DU: wide.ColRange(0, 4)}, false},
		{"swiglu backward crossed", &kernels.SwiGLUBwd{G: x, U: y, DY: v(4, 4), DG: y, DU: x}, false},
		{"loss in place", &kernels.XentLoss{Logits: x, Targets: kernels.Matrix(v(4, 1).Buf, 0, 4, 1, kernels.I32), Max: col, Sum: v(4, 1), Target: v(4, 1),
			Loss: v(1, 1), DLogits: x, Scale: 1}, true},
		{"parts that overlap", &kernels.Collective{Comm: c, Parts: []kernels.Part{{Send: x.Flat()}, {Send: x.RowRange(0, 1).Flat()}}}, false},
		{"sent twice in one transfer", &kernels.Send{Comm: c, Peer: 1, Views: []kernels.View{x, x}}, true},
		{"received twice in one transfer", &kernels.Recv{Comm: c, Peer: 1, Views: []kernels.View{x, x.RowRange(0, 1)}}, false},
		{"received side by side", &kernels.Recv{Comm: c, Peer: 1, Views: []kernels.View{x, y}}, true},
		{"parts side by side", &kernels.Collective{Comm: c, Parts: []kernels.Part{{Send: x.RowRange(1, 4).Flat()}, {Send: x.RowRange(0, 1).Flat()}}}, true},
	} {
		err := dev.Do(kernels.Call{}, tc.op)
		if (err == nil) != tc.ok || err != nil && !strings.Contains(err.Error(), "shares memory with") {
			t.Errorf("%s: %v", tc.name, err)
		}
	}
}
