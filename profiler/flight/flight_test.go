package flight

import (
	"context"
	"errors"
	"fmt"
	"os"
	"strings"
	"sync"
	"testing"

	"boost-tui/kernels"
	"golang.org/x/sys/unix"
)

func newBoard(t testing.TB, n int) *Board {
	t.Helper()
	b, err := Create(n)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { b.Close() })
	return b
}

func newWriter(t testing.TB, b *Board, rank int) *Writer {
	t.Helper()
	w, err := b.Writer(rank)
	if err != nil {
		t.Fatal(err)
	}
	return w
}

func read(t *testing.T, b *Board, rank int) Note {
	t.Helper()
	n, err := b.Read(rank)
	if err != nil {
		t.Fatal(err)
	}
	return n
}

func TestNotes(t *testing.T) {
	b := newBoard(t, 3)
	if n := read(t, b, 1); n.State != Nothing || n.String() != "" {
		t.Fatalf("fresh slot says %+v", n)
	}
	w := newWriter(t, b, 1)
	l := kernels.Label{Phase: kernels.Backward, Layer: 12, Micro: 2, Chunk: "attn.core", Op: "qkv.B"}
	w.Set(7, l)
	if n := read(t, b, 1); n.Label != l || n.State != Running || n.Step != 7 || n.PID != os.Getpid() {
		t.Fatalf("read %+v", n)
	}
	w.Done()
	if s := read(t, b, 1).String(); s != "after backward.l12.attn.core/qkv.B (micro-batch 2)" {
		t.Fatalf("done reads %q", s)
	}
	out := kernels.Label{Phase: kernels.Forward, Layer: -1, Chunk: "head", Op: "loss"}
	w.Wait(out)
	if s := read(t, b, 1).String(); s != "forward.head/loss, waiting for the other ranks" {
		t.Fatalf("waiting reads %q", s)
	}
	w.Arrived()
	if n := read(t, b, 1); n.Label != l || n.State != Done {
		t.Fatalf("arrived reads %+v", n)
	}
	for _, c := range []struct {
		m    kernels.UnderWay
		want string
	}{
		{kernels.UnderWay{Label: out, State: kernels.MessageAhead}, "before forward.head/loss, to which its device has not come"},
		{kernels.UnderWay{Label: out, State: kernels.MessageBegun}, "forward.head/loss, waiting for the other ranks"},
		{kernels.UnderWay{}, "after backward.l12.attn.core/qkv.B (micro-batch 2)"},
	} {
		w.Under(c.m)
		if n := read(t, b, 1); n.String() != c.want || n.Issued != 1 {
			t.Fatalf("%+v reads %q, %d issued", c.m, n, n.Issued)
		}
	}
	if n := read(t, b, 0); n.State != Nothing {
		t.Fatalf("the neighbour says %+v", n)
	}
}

func TestLongAndHostileText(t *testing.T) {
	b := newBoard(t, 1)
	w := newWriter(t, b, 0)
	w.Set(1, kernels.Label{Chunk: strings.Repeat("c", 40), Op: strings.Repeat("o", 40)})
	n := read(t, b, 0)
	if n.Label.Chunk != strings.Repeat("c", 40) || n.Label.Op != strings.Repeat("o", textBytes-40) {
		t.Fatalf("cut to %q %q", n.Label.Chunk, n.Label.Op)
	}
	w.Set(1, kernels.Label{Chunk: "a\x1b[2J", Op: "\u202eb"})
	if s := read(t, b, 0).String(); strings.ContainsAny(s, "\x1b\u202e") {
		t.Fatalf("control characters survive in %q", s)
	}
	s, _ := b.slot(0)
	for _, c := range []uint64{0, 1} { // whatever a sick rank wrote
		s.op.copies[c].meta.Store(^uint64(0))
	}
	_ = read(t, b, 0).String()
}

// TestNeverTorn reads while a writer writes: chunk and op of a label always belong together.
func TestNeverTorn(t *testing.T) {
	b := newBoard(t, 1)
	w := newWriter(t, b, 0)
	labels := make([]kernels.Label, 64)
	for i := range labels {
		labels[i] = kernels.Label{Layer: i, Micro: i, Chunk: fmt.Sprintf("chunk-%02d-%s", i, strings.Repeat("x", i%20)), Op: fmt.Sprintf("op-%02d", i)}
	}
	stop := make(chan struct{})
	var wg sync.WaitGroup
	wg.Add(1)
	go func() {
		defer wg.Done()
		for i := 0; ; i++ {
			select {
			case <-stop:
				return
			default:
				w.Set(i, labels[i%len(labels)])
				w.Done()
			}
		}
	}()
	for range 20000 {
		n := read(t, b, 0)
		if n.State != Nothing && n.Label != labels[n.Label.Layer%len(labels)] {
			t.Errorf("torn: %+v", n.Label)
			break
		}
	}
	close(stop)
	wg.Wait()
}

