package cpu

import (
	"context"
	"errors"
	"fmt"
	"math"
	"strings"
	"sync"
	"testing"
	"time"

	"boost-tui/kernels"
)

// world runs f as n ranks of one process and fails the test with any error that f returns.
func world(t testing.TB, n int, f func(r *rig, c kernels.Comm) error) {
	t.Helper()
	for rank, err := range ranks(t, n, f) {
		if err != nil {
			t.Errorf("rank %d: %v", rank, err)
		}
	}
}

// ranks runs f as n ranks of one process.
func ranks(t testing.TB, n int, f func(r *rig, c kernels.Comm) error) []error {
	t.Helper()
	return linked(t, n, kernels.Link{}, f)
}

// linked is ranks beside an imitated link.
func linked(t testing.TB, n int, link kernels.Link, f func(r *rig, c kernels.Comm) error) []error {
	t.Helper()
	ids := make(chan kernels.UID, n)
	return devices(t, n, link, func(r *rig, rank int) error {
		if rank == 0 {
			id, err := r.UID()
			if err != nil {
				return err
			}
			for range n {
				ids <- id
			}
		}
		ctx, cancel := context.WithTimeout(context.Background(), 10*time.Second)
		defer cancel()
		c, err := r.Join(ctx, <-ids, n, rank, "tp")
		if err != nil {
			return err
		}
		return f(r, c)
	})
}

// devices runs f with n devices that share memory.
func devices(t testing.TB, n int, link kernels.Link, f func(r *rig, rank int) error) []error {
	t.Helper()
	segment, err := NewSegment()
	if err != nil {
		t.Fatal(err)
	}
	defer segment.Close()
	errs := make([]error, n)
	var wg sync.WaitGroup
	for rank := range n {
		wg.Go(func() {
			d, err := Open(Options{Segment: segment, World: n, Rank: rank, Link: link})
			if err != nil {
				errs[rank] = err
				return
			}
			defer d.Close()
			errs[rank] = f(newRig(t, d, uint64(rank)), rank)
		})
	}
	wg.Wait()
	return errs
}

func (r *rig) symmetric(n int) kernels.View { return r.view(1, n, 0, kernels.F32, true) }

// fillBy sets element i of a view.
func (r *rig) fillBy(v kernels.View, f func(i int) float64) {
	for i, raw := 0, r.raw(v.Buf); i < int(v.Len()); i++ {
		raw[int(v.Offset/4)+i] = float32(f(i))
	}
}

func (r *rig) expect(what string, v kernels.View, f func(i int) float64) error {
	for i := range int(v.Len()) {
		if g, w := r.at(v, 0, i), f(i); g != w && !(math.IsNaN(g) && math.IsNaN(w)) {
			return fmt.Errorf("%s[%d] = %g, want %g", what, i, g, w)
		}
	}
	return nil
}

func TestCollectives(t *testing.T) {
	for _, n := range []int{1, 2, 3, 4} {
		for _, count := range []int{1, 5, 16, 1000, 70001} {
			t.Run(fmt.Sprintf("%d-ranks-%d", n, count), func(t *testing.T) {
				world(t, n, func(r *rig, c kernels.Comm) error { return exchange(r, c, count) })
			})
		}
	}
}

// exchange runs every kind of collective in one group call, on the compute stream and on a stream of its own.
func exchange(r *rig, c kernels.Comm, count int) error {
	n, me := c.Size(), c.Rank()
	sum, most := r.symmetric(count), r.symmetric(count)
	part, whole, scattered, told := r.symmetric(count), r.symmetric(n*count), r.symmetric(count), r.symmetric(count)
	value := func(rank, i int) float64 { return float64((rank*37 + i*11) % 1001) }
	own, err := r.NewStream("tp")
	if err != nil {
		return err
	}
	for round, s := range []kernels.Stream{kernels.ComputeStream, own, own} {
		r.fillBy(sum, func(i int) float64 { return value(me, i) })
		r.fillBy(most, func(i int) float64 { return value(me, i+3) })
		r.fillBy(part, func(i int) float64 { return value(me, i+round) })
		r.fillBy(told, func(i int) float64 { return value(me, i+9) })
		op := &kernels.Collective{Comm: c, Parts: []kernels.Part{
			{Kind: kernels.AllReduce, Send: sum}, {Kind: kernels.AllReduce, Reduce: kernels.Max, Send: most},
			{Kind: kernels.AllGather, Send: part, Recv: whole}, {Kind: kernels.Broadcast, Send: told, Root: n - 1}}}
		if err := r.Do(kernels.Call{Stream: s}, op); err != nil {
			return err
		}
		scatter := &kernels.Collective{Comm: c, Parts: []kernels.Part{{Kind: kernels.ReduceScatter, Send: whole, Recv: scattered}}}
		if err := errors.Join(r.Do(kernels.Call{Stream: s}, scatter), r.Sync(context.Background(), s)); err != nil {
			return err
		}
		total := func(rank func(int, int) float64) func(int) float64 {
			return func(i int) (t float64) {
				for q := range n {
					t += rank(q, i)
				}
				return t
			}
		}
		err := errors.Join(
			r.expect("sum", sum, total(value)),
			r.expect("max", most, func(i int) float64 {
				m := 0.0
				for q := range n {
					m = max(m, value(q, i+3))
				}
				return m
			}),
			r.expect("gather", whole, func(i int) float64 { return value(i/count, i%count+round) }),
			r.expect("scatter", scattered, func(i int) float64 { return float64(n) * value(me, i+round) }),
			r.expect("broadcast", told, func(i int) float64 { return value(n-1, i+9) }))
		if err != nil {
			return fmt.Errorf("round %d: %w", round, err)
		}
	}
	return inPlace(r, c, count, own)
}

