package cpu

import (
	"context"
	"errors"
	"os"
	"slices"
	"testing"
	"time"

	"boost-tui/kernels"
)

// TestEventsOrderStreams sends a value back and forth between two streams; a wait that is lost shows as an old value.
func TestEventsOrderStreams(t *testing.T) {
	r := open(t, Options{})
	a, _ := r.NewStream("a")
	b, _ := r.NewStream("b")
	x, y := r.matrix(64, 4096, 0), r.matrix(64, 4096, 0)
	r.run(&kernels.Fill{X: x})
	one := r.matrix(64, 4096, 0)
	r.run(&kernels.Fill{X: one, Value: 1})
	forth, _ := r.NewEvent()
	back, _ := r.NewEvent()
	do := func(s kernels.Stream, op kernels.Op) {
		if err := r.Do(kernels.Call{Stream: s}, op); err != nil {
			t.Fatal(err)
		}
	}
	for range 50 { // the same events again and again: a wait is for the latest record at its time
		do(a, &kernels.Axpby{A: 1, B: 1, X: x, Y: one, Out: y})
		r.Record(forth, a)
		r.Wait(b, forth)
		do(b, &kernels.Copy{Src: y, Dst: x})
		r.Record(back, b)
		r.Wait(a, back)
	}
	if err := r.Wait(kernels.ComputeStream, back); err != nil {
		t.Fatal(err)
	}
	r.want("x", x, 0, func(_, _ int) float64 { return 50 })
}

func TestAsynchronousCopies(t *testing.T) {
	r := open(t, Options{})
	s, _ := r.NewStream("copy")
	x, y := r.matrix(3, 50, 0), r.matrix(3, 50, 0)
	h, err := r.Host(x.Bytes() + 8)
	if err != nil {
		t.Fatal(err)
	}
	err = errors.Join(r.Do(kernels.Call{Stream: s}, &kernels.Download{Src: x, Dst: h, Offset: 8}),
		r.Do(kernels.Call{Stream: s}, &kernels.Upload{Src: h, Offset: 8, Dst: y}), r.Sync(context.Background(), s))
	if err != nil {
		t.Fatal(err)
	}
	r.want("y", y, 0, func(i, j int) float64 { return r.at(x, i, j) })
	own := &kernels.Host{Bytes: make([]byte, 600)}
	if err := r.Do(kernels.Call{Stream: s}, &kernels.Upload{Src: own, Dst: y}); !errors.Is(err, kernels.ErrInvalid) {
		t.Errorf("an asynchronous copy of Go's memory: %v", err)
	}
	if err := r.Do(kernels.Call{}, &kernels.Upload{Src: own, Dst: y}); err != nil {
		t.Error(err)
	}
}

// Large copies are shared by the threads and pass the caches by; ends that are not aligned belong to them too.
func TestLargeCopies(t *testing.T) {
	r := open(t, Options{Threads: 3})
	const n = 3<<18 + 5
	x, y := r.matrix(1, n, 0), r.matrix(1, n, 0)
	own, err := r.Host(4*n + 64)
	if err != nil {
		t.Fatal(err)
	}
	for _, h := range []*kernels.Host{own, {Bytes: make([]byte, 4*n+64)}} {
		for _, offset := range []int64{0, 4, 20} {
			r.run(&kernels.Fill{X: y})
			r.run(&kernels.Download{Src: x, Dst: h, Offset: offset})
			r.run(&kernels.Upload{Src: h, Offset: offset, Dst: y})
			if !slices.Equal(r.raw(x.Buf)[:n], r.raw(y.Buf)[:n]) {
				t.Errorf("at %d bytes: not what was copied", offset)
			}
			for i, b := range h.Bytes[4*n+offset:] {
				if b != 0 && offset == 20 {
					t.Fatalf("byte %d behind the copy is %d", i, b)
				}
			}
		}
	}
}

