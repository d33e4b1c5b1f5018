package record

import (
	"context"
	"errors"
	"go/ast"
	"go/parser"
	"go/token"
	"path/filepath"
	"reflect"
	"strings"
	"testing"

	"boost-tui/kernels"
)

func open(t testing.TB) *Device {
	t.Helper()
	return New(Options{})
}

func alloc(t testing.TB, d *Device, rows, cols int, dt kernels.DType) kernels.View {
	t.Helper()
	b, err := d.Alloc("test", int64(rows)*int64(cols)*dt.Bytes(), true)
	if err != nil {
		t.Fatal(err)
	}
	return kernels.Matrix(b, 0, rows, cols, dt)
}

func join(t testing.TB, d *Device, n int) kernels.Comm {
	t.Helper()
	c, err := d.Join(context.Background(), kernels.UID{}, n, 0, "tp")
	if err != nil {
		t.Fatal(err)
	}
	return c
}

// sample is an operation of every type with the FLOPs and bytes that it must be recorded with.
type sample struct {
	op          kernels.Op
	flops       int64
	read, write int64 // elements of 4 bytes
}

func samples(t testing.TB, d *Device) []sample {
	f := func(rows, cols int) kernels.View { return alloc(t, d, rows, cols, kernels.F32) }
	ids := func(rows, cols int) kernels.View { return alloc(t, d, rows, cols, kernels.I32) }
	host, err := d.Host(64)
	if err != nil {
		t.Fatal(err)
	}
	x := f(4, 8)
	one, col, row := f(1, 1), f(4, 1), f(1, 8)
	v := func(first kernels.Op, flops, read, write int64) sample { return sample{first, flops, read, write} }
	return []sample{
		v(&kernels.Gemm{Alpha: 1, A: f(4, 6), B: f(6, 8), D: x}, 2*4*6*8, 24+48, 32),
		v(&kernels.Gemm{Alpha: 1, Beta: 1, TransA: true, TransB: true, A: f(6, 4), B: f(8, 6), D: x}, 2*4*6*8, 24+48+32, 32),
		v(&kernels.Gemm{Alpha: 1, TransB: true, A: f(4, 18).ColRange(0, 6), B: f(24, 6).RowRange(0, 8), D: f(12, 8).RowRange(0, 4), Batch: 3, StrideA: 6, StrideB: 48, StrideD: 32},
			3*2*4*6*8, 3*(24+48), 3*32),
		v(&kernels.Axpby{A: 1, B: 1, X: x, Y: f(4, 8), Out: x}, 0, 64, 32),
		v(&kernels.Copy{Src: x, Dst: f(4, 8)}, 0, 32, 32),
		v(&kernels.Fill{X: x}, 0, 0, 32),
		v(&kernels.Convert{X: x, Out: alloc(t, d, 4, 8, kernels.BF16)}, 0, 32, 16),
		v(&kernels.Upload{Src: host, Dst: one}, 0, 0, 1),
		v(&kernels.Download{Dst: host, Src: one}, 0, 1, 0),
		v(&kernels.NormStats{X: x, Stat: col}, 0, 32, 4),
		v(&kernels.NormRStd{Stat: col, RStd: col, Width: 8, Eps: 1}, 0, 4, 4),
		v(&kernels.NormApply{X: x, W: row, RStd: col, Y: f(4, 8)}, 0, 32+8+4, 32),
		v(&kernels.NormBwdStats{X: x, W: row, RStd: col, DY: f(4, 8), Dot: f(4, 1)}, 0, 32+8+4+32, 4),
		v(&kernels.NormBwdApply{X: x, W: row, RStd: col, DY: f(4, 8), Dot: f(4, 1), DX: f(4, 8), DW: f(1, 8), Width: 8}, 0, 32+8+4+32+4+8, 32+8),
		v(&kernels.Latent{P: x, RStd: col, U: x, H: f(4, 8), Silu: true}, 0, 36, 64),
		v(&kernels.LatentBwd{DH: x, U: f(4, 8), DU: x, Dot: col, Silu: true}, 0, 64, 36),
		v(&kernels.SwiGLU{G: x, U: f(4, 8), Y: f(4, 8), Silu: true}, 0, 64, 32),
		v(&kernels.SwiGLUBwd{G: x, U: f(4, 8), DY: f(4, 8), DG: f(4, 8), DU: f(4, 8)}, 0, 96, 64),
		v(&kernels.Rope{X: x, Seq: 4, HeadDim: 4, Theta: 1e4}, 0, 32, 32),
		v(&kernels.Attention{Q: x, K: f(4, 8), V: f(4, 8), O: f(4, 8), LSE: f(4, 2), Seq: 4, HeadDim: 4, Scale: 1}, 2*4*32, 96, 40),
		v(&kernels.AttentionBwd{Q: x, K: f(4, 8), V: f(4, 8), O: f(4, 8), LSE: f(4, 2), DO: f(4, 8), DQ: f(4, 8), DK: f(4, 8), DV: f(4, 8), Work: f(4, 2),
			Seq: 4, HeadDim: 4, Scale: 1}, 4*4*32, 5*32+8, 3*32+8),
		v(&kernels.Embed{IDs: ids(4, 1), Table: f(9, 8), Out: x}, 0, 4+72, 32),
		v(&kernels.EmbedBwd{IDs: ids(4, 1), DOut: x, DTable: f(9, 8)}, 0, 4+32+72, 72),
		v(&kernels.XentMax{Logits: x, Max: col}, 0, 32, 4),
		v(&kernels.XentSum{Logits: x, Targets: ids(4, 1), Max: col, Sum: f(4, 1), Target: f(4, 1)}, 0, 32+4+4, 8),
		v(&kernels.XentLoss{Logits: x, Targets: ids(4, 1), Max: col, Sum: f(4, 1), Target: f(4, 1), Loss: one, DLogits: x, Scale: 1}, 0, 32+16+1, 33),
		v(&kernels.SumSq{X: x, Out: one}, 0, 33, 1),
		v(&kernels.ClipScale{SumSq: one, Norm: f(1, 1), Scale: f(1, 1)}, 0, 1, 2),
		v(&kernels.AdamW{Param: x, M: f(4, 8), V: f(4, 8), Grad: f(4, 8), Scale: one, Step: 1}, 0, 4*32+1, 96),
		v(&kernels.FindNonFinite{X: x, At: ids(1, 2)}, 0, 32, 2),
		v(&kernels.Cross{U: x, Prev: f(4, 8), Gate: row, H: f(4, 8)}, 0, 72, 32),
		v(&kernels.CrossBwd{DH: x, Carry: f(4, 8), Prev: f(4, 8), Gate: row, DGate: f(1, 8)}, 0, 3*32+16, 72),
		v(&kernels.CrossBwd{DH: x, Carry: f(4, 8), Fresh: true}, 0, 32, 64),
		v(&kernels.Scatter{Values: row, Index: ids(1, 8), Out: x}, 0, 16, 32),
		v(&kernels.Pick{X: x, Index: ids(1, 8), Out: row, Beta: 1}, 0, 48, 8),
		v(&kernels.Draw{X: x, Width: 8}, 0, 0, 32),
		v(&kernels.Adam{Param: x, M: f(4, 8), V: f(4, 8), Grad: f(4, 8), Scale: one}, 0, 4*32+1, 96),
		v(&kernels.LowRankStep{A: f(2, 8), B: f(6, 2), DA: f(2, 8), DB: f(6, 2), Scale: one}, 0, 57, 28),
		v(&kernels.Collective{Comm: join(t, d, 4), Parts: []kernels.Part{{Send: x.Flat()}, {Send: col.Flat(), Reduce: kernels.Max}}}, 0, 36, 36),
		v(&kernels.Collective{Comm: join(t, d, 4), Parts: []kernels.Part{{Kind: kernels.AllGather, Send: row, Recv: x.Flat()}}}, 0, 8, 32),
		v(&kernels.Send{Comm: join(t, d, 4), Peer: 3, Views: []kernels.View{x, col}}, 0, 36, 0),
		v(&kernels.Recv{Comm: join(t, d, 4), Peer: 1, Views: []kernels.View{x, col}}, 0, 0, 36),
	}
}

