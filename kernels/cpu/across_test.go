package cpu

import (
	"context"
	"errors"
	"fmt"
	"math"
	"os"
	"strings"
	"sync"
	"testing"
	"time"

	"boost-tui/kernels"
	"boost-tui/kernels/backend"
	"boost-tui/kernels/wire"
)

const netSecret = "a secret that is long enough"

// host is a machine that a test makes up: an address, and memory that its ranks share.
func network(host int) *wire.Options {
	return &wire.Options{Secret: netSecret, Address: fmt.Sprintf("127.0.0.%d", host+1), Version: "test"}
}

// hostsOf runs f as ranks on hosts of their own: at says on which host each rank is.
func hostsOf(t testing.TB, at []int, link kernels.Link, f func(r *rig, rank int) error) []error {
	t.Helper()
	segments, local := map[int]*os.File{}, map[int]int{}
	for _, h := range at {
		if local[h]++; segments[h] != nil {
			continue
		}
		s, err := NewSegment()
		if err != nil {
			t.Fatal(err)
		}
		defer s.Close()
		segments[h] = s
	}
	errs, place := make([]error, len(at)), map[int]int{}
	var wg sync.WaitGroup
	for rank, h := range at {
		o := Options{Segment: segments[h], World: local[h], Rank: place[h], Network: network(h), Link: link}
		place[h]++
		wg.Go(func() {
			d, err := Open(o)
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

// across runs f as the members of one communicator.
func acrossHosts(t testing.TB, at []int, f func(r *rig, c kernels.Comm) error) []error {
	t.Helper()
	return acrossLink(t, at, kernels.Link{}, f)
}

func acrossLink(t testing.TB, at []int, link kernels.Link, f func(r *rig, c kernels.Comm) error) []error {
	t.Helper()
	ids := make(chan kernels.UID, len(at))
	return hostsOf(t, at, link, func(r *rig, rank int) error {
		if rank == 0 {
			id, err := r.UID()
			if err != nil {
				return err
			}
			for range at {
				ids <- id
			}
		}
		ctx, cancel := context.WithTimeout(context.Background(), 20*time.Second)
		defer cancel()
		c, err := r.Join(ctx, <-ids, len(at), rank, "dp")
		if err != nil {
			return err
		}
		return f(r, c)
	})
}

func noErrors(t testing.TB, errs []error) {
	t.Helper()
	for rank, err := range errs {
		if err != nil {
			t.Errorf("rank %d: %v", rank, err)
		}
	}
}

// layouts are ranks on hosts: side by side, in turn, unevenly, and all on one.
var layouts = [][]int{{0, 1}, {0, 0, 1, 1}, {0, 1, 0, 1}, {0, 0, 1}, {0, 1, 1, 1, 0}, {0, 1, 2}, {0, 0, 0}}

func TestCollectivesAcrossHosts(t *testing.T) {
	for _, at := range layouts {
		for _, count := range []int{1, 17, 1000, 70001} {
			t.Run(fmt.Sprintf("%v-%d", at, count), func(t *testing.T) {
				noErrors(t, acrossHosts(t, at, func(r *rig, c kernels.Comm) error { return exchange(r, c, count) }))
			})
		}
	}
}

func TestTransfersAcrossHosts(t *testing.T) {
	for _, at := range layouts {
		t.Run(fmt.Sprint(at), func(t *testing.T) {
			noErrors(t, acrossHosts(t, at, func(r *rig, c kernels.Comm) error { return neighbours(r, c, 5001) }))
		})
	}
}

func TestSameBitsAcrossHosts(t *testing.T) {
	at := []int{0, 0, 1, 1, 2}
	for _, count := range []int{300, 5003, 200003} {
		var mu sync.Mutex
		var got [][]float32
		for range 2 {
			noErrors(t, acrossHosts(t, at, func(r *rig, c kernels.Comm) error {
				v := r.symmetric(count)
				r.fillBy(v, func(int) float64 { return r.rng.NormFloat64() })
				err := r.Do(kernels.Call{}, &kernels.Collective{Comm: c, Parts: []kernels.Part{{Send: v}}})
				mu.Lock()
				defer mu.Unlock()
				got = append(got, append([]float32(nil), r.raw(v.Buf)...))
				return err
			}))
		}
		for n, x := range got[1:] {
			for i := range x {
				if math.Float32bits(x[i]) != math.Float32bits(got[0][i]) {
					t.Fatalf("element %d of %d of result %d: %g and %g", i, count, n+1, x[i], got[0][i])
				}
			}
		}
	}
}

// The groups of a mesh over two hosts, split along every axis in turn.
func TestGroupsAcrossHosts(t *testing.T) {
	for bit := range 3 {
		at := make([]int, 8)
		for rank := range at {
			at[rank] = rank >> bit & 1
		}
		t.Run([]string{"tp", "dp", "pp"}[bit], func(t *testing.T) {
			ids := groupIDs()
			noErrors(t, hostsOf(t, at, kernels.Link{}, func(r *rig, rank int) error {
				g, err := joinGroups(r, rank, ids)
				if err != nil {
					return err
				}
				for i, c := range []kernels.Comm{g.tp, g.dp, g.pp} {
					if _, shared := c.(*backend.Comm); shared == (i == bit) {
						t.Errorf("%s is shared memory: %v", c.Name(), shared)
					}
				}
				return overlapping(r, rank, g)
			}))
		})
	}
}

func TestDisagreementAcrossHosts(t *testing.T) {
	for _, at := range [][]int{{0, 1}, {0, 0, 1, 1}} {
		errs := acrossHosts(t, at, func(r *rig, c kernels.Comm) error {
			v := r.symmetric(64)
			if c.Rank() == len(at)-1 {
				v = v.ColRange(0, 63)
			}
			label := kernels.Label{Phase: kernels.Forward, Layer: 2, Chunk: "attn.in", Op: "qkv"}
			return r.Do(kernels.Call{Label: label}, &kernels.Collective{Comm: c, Parts: []kernels.Part{{Send: v}}})
		})
		for rank, err := range errs {
			for _, part := range []string{"of 64", "of 63", "forward.l2.attn.in/qkv"} {
				if !errors.Is(err, kernels.ErrComm) || !strings.Contains(err.Error(), part) {
					t.Errorf("%v rank %d: %v lacks %q", at, rank, err, part)
				}
			}
		}
		t.Log(errs[0])
	}
	errs := acrossHosts(t, []int{0, 1}, func(r *rig, c kernels.Comm) error {
		x, err := issuer(r)
		if err != nil {
			return err
		}
		if v := r.symmetric(64); c.Rank() == 0 {
			x.StartSend("act", c, 1, v).Wait()
			x.StartRecv("back", c, 1, v).Wait() // the receiver's failure is everybody's
		} else {
			x.StartRecv("act", c, 0, v.ColRange(0, 63)).Wait()
		}
		return x.Err()
	})
	for rank, err := range errs {
		if !errors.Is(err, kernels.ErrComm) || !strings.Contains(err.Error(), "send of 64") || !strings.Contains(err.Error(), "receive of 63") {
			t.Errorf("rank %d: %v", rank, err)
		}
	}
}

func TestAbortAcrossHosts(t *testing.T) {
	at := []int{0, 0, 1, 1}
	for aborts := range at {
		errs := acrossHosts(t, at, func(r *rig, c kernels.Comm) error {
			s, err := r.NewStream("dp")
			if err != nil {
				return err
			}
			if c.Rank() == aborts {
				time.Sleep(50 * time.Millisecond)
				return c.Abort()
			}
			label := kernels.Label{Phase: kernels.Backward, Layer: 1, Chunk: "mlp.in", Op: "down"}
			if err := r.Do(kernels.Call{Stream: s, Label: label}, &kernels.Collective{Comm: c, Parts: []kernels.Part{{Send: r.symmetric(64)}}}); err != nil {
				return err
			}
			ctx, cancel := context.WithTimeout(context.Background(), 5*time.Second)
			defer cancel()
			if err = r.Sync(ctx, s); c.Status() == nil {
				return errors.New("the status is sound")
			}
			return err
		})
		for rank, err := range errs {
			var e *kernels.Error
			if rank != aborts && (!errors.As(err, &e) || !errors.Is(e, kernels.ErrAborted) || e.Label.Op != "down" || !strings.Contains(e.Msg, fmt.Sprintf("by rank %d", aborts))) {
				t.Errorf("rank %d aborts, rank %d: %v", aborts, rank, err)
			}
		}
	}
}

func TestLinkAcrossHosts(t *testing.T) {
	noErrors(t, acrossLink(t, []int{0, 0, 1}, slow, func(r *rig, c kernels.Comm) error {
		s, err := r.NewStream("dp")
		if err != nil {
			return err
		}
		m := &kernels.Collective{Comm: c, Parts: []kernels.Part{{Send: r.symmetric(1 << 13)}}}
		want, best := slow.Time(m), time.Hour
		for range tries {
			got, err := r.under(s, m)
			if err != nil {
				return err
			}
			best = min(best, got)
		}
		// Whoever is woken late, when all had come, takes that for waiting.
		if best < want-want/10 || best > want+want/5+5*time.Millisecond {
			return fmt.Errorf("took %v at best, want %v", best, want)
		}
		return nil
	}))
}

// TestCloseAcrossHosts closes devices whose streams wait for peers that never come.
func TestCloseAcrossHosts(t *testing.T) {
	done := make(chan struct{})
	acrossHosts(t, []int{0, 1, 1}, func(r *rig, c kernels.Comm) error {
		if c.Rank() > 0 {
			<-done
			return nil
		}
		defer close(done)
		v := r.symmetric(64)
		for i, m := range []kernels.Op{&kernels.Collective{Comm: c, Parts: []kernels.Part{{Send: v}}}, &kernels.Recv{Comm: c, Peer: 1, Views: []kernels.View{v}},
			&kernels.Recv{Comm: c, Peer: 2, Views: []kernels.View{v}}} {
			s, err := r.NewStream(fmt.Sprint(i))
			if err := errors.Join(err, r.Do(kernels.Call{Stream: s}, m), r.Do(kernels.Call{Stream: s}, m)); err != nil {
				t.Error(err)
			}
		}
		start := time.Now()
		if err := r.Close(); err != nil || time.Since(start) > 5*time.Second {
			t.Errorf("closed after %v: %v", time.Since(start), err)
		}
		return nil
	})
}

func TestNoNetwork(t *testing.T) {
	d, other := open(t, Options{Network: network(0)}), open(t, Options{})
	id, err := d.UID()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := other.Join(t.Context(), id, 2, 1, "dp"); !errors.Is(err, kernels.ErrInvalid) || !strings.Contains(err.Error(), "without a network") {
		t.Error(err)
	}
	ctx, cancel := context.WithTimeout(t.Context(), 50*time.Millisecond)
	defer cancel()
	if _, err := d.Join(ctx, id, 2, 0, "dp"); !errors.Is(err, context.DeadlineExceeded) {
		t.Error(err)
	}
	wrong := network(1)
	wrong.Secret = "another secret, long enough"
	d = open(t, Options{Network: network(0)})
	id, _ = d.UID()
	if _, err := open(t, Options{Network: wrong}).Join(t.Context(), id, 2, 1, "dp"); !errors.Is(err, kernels.ErrComm) || !strings.Contains(err.Error(), "secret") {
		t.Error(err)
	}
	if _, err := Open(Options{Network: &wire.Options{Secret: netSecret, Address: "203.0.113.7"}}); !errors.Is(err, kernels.ErrComm) {
		t.Errorf("an address of nobody here: %v", err)
	}
}

// What a peer says that it is about to do may be anything.
func FuzzDescription(f *testing.F) {
	f.Add(make([]byte, 64+8+16))
	f.Add([]byte("short"))
	f.Fuzz(func(t *testing.T, call []byte) {
		n, ok := sizes(call)
		if text := words(call); len(text) > 600 || strings.ContainsFunc(text, func(r rune) bool { return r < ' ' }) {
			t.Errorf("%q", text)
		}
		if ok && len(call) != 64+8+16*len(n) {
			t.Errorf("%d bytes describe %d parts", len(call), len(n))
		}
	})
}
