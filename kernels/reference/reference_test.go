package reference

import (
	"context"
	"encoding/binary"
	"errors"
	"math"
	"sync"
	"testing"
	"time"

	"boost-tui/kernels"
)

// rig is a rank with one piece of symmetric memory.
type rig struct {
	*Device
	comm kernels.Comm
	mem  kernels.View
}

func join(t *testing.T, w *World, n, elements int) []rig {
	t.Helper()
	id, err := New(w, 0).UID()
	if err != nil {
		t.Fatal(err)
	}
	out := make([]rig, n)
	together(n, func(r int) {
		d := New(w, r)
		c, err := d.Join(t.Context(), id, n, r, "tp")
		if err != nil {
			t.Error(err)
			return
		}
		b, err := d.Alloc("x", int64(4*elements), true)
		if err != nil {
			t.Error(err)
			return
		}
		out[r] = rig{d, c, kernels.Matrix(b, 0, 1, elements, kernels.F32)}
	})
	return out
}

func together(n int, f func(r int)) {
	var w sync.WaitGroup
	for r := range n {
		w.Go(func() { f(r) })
	}
	w.Wait()
}

func (r *rig) put(t *testing.T, x ...float32) {
	t.Helper()
	h, _ := r.Host(int64(4 * len(x)))
	for i, v := range x {
		binary.NativeEndian.PutUint32(h.Bytes[4*i:], math.Float32bits(v))
	}
	if err := r.Do(kernels.Call{}, &kernels.Upload{Src: h, Dst: r.mem.ColRange(0, len(x))}); err != nil {
		t.Error(err)
	}
}

func (r *rig) get(t *testing.T) []float32 {
	t.Helper()
	h, _ := r.Host(r.mem.Bytes())
	if err := r.Do(kernels.Call{}, &kernels.Download{Src: r.mem, Dst: h}); err != nil {
		t.Error(err)
	}
	out := make([]float32, r.mem.Cols)
	for i := range out {
		out[i] = math.Float32frombits(binary.NativeEndian.Uint32(h.Bytes[4*i:]))
	}
	return out
}

func TestCollectives(t *testing.T) {
	for _, deferred := range []bool{false, true} {
		for name, c := range map[string]struct {
			part func(m kernels.View) kernels.Part
			want [2][6]float32 // of ranks that hold 1..6 and 10..60
		}{
			"sum": {func(m kernels.View) kernels.Part { return kernels.Part{Send: m} },
				[2][6]float32{{11, 22, 33, 44, 55, 66}, {11, 22, 33, 44, 55, 66}}},
			"max": {func(m kernels.View) kernels.Part { return kernels.Part{Reduce: kernels.Max, Send: m.ColRange(0, 2)} },
				[2][6]float32{{10, 20, 3, 4, 5, 6}, {10, 20, 30, 40, 50, 60}}},
			"gather": {func(m kernels.View) kernels.Part {
				return kernels.Part{Kind: kernels.AllGather, Send: m.ColRange(0, 2), Recv: m.ColRange(2, 6)}
			}, [2][6]float32{{1, 2, 1, 2, 10, 20}, {10, 20, 1, 2, 10, 20}}},
			"scatter": {func(m kernels.View) kernels.Part {
				return kernels.Part{Kind: kernels.ReduceScatter, Send: m.ColRange(0, 4), Recv: m.ColRange(4, 6)}
			}, [2][6]float32{{1, 2, 3, 4, 11, 22}, {10, 20, 30, 40, 33, 44}}},
			"broadcast": {func(m kernels.View) kernels.Part {
				return kernels.Part{Kind: kernels.Broadcast, Root: 1, Send: m.ColRange(0, 3)}
			}, [2][6]float32{{10, 20, 30, 4, 5, 6}, {10, 20, 30, 40, 50, 60}}},
		} {
			ranks := join(t, &World{Deferred: deferred}, 2, 6)
			together(2, func(r int) {
				k := ranks[r]
				f := []float32{1, 10}[r]
				k.put(t, f, 2*f, 3*f, 4*f, 5*f, 6*f)
				x, err := kernels.NewExec(k.Device)
				if err != nil {
					t.Error(err)
					return
				}
				x.Start("c", k.comm, c.part(k.mem)).Wait()
				if x.Err() != nil {
					t.Errorf("%s: %v", name, x.Err())
				}
				if got := k.get(t); [6]float32(got) != c.want[r] {
					t.Errorf("%s deferred %v rank %d: %v, want %v", name, deferred, r, got, c.want[r])
				}
			})
		}
	}
}

func TestMismatch(t *testing.T) {
	ranks := join(t, &World{}, 2, 4)
	together(2, func(r int) {
		err := ranks[r].Do(kernels.Call{}, &kernels.Collective{Comm: ranks[r].comm, Parts: []kernels.Part{{Send: ranks[r].mem.ColRange(0, 3+r)}}})
		if !errors.Is(err, kernels.ErrComm) {
			t.Errorf("rank %d: %v", r, err)
		}
	})
}

func TestAbort(t *testing.T) {
	ranks := join(t, &World{}, 2, 4)
	timer := time.AfterFunc(20*time.Millisecond, func() { _ = ranks[1].comm.Abort() })
	defer timer.Stop()
	err := ranks[0].Do(kernels.Call{}, &kernels.Collective{Comm: ranks[0].comm, Parts: []kernels.Part{{Send: ranks[0].mem}}})
	if !errors.Is(err, kernels.ErrAborted) || !errors.Is(ranks[0].comm.Status(), kernels.ErrAborted) {
		t.Error(err, ranks[0].comm.Status())
	}
}

func TestJoinEndsWithContext(t *testing.T) {
	ctx, cancel := context.WithTimeout(t.Context(), 20*time.Millisecond)
	defer cancel()
	d := New(&World{}, 0)
	id, _ := d.UID()
	if _, err := d.Join(ctx, id, 2, 0, "tp"); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
}

func TestWrongMemory(t *testing.T) {
	d := New(&World{}, 0)
	b, err := d.Alloc("x", 16, false)
	if err != nil {
		t.Fatal(err)
	}
	if err := d.Do(kernels.Call{}, &kernels.Fill{X: kernels.Matrix(b, 4, 1, 4, kernels.F32)}); !errors.Is(err, kernels.ErrInvalid) {
		t.Errorf("beyond the end: %v", err)
	}
	if err := d.Free(b); err != nil {
		t.Fatal(err)
	}
	if err := d.Do(kernels.Call{}, &kernels.Fill{X: kernels.Matrix(b, 0, 1, 4, kernels.F32)}); !errors.Is(err, kernels.ErrInvalid) {
		t.Errorf("after free: %v", err)
	}
	if err := d.Free(b); !errors.Is(err, kernels.ErrInvalid) {
		t.Errorf("freed twice: %v", err)
	}
}