// inPlace reduces a vector to slices where they lie, and gathers it from them.
func inPlace(r *rig, c kernels.Comm, count int, s kernels.Stream) error {
	n, me := c.Size(), c.Rank()
	whole := r.symmetric(n * count)
	slice := whole.ColRange(me*count, (me+1)*count)
	r.fillBy(whole, func(i int) float64 { return float64((me*37 + i*11) % 1001) })
	for _, p := range []kernels.Part{{Kind: kernels.ReduceScatter, Send: whole, Recv: slice}, {Kind: kernels.AllGather, Send: slice, Recv: whole}} {
		if err := r.Do(kernels.Call{Stream: s}, &kernels.Collective{Comm: c, Parts: []kernels.Part{p}}); err != nil {
			return err
		}
	}
	if err := r.Sync(context.Background(), s); err != nil {
		return err
	}
	return r.expect("in place", whole, func(i int) (t float64) {
		for q := range n {
			t += float64((q*37 + i*11) % 1001)
		}
		return t
	})
}

func TestReductionsAreTheSameBitsOnEveryRank(t *testing.T) {
	const n, count = 4, 5003
	for _, reduce := range []kernels.Reduction{kernels.Sum, kernels.Max} {
		var got [2][n][]float32
		for again := range 2 {
			world(t, n, func(r *rig, c kernels.Comm) error {
				v := r.symmetric(count)
				r.fillBy(v, func(int) float64 { return r.rng.NormFloat64() })
				if c.Rank() == 2 {
					r.set(v, 0, 77, float32(math.NaN()))
				}
				err := r.Do(kernels.Call{}, &kernels.Collective{Comm: c, Parts: []kernels.Part{{Reduce: reduce, Send: v}}})
				got[again][c.Rank()] = append([]float32(nil), r.raw(v.Buf)...)
				return err
			})
		}
		for again := range 2 {
			for rank := range n {
				for i, x := range got[again][rank] {
					if math.Float32bits(x) != math.Float32bits(got[0][0][i]) || (i == 77) != (x != x) {
						t.Fatalf("%s: run %d rank %d element %d: %g and %g", reduce, again, rank, i, x, got[0][0][i])
					}
				}
			}
		}
	}
}

func TestDisagreementNamesBoth(t *testing.T) {
	errs := ranks(t, 3, func(r *rig, c kernels.Comm) error {
		v := r.symmetric(64)
		if c.Rank() == 1 {
			v = v.ColRange(0, 63)
		}
		label := kernels.Label{Phase: kernels.Forward, Layer: 2, Chunk: "attn.in", Op: "qkv"}
		return r.Do(kernels.Call{Label: label}, &kernels.Collective{Comm: c, Parts: []kernels.Part{{Send: v}}})
	})
	for rank, err := range errs {
		for _, part := range []string{"of 64", "rank 1", "of 63", "forward.l2.attn.in/qkv"} {
			if !errors.Is(err, kernels.ErrComm) || !strings.Contains(err.Error(), part) {
				t.Fatalf("rank %d: %v lacks %q", rank, err, part)
			}
		}
	}
	t.Log(errs[0])
}

// Ranks need not allocate alike, nor before they join: stages of a pipeline do not.
func TestAllocationsMayDiffer(t *testing.T) {
	world(t, 3, func(r *rig, c kernels.Comm) error {
		for i := range c.Rank() {
			r.symmetric(1000 * (i + 1))
		}
		v := r.symmetric(3<<20+c.Rank()).ColRange(5, 5+2<<20)
		for round := range 3 {
			r.fillBy(v, func(i int) float64 { return float64(c.Rank() + i%5 + round) })
			if err := r.Do(kernels.Call{}, &kernels.Collective{Comm: c, Parts: []kernels.Part{{Send: v}}}); err != nil {
				return err
			}
			if err := r.expect("sum", v, func(i int) float64 { return float64(3 + 3*(i%5+round)) }); err != nil {
				return err
			}
		}
		return nil
	})
	segment, err := NewSegment()
	if err != nil {
		t.Fatal(err)
	}
	defer segment.Close()
	open(t, Options{Segment: segment, World: 2})
	if _, err := Open(Options{Segment: segment, World: 3}); !errors.Is(err, kernels.ErrInvalid) {
		t.Errorf("opened in another world: %v", err)
	}
}