func TestEveryOperation(t *testing.T) {
	d := open(t)
	seen := map[string]bool{}
	for i, s := range samples(t, d) {
		at := kernels.Call{Label: kernels.Label{Phase: kernels.Forward, Layer: i, Chunk: "c", Op: "o"}}
		if err := d.Do(at, s.op); err != nil {
			t.Errorf("%T: %v", s.op, err)
			continue
		}
		seen[reflect.TypeOf(s.op).Elem().Name()] = true
		c := d.Calls()[len(d.Calls())-1]
		if c.Op != s.op.Name() || c.Class != s.op.Class() || c.Label != at.Label || c.FLOPs != s.flops || c.ReadBytes != 4*s.read || c.WriteBytes != 4*s.write {
			t.Errorf("%T: %+v, want %d flops, %d read, %d written", s.op, c, s.flops, 4*s.read, 4*s.write)
		}
	}
	for _, name := range operations(t) {
		if !seen[name] {
			t.Errorf("kernels.%s has no sample here", name)
		}
	}
}

// operations lists the types of package kernels that have a FLOPs method.
func operations(t *testing.T) []string {
	files, err := filepath.Glob("../*.go")
	if err != nil || len(files) == 0 {
		t.Fatalf("%v: %v", files, err)
	}
	var names []string
	for _, path := range files {
		f, err := parser.ParseFile(token.NewFileSet(), path, nil, parser.SkipObjectResolution)
		if err != nil {
			t.Fatal(err)
		}
		for _, decl := range f.Decls {
			if fn, ok := decl.(*ast.FuncDecl); ok && fn.Recv != nil && fn.Name.Name == "FLOPs" {
				names = append(names, fn.Recv.List[0].Type.(*ast.StarExpr).X.(*ast.Ident).Name)
			}
		}
	}
	return names
}

