package cuda

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"boost-tui/kernels"
	"boost-tui/kernels/backend"
)

// emulator opens the emulated library.
func emulator(t *testing.T) *Library {
	t.Helper()
	if testing.Short() {
		t.Skip("compiles the library; the race detector does not see into it")
	}
	l, err := Emulator(context.Background(), t.Logf)
	if errors.Is(err, ErrNoCompiler) {
		t.Skip(err)
	}
	if err != nil {
		t.Fatal(err)
	}
	return l
}

// device opens the emulated device in a mode.
func device(t *testing.T, mode string) *backend.Device {
	t.Helper()
	l := emulator(t)
	d, err := l.Open(Options{Mode: mode})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { d.Close() })
	return d
}

func place(t *testing.T, d kernels.Device, rows, cols int, dt kernels.DType) kernels.View {
	t.Helper()
	b, err := d.Alloc("test", int64(rows*cols)*dt.Bytes(), true)
	if err != nil {
		t.Fatal(err)
	}
	return kernels.Matrix(b, 0, rows, cols, dt)
}

func do(t *testing.T, d kernels.Device, op kernels.Op) {
	t.Helper()
	if err := d.Do(kernels.Call{Label: kernels.Label{Layer: -1, Op: op.Name()}}, op); err != nil {
		t.Fatal(err)
	}
}

// Work is done in the order of its stream however late it runs, and memory that is not the device's own can be copied from and to.
func TestAheadOfTheDevice(t *testing.T) {
	for _, mode := range []string{"", "lazy", "random=5 lazy"} {
		t.Run(mode, func(t *testing.T) {
			d := device(t, mode)
			const n = 300_000 // more than goes through staging memory at once
			x, y := place(t, d, 1, n, kernels.F32), place(t, d, 1, n, kernels.F32)
			half := place(t, d, 1, n, kernels.BF16)
			from := &kernels.Host{Bytes: make([]byte, 4*n)}
			for i := range n {
				binary.NativeEndian.PutUint32(from.Bytes[4*i:], math.Float32bits(float32(i%256)))
			}
			do(t, d, &kernels.Upload{Src: from, Dst: x})
			do(t, d, &kernels.Convert{X: x, Out: half})
			do(t, d, &kernels.Axpby{A: 2, B: 1, X: half, Y: half, Out: half})
			do(t, d, &kernels.Convert{X: half, Out: y})
			to := &kernels.Host{Bytes: make([]byte, 4*n)}
			do(t, d, &kernels.Download{Src: y, Dst: to})
			for i := range n {
				got := math.Float32frombits(binary.NativeEndian.Uint32(to.Bytes[4*i:]))
				if want := float32(3 * (i % 256)); math.Abs(float64(got-want)) > float64(want)/256 {
					t.Fatalf("element %d is %g, want %g", i, got, want)
				}
			}
			e1, err1 := d.NewEvent()
			e2, err2 := d.NewEvent()
			s, err3 := d.NewStream("copies")
			if err := errors.Join(err1, err2, err3); err != nil {
				t.Fatal(err)
			}
			own, err := d.Host(4 * n)
			if err != nil {
				t.Fatal(err)
			}
			steps := []error{d.Record(e1, kernels.ComputeStream), d.Wait(s, e1),
				d.Do(kernels.Call{Stream: s}, &kernels.Download{Src: y, Dst: own}), d.Record(e2, s), d.Sync(context.Background(), s)}
			if err := errors.Join(steps...); err != nil {
				t.Fatal(err)
			}
			if string(own.Bytes) != string(to.Bytes) {
				t.Error("two copies differ")
			}
			a, err1 := d.EventTime(e1)
			b, err2 := d.EventTime(e2)
			if err := errors.Join(err1, err2); err != nil || b.AtNanos < a.AtNanos || time.Since(time.Unix(0, a.AtNanos)).Abs() > time.Hour {
				t.Errorf("events at %d and %d: %v", a.AtNanos, b.AtNanos, err)
			}
			if err := d.Do(kernels.Call{Stream: s}, &kernels.Download{Src: y, Dst: to}); !errors.Is(err, kernels.ErrInvalid) {
				t.Errorf("a copy that its memory may not outlive: %v", err)
			}
		})
	}
}

// What goes wrong is an error with the device's name and the place in the step, and the device can be closed.
func TestErrorsNameTheirPlace(t *testing.T) {
	d := device(t, "lazy")
	at := kernels.Call{Label: kernels.Label{Phase: kernels.Forward, Layer: 3, Chunk: "attn", Op: "qkv"}}
	a := place(t, d, 8, 8, kernels.F32)
	odd := a
	odd.Cols = 7
	err := d.Do(at, &kernels.Gemm{Alpha: 1, A: a, B: odd, D: a})
	if !errors.Is(err, kernels.ErrInvalid) || !strings.Contains(err.Error(), "emulated: gemm (forward.l3.attn/qkv)") {
		t.Errorf("%v", err)
	}
	if _, err := d.Alloc("much", 1<<50, false); !errors.Is(err, kernels.ErrNoMemory) || !strings.Contains(err.Error(), "much") {
		t.Errorf("%v", err)
	}
	if _, err := d.EventTime(9); !errors.Is(err, kernels.ErrInvalid) {
		t.Errorf("%v", err)
	}
	if err := d.Close(); err != nil {
		t.Fatal(err)
	}
	if err := d.Do(at, &kernels.Fill{X: a}); !errors.Is(err, kernels.ErrInvalid) || !strings.Contains(err.Error(), "closed") {
		t.Errorf("%v", err)
	}
}

// Ranks that do not do the same are told so, all of them, with what each is at.
func TestRanksThatDisagree(t *testing.T) {
	for name, other := range map[string]func(x kernels.View) kernels.Part{
		"count":     func(x kernels.View) kernels.Part { return kernels.Part{Send: x.ColRange(0, 8).Flat()} },
		"type":      func(x kernels.View) kernels.Part { x.DType = kernels.BF16; return kernels.Part{Send: x} },
		"operation": func(x kernels.View) kernels.Part { return kernels.Part{Kind: kernels.Broadcast, Send: x} },
		"reduction": func(x kernels.View) kernels.Part { return kernels.Part{Reduce: kernels.Max, Send: x} },
	} {
		t.Run(name, func(t *testing.T) {
			devices := []*backend.Device{device(t, ""), device(t, "")}
			id, err := devices[0].UID()
			if err != nil {
				t.Fatal(err)
			}
			var wg sync.WaitGroup
			errs := make([]error, 2)
			for rank, d := range devices {
				x := place(t, d, 1, 16, kernels.F32)
				wg.Go(func() {
					ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
					defer cancel()
					c, err := d.Join(ctx, id, 2, rank, "tp")
					if err != nil {
						errs[rank] = err
						return
					}
					p := kernels.Part{Send: x}
					if rank == 1 {
						p = other(x)
					}
					label := kernels.Label{Phase: kernels.Forward, Layer: 1, Chunk: "mlp", Op: "down"}
					errs[rank] = d.Do(kernels.Call{Label: label}, &kernels.Collective{Comm: c, Parts: []kernels.Part{p}})
					if errs[rank] == nil {
						errs[rank] = d.Sync(ctx, kernels.ComputeStream)
					}
				})
			}
			wg.Wait()
			for rank, err := range errs {
				if err == nil || !errors.Is(err, kernels.ErrComm) && !errors.Is(err, kernels.ErrInvalid) || strings.Contains(err.Error(), "\n") {
					t.Errorf("rank %d: %v", rank, err)
				}
			}
			t.Log(errs[0])
		})
	}
}