func TestAbortEndsWaiting(t *testing.T) {
	errs := ranks(t, 2, func(r *rig, c kernels.Comm) error {
		v := r.symmetric(64)
		if c.Rank() == 1 {
			time.Sleep(30 * time.Millisecond)
			return c.Abort()
		}
		s, _ := r.NewStream("tp")
		e, _ := r.NewEvent()
		label := kernels.Label{Phase: kernels.Backward, Layer: 1, Chunk: "mlp.in", Op: "down"}
		err := r.Do(kernels.Call{Stream: s, Label: label}, &kernels.Collective{Comm: c, Parts: []kernels.Part{{Send: v}}})
		if err := errors.Join(err, r.Record(e, s)); err != nil {
			return err
		}
		if err = r.Wait(kernels.ComputeStream, e); c.Status() == nil {
			return errors.New("the status is sound")
		}
		if _, again := r.EventTime(e); !errors.Is(again, kernels.ErrAborted) {
			return fmt.Errorf("EventTime: %v", again)
		}
		return err
	})
	var e *kernels.Error
	if !errors.As(errs[0], &e) || !errors.Is(e, kernels.ErrAborted) || e.Label.Op != "down" || e.Op != "all-reduce" {
		t.Errorf("rank 0: %v", errs[0])
	}
	if errs[1] != nil {
		t.Errorf("rank 1: %v", errs[1])
	}
}

func TestLeavingEndsWaiting(t *testing.T) {
	errs := ranks(t, 2, func(r *rig, c kernels.Comm) error {
		v := r.symmetric(64)
		if c.Rank() == 1 {
			return nil // the device is closed
		}
		return r.Do(kernels.Call{}, &kernels.Collective{Comm: c, Parts: []kernels.Part{{Send: v}}})
	})
	if !errors.Is(errs[0], kernels.ErrComm) || !strings.Contains(errs[0].Error(), "left") {
		t.Errorf("rank 0: %v", errs[0])
	}
}

// TestCloseEndsPendingWork closes a device whose stream waits for a peer that never comes, with more behind it.
func TestCloseEndsPendingWork(t *testing.T) {
	done := make(chan struct{})
	ranks(t, 2, func(r *rig, c kernels.Comm) error {
		v := r.symmetric(64)
		if c.Rank() == 1 {
			<-done
			return nil
		}
		defer close(done)
		s, _ := r.NewStream("tp")
		other, _ := r.NewStream("copy")
		e, _ := r.NewEvent()
		err := errors.Join(r.Do(kernels.Call{Stream: s}, &kernels.Collective{Comm: c, Parts: []kernels.Part{{Send: v}}}),
			r.Record(e, s), r.Wait(other, e), r.Do(kernels.Call{Stream: other}, &kernels.Fill{X: v}))
		if err := errors.Join(err, r.Close()); err != nil {
			t.Error(err)
		}
		return nil
	})
}

func TestCancelledSyncAndJoin(t *testing.T) {
	done := make(chan struct{})
	ranks(t, 2, func(r *rig, c kernels.Comm) error {
		v := r.symmetric(64)
		if c.Rank() == 1 {
			<-done
			return nil
		}
		defer close(done)
		s, _ := r.NewStream("tp")
		r.Do(kernels.Call{Stream: s}, &kernels.Collective{Comm: c, Parts: []kernels.Part{{Send: v}}})
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
		defer cancel()
		if err := r.Sync(ctx, s); !errors.Is(err, context.DeadlineExceeded) {
			t.Errorf("Sync: %v", err)
		}
		return nil
	})
	segment, _ := NewSegment()
	defer segment.Close()
	d := open(t, Options{Segment: segment, World: 2})
	id, err := d.UID()
	if err != nil {
		t.Fatal(err)
	}
	ctx, cancel := context.WithTimeout(context.Background(), 20*time.Millisecond)
	defer cancel()
	if _, err := d.Join(ctx, id, 2, 0, "tp"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("Join: %v", err)
	}
	if _, err := d.Join(context.Background(), kernels.UID{}, 2, 0, "tp"); !errors.Is(err, kernels.ErrInvalid) {
		t.Errorf("Join of no identity: %v", err)
	}
	if _, err := d.Join(context.Background(), id, 3, 0, "tp"); !errors.Is(err, kernels.ErrInvalid) {
		t.Errorf("Join of more ranks than the segment has: %v", err)
	}
}