func TestInherited(t *testing.T) {
	b := newBoard(t, 2)
	fd, err := unix.Dup(int(b.File().Fd()))
	if err != nil {
		t.Fatal(err)
	}
	other, err := Open(os.NewFile(uintptr(fd), "board"))
	if err != nil {
		t.Fatal(err)
	}
	defer other.Close()
	w := newWriter(t, other, 1)
	w.Set(3, kernels.Label{Chunk: "mlp.in", Op: "gate_up.A"})
	if n := read(t, b, 1); n.Step != 3 || n.Label.Op != "gate_up.A" {
		t.Fatalf("read %+v", n)
	}
	if err := unix.Ftruncate(int(b.File().Fd()), 0); err == nil {
		t.Fatal("a board can be cut under its holders")
	}
}

func TestBounds(t *testing.T) {
	b := newBoard(t, 2)
	for _, r := range []int{-1, 2} {
		if _, err := b.Read(r); err == nil {
			t.Errorf("slot %d read", r)
		}
		if _, err := b.Writer(r); err == nil {
			t.Errorf("slot %d claimed", r)
		}
	}
	if _, err := Create(0); err == nil {
		t.Error("a board without slots")
	}
	f, err := os.CreateTemp(t.TempDir(), "")
	if err != nil {
		t.Fatal(err)
	}
	if _, err := Open(f); err == nil {
		t.Error("opened an empty file")
	}
	f.Close()
}

func TestSetAllocatesNothing(t *testing.T) {
	b := newBoard(t, 1)
	w := newWriter(t, b, 0)
	l := kernels.Label{Phase: kernels.Forward, Layer: 3, Chunk: "attn.core", Op: "qkv.B"}
	if n := testing.AllocsPerRun(100, func() { w.Set(1, l); w.Done() }); n != 0 {
		t.Fatalf("%v allocations", n)
	}
}

func BenchmarkSet(b *testing.B) {
	w := newWriter(b, newBoard(b, 1), 0)
	l := kernels.Label{Phase: kernels.Forward, Layer: 3, Chunk: "attn.core", Op: "qkv.B"}
	for b.Loop() {
		w.Set(1, l)
	}
}

// fakeDevice looks at the board from inside the calls.
type fakeDevice struct {
	kernels.Device
	in  func(what string)
	err error
}

func (f *fakeDevice) Do(kernels.Call, kernels.Op) error { f.in("do"); return f.err }
func (f *fakeDevice) Record(kernels.Event, kernels.Stream) error {
	return nil
}
func (f *fakeDevice) Wait(kernels.Stream, kernels.Event) error   { f.in("wait"); return f.err }
func (f *fakeDevice) Sync(context.Context, kernels.Stream) error { f.in("sync"); return f.err }
func (f *fakeDevice) NewStream(string) (kernels.Stream, error)   { return 1, nil }
func (f *fakeDevice) NewEvent() (kernels.Event, error)           { return 0, nil }

// TestWrap follows a collective as Exec issues it, and a failure.
func TestWrap(t *testing.T) {
	b := newBoard(t, 1)
	var seen []string
	fake := &fakeDevice{in: func(what string) { seen = append(seen, what+": "+read(t, b, 0).String()) }}
	d := Wrap(fake, newWriter(t, b, 0))
	d.SetStep(4)
	at := kernels.Label{Phase: kernels.Forward, Layer: 0, Chunk: "attn.in"}
	norm, qkv := at, at
	norm.Op, qkv.Op = "norm", "qkv"
	steps := []error{
		d.Do(kernels.Call{Label: norm}, nil),
		d.Record(0, kernels.ComputeStream),
		d.Wait(1, 0),
		d.Do(kernels.Call{Stream: 1, Label: qkv}, nil),
		d.Record(1, 1),
		d.Wait(kernels.ComputeStream, 1),
	}
	if err := errors.Join(steps...); err != nil {
		t.Fatal(err)
	}
	want := []string{
		"do: forward.l0.attn.in/norm",
		"wait: after forward.l0.attn.in/norm",
		"do: after forward.l0.attn.in/norm",
		"wait: forward.l0.attn.in/qkv, waiting for the other ranks",
	}
	if strings.Join(seen, "\n") != strings.Join(want, "\n") {
		t.Fatalf("saw\n%s", strings.Join(seen, "\n"))
	}
	fake.err = kernels.ErrAborted
	if err := d.Wait(kernels.ComputeStream, 1); !errors.Is(err, kernels.ErrAborted) {
		t.Fatal(err)
	}
	if n := read(t, b, 0); n.State != Waiting || n.Label.Op != "qkv" || n.Step != 4 {
		t.Fatalf("after the failure: %+v", n)
	}
	Wrap(fake, nil).SetStep(1) // a rank without a board
}