func TestEventTimes(t *testing.T) {
	before := time.Now().UnixNano()
	launched := make(chan struct{})
	world(t, 2, func(r *rig, c kernels.Comm) error {
		s, _ := r.NewStream("tp")
		e0, _ := r.NewEvent()
		e1, _ := r.NewEvent()
		e2, _ := r.NewEvent()
		v := r.symmetric(64)
		if c.Rank() == 1 {
			<-launched
			time.Sleep(100 * time.Millisecond)
		}
		err := errors.Join(r.Record(e0, s), r.Do(kernels.Call{Stream: s}, &kernels.Collective{Comm: c, Parts: []kernels.Part{{Send: v}}}),
			r.Record(e1, s), r.Record(e2, s))
		if c.Rank() == 0 {
			time.Sleep(20 * time.Millisecond) // its thread comes to the barrier
			close(launched)
		}
		t0, err0 := r.EventTime(e0)
		t1, err1 := r.EventTime(e1)
		t2, err2 := r.EventTime(e2)
		if err := errors.Join(err, err0, err1, err2); err != nil {
			return err
		}
		if t0.AtNanos < before-1e6 || t0.AtNanos > t1.AtNanos || t1.AtNanos > t2.AtNanos || t2.AtNanos > time.Now().UnixNano()+1e6 {
			t.Errorf("times %v %v %v", t0, t1, t2)
		}
		if t0.WaitNanos != 0 || t2.WaitNanos != 0 || c.Rank() == 0 && t1.WaitNanos < 50e6 || t1.WaitNanos < 0 {
			t.Errorf("rank %d waited %v %v %v", c.Rank(), t0.WaitNanos, t1.WaitNanos, t2.WaitNanos)
		}
		return nil
	})
}

func TestMisuse(t *testing.T) {
	r := open(t, Options{})
	e, _ := r.NewEvent()
	x := r.matrix(2, 2, 0)
	for what, err := range map[string]error{
		"wait for an event never recorded": r.Wait(kernels.ComputeStream, e),
		"unknown stream":                   r.Do(kernels.Call{Stream: 9}, &kernels.Fill{X: x}),
		"unknown event":                    r.Record(77, kernels.ComputeStream),
		"bad shape":                        r.Do(kernels.Call{}, &kernels.Copy{Src: x, Dst: x.RowRange(0, 1)}),
		"beyond the buffer":                r.Do(kernels.Call{}, &kernels.Fill{X: x.RowRange(1, 3)}),
		"negative size":                    second(r.Alloc("x", -1, false)),
		"free of nothing":                  r.Free(&kernels.Buffer{}),
		"rank outside the world":           second(Open(Options{World: 2, Rank: 2})),
		"too many threads":                 second(Open(Options{Threads: 100000})),
	} {
		if !errors.Is(err, kernels.ErrInvalid) {
			t.Errorf("%s: %v", what, err)
		}
	}
	if err := r.Free(x.Buf); err != nil {
		t.Fatal(err)
	}
	if err := r.Do(kernels.Call{}, &kernels.Fill{X: x}); !errors.Is(err, kernels.ErrInvalid) {
		t.Errorf("use after free: %v", err)
	}
	if _, err := r.Alloc("everything", 1<<45, false); !errors.Is(err, kernels.ErrNoMemory) {
		t.Errorf("all memory there is: %v", err)
	}
	r.Close()
	if err := r.Do(kernels.Call{}, &kernels.Fill{X: x}); !errors.Is(err, kernels.ErrInvalid) {
		t.Errorf("use after close: %v", err)
	}
}

func second[T any](_ T, err error) error { return err }

func TestInfo(t *testing.T) {
	r := open(t, Options{Threads: 2})
	i := r.Info()
	if i.Backend != "cpu" || i.Name == "" || i.MemTotal <= 0 || i.MemFree <= 0 || i.Threads != 2 || len(i.Libraries) == 0 {
		t.Errorf("%+v", i)
	}
	t.Log(i)
}

// TestCloseReleases opens and closes devices with all they can have, and counts what the process holds.
func TestCloseReleases(t *testing.T) {
	count := func(what string) int {
		entries, err := os.ReadDir("/proc/self/" + what)
		if err != nil {
			t.Skip(err)
		}
		return len(entries)
	}
	var files, mapped int
	for i := range 40 {
		d, err := Open(Options{Threads: 3})
		if err != nil {
			t.Fatal(err)
		}
		for range 3 {
			_, err1 := d.NewStream("s")
			_, err2 := d.NewEvent()
			_, err3 := d.Alloc("private", 8<<20, false)
			_, err4 := d.Alloc("shared", 8<<20, true)
			_, err5 := d.Host(8 << 20)
			if err := errors.Join(err1, err2, err3, err4, err5); err != nil {
				t.Fatal(err)
			}
		}
		if err := errors.Join(d.Close(), d.Close()); err != nil {
			t.Fatal(err)
		}
		if i == 20 { // the first rounds warm up caches of the runtime and the C library
			files, mapped = count("fd"), count("map_files")
		}
	}
	if f, m := count("fd"), count("map_files"); f > files || m > mapped+20 {
		t.Errorf("%d files and %d mappings became %d and %d", files, mapped, f, m)
	}
}