func TestCollective(t *testing.T) {
	d := open(t)
	x, stat, all := alloc(t, d, 4, 8, kernels.F32), alloc(t, d, 4, 1, kernels.F32), alloc(t, d, 16, 8, kernels.F32)
	parts := []kernels.Part{{Send: x.Flat()}, {Send: stat.Flat(), Reduce: kernels.Max}, {Kind: kernels.AllGather, Send: x.Flat(), Recv: all.Flat()},
		{Kind: kernels.ReduceScatter, Send: all.Flat(), Recv: x.Flat()}}
	if err := d.Do(kernels.Call{}, &kernels.Collective{Comm: join(t, d, 4), Parts: parts}); err != nil {
		t.Fatal(err)
	}
	c := d.Calls()[0]
	want := []Part{{kernels.AllReduce, kernels.Sum, 32}, {kernels.AllReduce, kernels.Max, 4}, {kernels.AllGather, kernels.Sum, 128}, {kernels.ReduceScatter, kernels.Sum, 128}}
	if !reflect.DeepEqual(c.Parts, want) || c.Payload != 4*292 || c.Elements() != 292 || c.GroupName != "tp" || c.GroupSize != 4 {
		t.Errorf("%+v", c)
	}
	if wire := int64(4 * (2*36*3/4 + 256*3/4)); c.WireBytes != wire {
		t.Errorf("wire %d, want %d", c.WireBytes, wire)
	}
}

func TestMemory(t *testing.T) {
	d := New(Options{MemBytes: 1000})
	a, err := d.Alloc(kernels.MemWeights, 600, false)
	if err != nil {
		t.Fatal(err)
	}
	if _, err := d.Alloc(kernels.MemLogits, 500, false); !errors.Is(err, kernels.ErrNoMemory) {
		t.Errorf("too much: %v", err)
	}
	b, _ := d.Alloc(kernels.MemLogits, 300, false)
	if err := errors.Join(d.Free(a), d.Free(b)); err != nil {
		t.Error(err)
	}
	if err := d.Free(a); !errors.Is(err, kernels.ErrInvalid) {
		t.Errorf("free twice: %v", err)
	}
	if c, _ := d.Alloc(kernels.MemLogits, 200, false); c == nil || c.Ptr <= b.Ptr+300-1 {
		t.Errorf("buffers overlap: %+v %+v", b, c)
	}
	if want := map[string]int64{"weights": 600, "logits": 300}; !reflect.DeepEqual(d.Memory(), want) || d.PeakBytes() != 900 {
		t.Errorf("%v, %d", d.Memory(), d.PeakBytes())
	}
	if i := d.Info(); i.MemFree != 800 || i.Backend != "record" {
		t.Errorf("%+v", i)
	}
}

func TestErrors(t *testing.T) {
	d := open(t)
	x := alloc(t, d, 4, 8, kernels.F32)
	label := kernels.Call{Label: kernels.Label{Phase: kernels.Backward, Layer: 3, Chunk: "mlp.in", Op: "gate.A"}}
	err := d.Do(label, &kernels.Fill{X: x.RowRange(2, 6)})
	if !errors.Is(err, kernels.ErrInvalid) || !strings.Contains(err.Error(), "backward.l3.mlp.in/gate.A") {
		t.Errorf("out of bounds: %v", err)
	}
	for what, err := range map[string]error{
		"stream":   d.Do(kernels.Call{Stream: 7}, &kernels.Fill{X: x}),
		"wait":     d.Wait(0, 3),
		"record":   d.Record(0, 9),
		"sync":     d.Sync(context.Background(), 9),
		"free":     d.Free(nil),
		"no op":    d.Do(label, &kernels.Gemm{}),
		"ranks":    second(d.Join(context.Background(), kernels.UID{}, 2, 2, "tp")),
		"never":    second(d.EventTime(0)),
		"negative": second(d.Alloc("x", -1, false)),
		"host":     second(d.Host(-1)),
	} {
		if !errors.Is(err, kernels.ErrInvalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
	c := join(t, d, 2)
	if err := c.Abort(); err != nil {
		t.Fatal(err)
	}
	if err := d.Do(label, &kernels.Collective{Comm: c, Parts: []kernels.Part{{Send: x.Flat()}}}); !errors.Is(err, kernels.ErrAborted) {
		t.Errorf("aborted: %v", err)
	}
	if len(d.Calls()) != 0 {
		t.Errorf("failed operations were recorded: %v", d.Calls())
	}
}

func second[T any](_ T, err error) error { return err }

// A transfer counts at its sender, and both ends know whom with and how much.
func TestTransfers(t *testing.T) {
	d := open(t)
	x, c := alloc(t, d, 4, 8, kernels.F32), join(t, d, 3)
	for _, op := range []kernels.Op{&kernels.Send{Comm: c, Peer: 2, Views: []kernels.View{x}}, &kernels.Recv{Comm: c, Peer: 1, Views: []kernels.View{x}}} {
		if err := d.Do(kernels.Call{}, op); err != nil {
			t.Fatal(err)
		}
	}
	s, r := d.Calls()[0], d.Calls()[1]
	if s.Payload != 128 || s.WireBytes != 128 || s.Moved != 128 || s.Peer != 2 || s.GroupSize != 3 || s.GroupName != "tp" {
		t.Errorf("%+v", s)
	}
	if r.Payload != 0 || r.WireBytes != 0 || r.Moved != 128 || r.Peer != 1 {
		t.Errorf("%+v", r)
	}
}

func TestSum(t *testing.T) {
	d := open(t)
	for _, s := range samples(t, d) {
		if err := d.Do(kernels.Call{}, s.op); err != nil {
			t.Fatal(err)
		}
	}
	all := d.Sum(nil)
	comm := d.Sum(func(c *Call) bool { return c.Class == kernels.Communication })
	if all.Calls != int64(len(d.Calls())) || comm.Calls != 4 || comm.Payload != 4*(36+32+36) || all.Collectives != 4 || all.Payload != comm.Payload || comm.FLOPs != 0 || all.FLOPs == 0 {
		t.Errorf("%+v, %+v", all, comm)
	}
	sum := int64(1 << 62)
	add(&sum, 1<<62)
	add(&sum, 5)
	if sum != 1<<63-1 {
		t.Errorf("the sum wrapped to %d", sum)
	}
	d.Reset()
	if len(d.Calls()) != 0 || d.Sum(nil) != (Totals{}) || d.PeakBytes() == 0 {
		t.Error("Reset")
	}
}
