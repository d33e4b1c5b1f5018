package wire

import (
	"context"
	"errors"
	"fmt"
	"io"
	"math"
	"math/rand/v2"
	"net"
	"net/netip"
	"runtime"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"boost-tui/kernels"
)

const secret = "a secret that is long enough"

// hosts are addresses that take themselves for hosts.
var hosts = []string{"127.0.0.1", "127.0.0.2"}

func node(t testing.TB, host int, change func(*Options)) *Node {
	t.Helper()
	o := Options{Secret: secret, Address: hosts[host%len(hosts)], Version: "v1"}
	if change != nil {
		change(&o)
	}
	n, err := Listen(o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { n.Close() })
	return n
}

func within(t testing.TB, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

// together runs f as the members of a group, each on a node of its own, on two hosts in turn.
func together(t testing.TB, n int, change func(*Options), f func(g *Group) error) []error {
	t.Helper()
	nodes := make([]*Node, n)
	for r := range n {
		nodes[r] = node(t, r, change)
	}
	v, err := nodes[0].Invite()
	if err != nil {
		t.Fatal(err)
	}
	errs := make([]error, n)
	var wg sync.WaitGroup
	for r := range n {
		wg.Go(func() {
			g, err := nodes[r].Join(within(t, 10*time.Second), v, n, r, "dp")
			if err != nil {
				errs[r] = err
				return
			}
			errs[r] = f(g)
			if errs[r] != errDied {
				errs[r] = errors.Join(errs[r], g.Close())
			}
		})
	}
	wg.Wait()
	return errs
}

// errDied is what a member returns that is gone without a word.
var errDied = errors.New("died")

func all(t testing.TB, n int, f func(g *Group) error) {
	t.Helper()
	for r, err := range together(t, n, nil, f) {
		if err != nil {
			t.Errorf("rank %d: %v", r, err)
		}
	}
}

func ringOf(t testing.TB, g *Group) (*Ring, error) {
	members := make([]int, g.Size())
	for i := range members {
		members[i] = i
	}
	return g.Ring(within(t, 10*time.Second), members, 0, combine)
}

// combine is what the cpu device does in C.
func combine(dst, src []float32, how kernels.Reduction) {
	for i, x := range src {
		if how == kernels.Max {
			dst[i] = max(dst[i], x)
		} else {
			dst[i] += x
		}
	}
}

func TestExchange(t *testing.T) {
	all(t, 5, func(g *Group) error {
		for round := range 20 {
			got, err := g.Exchange(within(t, 10*time.Second), fmt.Appendf(nil, "%d of %d", g.Rank(), round))
			if err != nil {
				return err
			}
			for r, b := range got {
				if string(b) != fmt.Sprintf("%d of %d", r, round) {
					return fmt.Errorf("round %d: rank %d said %q", round, r, b)
				}
			}
		}
		_, err := g.Exchange(within(t, time.Second), make([]byte, MaxBlob+1))
		if err == nil {
			return errors.New("too much was exchanged")
		}
		return nil
	})
}

func TestRing(t *testing.T) {
	for _, n := range []int{1, 2, 3, 4} {
		for _, count := range []int{1, 15, 1000, 1025, 5000, 300001} {
			t.Run(fmt.Sprintf("%d-members-%d", n, count), func(t *testing.T) {
				all(t, n, func(g *Group) error { return everyKind(t, g, count) })
			})
		}
	}
}

func everyKind(t testing.TB, g *Group, count int) error {
	r, err := ringOf(t, g)
	if err != nil {
		return err
	}
	n, me := g.Size(), g.Rank()
	value := func(rank, i int) float32 { return float32((rank*37 + i*11) % 1001) }
	fill := func(rank, from, count int) []float32 {
		x := make([]float32, count)
		for i := range x {
			x[i] = value(rank, from+i)
		}
		return x
	}
	expect := func(what string, x []float32, want func(i int) float32) error {
		for i, v := range x {
			if v != want(i) {
				return fmt.Errorf("%s[%d] = %g, want %g", what, i, v, want(i))
			}
		}
		return nil
	}
	total := func(i int) (s float32) {
		for q := range n {
			s += value(q, i)
		}
		return s
	}
	for range 3 {
		call := fmt.Appendf(nil, "all kinds of %d", count)
		if other, same, _, err := r.Agree(call); err != nil || !same {
			return fmt.Errorf("%q: %v", other, err)
		}
		sum, most, told := fill(me, 0, count), fill(me, 3, count), fill(me, 9, count)
		gathered, scattered := make([]Block, n), make([]Block, n)
		for q := range n {
			gathered[q] = Block{make([]float32, count/2), nil, make([]float32, count-count/2+q)}
			scattered[q] = Block{fill(me, q*count, count)}
		}
		copy(gathered[me][0], fill(me, 0, count/2))
		copy(gathered[me][2], fill(me, 500, count))
		err := errors.Join(r.AllReduce(sum, kernels.Sum), r.AllReduce(most, kernels.Max), r.AllGather(gathered),
			r.ReduceScatter(scattered, kernels.Sum), r.Broadcast(told, n-1))
		if err != nil {
			return err
		}
		err = errors.Join(expect("sum", sum, total),
			expect("max", most, func(i int) float32 {
				m := value(0, i+3)
				for q := range n {
					m = max(m, value(q, i+3))
				}
				return m
			}),
			expect("scattered", scattered[me][0], func(i int) float32 { return total(me*count + i) }),
			expect("told", told, func(i int) float32 { return value(n-1, i+9) }))
		for q := range n {
			err = errors.Join(err, expect("gathered", gathered[q][0], func(i int) float32 { return value(q, i) }),
				expect("gathered", gathered[q][2][:count-count/2], func(i int) float32 { return value(q, i+500) }))
		}
		if err != nil {
			return err
		}
	}
	return nil
}

// What is under way at a time fits into no buffer of the system.
func TestLargeRing(t *testing.T) {
	for _, n := range []int{2, 3} {
		all(t, n, func(g *Group) error {
			r, err := ringOf(t, g)
			if err != nil {
				return err
			}
			x := make([]float32, 6<<20)
			for i := range x {
				x[i] = float32(g.Rank() + i%5)
			}
			if err := r.AllReduce(x, kernels.Sum); err != nil {
				return err
			}
			for i, v := range x {
				if want := float32(n*(n-1)/2 + n*(i%5)); v != want {
					return fmt.Errorf("element %d is %g, want %g", i, v, want)
				}
			}
			return nil
		})
	}
}

func TestSameBits(t *testing.T) {
	for _, count := range []int{100, 50003} {
		var mu sync.Mutex
		var got [][]float32
		for range 2 {
			all(t, 4, func(g *Group) error {
				r, err := ringOf(t, g)
				if err != nil {
					return err
				}
				rng, x := rand.New(rand.NewPCG(1, uint64(g.Rank()))), make([]float32, count)
				for i := range x {
					x[i] = float32(rng.NormFloat64())
				}
				err = r.AllReduce(x, kernels.Sum)
				mu.Lock()
				got = append(got, x)
				mu.Unlock()
				return err
			})
		}
		for _, x := range got[1:] {
			for i := range x {
				if math.Float32bits(x[i]) != math.Float32bits(got[0][i]) {
					t.Fatalf("element %d of %d: %g and %g", i, count, x[i], got[0][i])
				}
			}
		}
	}
}

func TestLanes(t *testing.T) {
	all(t, 3, func(g *Group) error {
		ctx := within(t, 10*time.Second)
		right, left := (g.Rank()+1)%3, (g.Rank()+2)%3
		out, err := g.To(ctx, right, 7)
		if err != nil {
			return err
		}
		in, err := g.From(ctx, left, 7)
		if err != nil {
			return err
		}
		for round := range 50 {
			x, y := []float32{float32(g.Rank()), float32(round)}, make([]float32, 2)
			if err := out.Send([]byte("two"), Block{x}); err != nil {
				return err
			}
			call, err := in.Announced()
			if err == nil {
				err = in.Take(Block{y})
			}
			if err != nil || string(call) != "two" || y[0] != float32(left) || y[1] != float32(round) {
				return fmt.Errorf("round %d: %q %v, %v", round, call, y, err)
			}
		}
		if _, err := g.To(ctx, right, 7); err == nil {
			return errors.New("a lane was made twice")
		}
		return nil
	})
}

// reduceForever is a member that reduces until that fails.
func reduceForever(t testing.TB, g *Group, count int, before func(round int) error) error {
	r, err := ringOf(t, g)
	if err != nil {
		return err
	}
	x := make([]float32, count)
	for round := 0; ; round++ {
		if err := before(round); err != nil {
			return err
		}
		if _, _, _, err := r.Agree([]byte("again")); err != nil {
			return err
		}
		if err := r.AllReduce(x, kernels.Sum); err != nil {
			return err
		}
	}
}

func TestAbort(t *testing.T) {
	for victim := range 3 {
		errs := together(t, 3, nil, func(g *Group) error {
			return reduceForever(t, g, 100000, func(round int) error {
				if round == 5 && g.Rank() == victim {
					g.Fail(&Failure{Text: "enough", Aborted: true})
				}
				return nil
			})
		})
		for r, err := range errs {
			if !errors.Is(err, kernels.ErrAborted) || err.Error() != "enough" {
				t.Errorf("rank %d: %v", r, err)
			}
		}
	}
}

// A member that dies takes its connections with it, and all others hear of it at once.
func TestDeath(t *testing.T) {
	for victim := range 3 {
		var died atomic.Int64
		errs := together(t, 3, nil, func(g *Group) error {
			err := reduceForever(t, g, 100000, func(round int) error {
				if round == 5 && g.Rank() == victim {
					died.Store(time.Now().UnixNano())
					kill(g)
					return errDied
				}
				return nil
			})
			if took := time.Since(time.Unix(0, died.Load())); took > 3*time.Second {
				t.Errorf("rank %d heard after %v", g.Rank(), took)
			}
			return err
		})
		for r, err := range errs {
			if r != victim && (!errors.Is(err, kernels.ErrComm) || !strings.Contains(err.Error(), fmt.Sprintf("rank %d of dp", victim))) {
				t.Errorf("rank %d: %v", r, err)
			}
		}
		t.Log(errs)
	}
}

// kill ends a member as the death of its process does: the system closes its sockets.
func kill(g *Group) {
	g.mu.Lock()
	g.closed = true
	conns := g.conns
	g.mu.Unlock()
	g.node.ln.Close()
	g.c.conn.SetLinger(0)
	g.c.conn.Close()
	for _, c := range conns {
		c.Close()
	}
	g.node.cancel()
	close(g.parted)
}

// Whoever is silent is taken for dead after the deadline; whoever is merely slow is not. (Processes that are really
// stopped are in the tests of kernels/cpu.)
func TestSilence(t *testing.T) {
	var stopped atomic.Int64
	errs := together(t, 2, func(o *Options) { o.Silence = 400 * time.Millisecond }, func(g *Group) error {
		err := reduceForever(t, g, 1000, func(round int) error {
			switch {
			case g.Rank() == 1 && round == 2:
				time.Sleep(time.Second) // slow: its heart beats
			case g.Rank() == 1 && round == 4:
				stopped.Store(time.Now().UnixNano())
				g.c.mu.Lock() // stopped: it does not
				time.Sleep(1500 * time.Millisecond)
				g.c.mu.Unlock()
				return errDied
			case round > 4:
				t.Errorf("rank %d is in round %d", g.Rank(), round)
			}
			return nil
		})
		if took := time.Since(time.Unix(0, stopped.Load())); g.Rank() == 0 && took < 300*time.Millisecond {
			t.Errorf("noticed after %v", took)
		}
		return err
	})
	if err := errs[0]; !errors.Is(err, kernels.ErrComm) || !strings.Contains(err.Error(), "rank 1 of dp") || !strings.Contains(err.Error(), "silent") {
		t.Error(err)
	}
}

func TestLeaving(t *testing.T) {
	for victim := range 3 {
		var sound sync.WaitGroup
		sound.Add(2)
		errs := together(t, 3, nil, func(g *Group) error {
			r, err := ringOf(t, g)
			if err != nil {
				return err
			}
			x := make([]float32, 70000)
			if err := r.AllReduce(x, kernels.Sum); err != nil {
				return err
			}
			if g.Rank() == victim { // in order: nobody misses what it sent before
				return nil
			}
			time.Sleep(50 * time.Millisecond)
			if err := g.Err(); err != nil {
				t.Errorf("rank %d failed too early: %v", g.Rank(), err)
			}
			sound.Done()
			sound.Wait()
			return r.AllReduce(x, kernels.Sum)
		})
		for r, err := range errs {
			if r == victim && err != nil || r != victim && (!errors.Is(err, kernels.ErrComm)) {
				t.Errorf("victim %d, rank %d: %v", victim, r, err)
			}
		}
		if !strings.Contains(fmt.Sprint(errs), fmt.Sprintf("rank %d of dp has left", victim)) {
			t.Errorf("victim %d: %v", victim, errs)
		}
	}
}

func TestStrangers(t *testing.T) {
	n := node(t, 0, nil)
	v, err := n.Invite()
	if err != nil {
		t.Fatal(err)
	}
	noise := make([]byte, 1<<16)
	for i := range noise {
		noise[i] = byte(rand.Uint32())
	}
	var wg sync.WaitGroup
	for i := range 200 { // more than may stand in the handshake at once
		wg.Go(func() {
			conn, err := net.Dial("tcp", n.Addr().String())
			if err != nil {
				return
			}
			defer conn.Close()
			if i%2 == 0 {
				conn.Write(noise)
			}
			conn.SetReadDeadline(time.Now().Add(time.Second))
			io.Copy(io.Discard, conn)
		})
	}
	ctx := within(t, 20*time.Second)
	for what, tc := range map[string]struct {
		change func(*Options)
		size   int
		rank   int
		want   string
	}{
		"wrong secret": {func(o *Options) { o.Secret = "another one, long enough" }, 1, 0, "secret"},
		"version":      {func(o *Options) { o.Version = "v2" }, 1, 0, "one binary on every host"},
		"rank":         {nil, 1, 1, "rank 1 of 1"},
	} {
		if _, err := node(t, 1, tc.change).Join(ctx, v, tc.size, tc.rank, "dp"); err == nil || !strings.Contains(err.Error(), tc.want) {
			t.Errorf("%s: %v", what, err)
		}
	}
	other := Invitation{Hub: n.Addr()}
	if _, err := node(t, 1, nil).Join(ctx, other, 1, 0, "dp"); err == nil || !strings.Contains(err.Error(), "no such group") {
		t.Errorf("unknown group: %v", err)
	}
	g, err := node(t, 1, nil).Join(ctx, v, 1, 0, "dp") // meanwhile it stands open to members
	if err != nil {
		t.Fatal(err)
	}
	if _, err := node(t, 0, nil).Join(ctx, v, 1, 0, "dp"); err == nil || !strings.Contains(err.Error(), "already") {
		t.Errorf("twice: %v", err)
	}
	g.Close()
	wg.Wait()
}

func TestJoinEnds(t *testing.T) {
	n := node(t, 0, nil)
	v, err := n.Invite()
	if err != nil {
		t.Fatal(err)
	}
	if _, err := n.Join(within(t, 50*time.Millisecond), v, 2, 0, "dp"); !errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("nobody else came: %v", err)
	}
	closed := netip.MustParseAddrPort("127.0.0.1:1")
	if _, err := n.Join(within(t, 100*time.Millisecond), Invitation{Hub: closed}, 2, 1, "dp"); err == nil {
		t.Error("joined at a closed port")
	}
	if _, err := Listen(Options{Secret: secret, Address: "no-such-interface0"}); err == nil || !strings.Contains(err.Error(), "neither an IP address nor") {
		t.Errorf("interface: %v", err)
	}
	if _, err := Listen(Options{Secret: "short", Address: "127.0.0.1"}); err == nil {
		t.Error("listened with a short secret")
	}
	if l, err := Listen(Options{Secret: secret, Address: "lo"}); err != nil || !l.Addr().Addr().IsLoopback() {
		t.Errorf("the loopback interface by its name: %v", err)
	} else {
		l.Close()
	}
}

func TestInvitation(t *testing.T) {
	for _, a := range []string{"127.0.0.2:4711", "[fd00::1]:65535"} {
		v := Invitation{Hub: netip.MustParseAddrPort(a), nonce: [16]byte{1, 2, 3}}
		if got, ok := ParseInvitation(append(v.Bytes(), 0, 0)); !ok || got != v {
			t.Errorf("%v became %v", v, got)
		}
		if _, ok := ParseInvitation(v.Bytes()[:len(v.Bytes())-1]); ok {
			t.Error("a cut invitation was read")
		}
	}
	if _, ok := ParseInvitation(make([]byte, 128)); ok {
		t.Error("zeros are an invitation")
	}
}

func TestCloseEndsEverything(t *testing.T) {
	before := runtime.NumGoroutine()
	t.Cleanup(func() { // after those of the nodes, which are registered later
		for range 200 {
			if runtime.NumGoroutine() <= before {
				return
			}
			time.Sleep(10 * time.Millisecond)
		}
		b := make([]byte, 1<<16)
		t.Errorf("%d goroutines before, %d after\n%s", before, runtime.NumGoroutine(), b[:runtime.Stack(b, true)])
	})
	for range 3 {
		all(t, 3, func(g *Group) error {
			r, err := ringOf(t, g)
			if err != nil {
				return err
			}
			return r.AllReduce(make([]float32, 10), kernels.Sum)
		})
	}
	n := node(t, 0, nil)
	v, _ := n.Invite()
	g, err := n.Join(within(t, time.Second), v, 1, 0, "dp")
	if err != nil {
		t.Fatal(err)
	}
	n.Close()
	if g.Close(); g.Err() != nil {
		t.Error(g.Err())
	}
}

func FuzzControl(f *testing.F) {
	f.Add([]byte{0, 1, 'x', 0, 0}, 2)
	f.Add([]byte{0xff, 0xff}, 1)
	f.Fuzz(func(t *testing.T, b []byte, n int) {
		if n < 0 || n > MaxMembers {
			return
		}
		if all, err := unpack(b, n); err == nil && string(pack(all)) != string(b) {
			t.Errorf("%x is unpacked to %q", b, all)
		}
		if s, err := parseSubject(b); err == nil && string(s.bytes()) != string(b) {
			t.Errorf("%x is the subject %+v", b, s)
		}
		if v, ok := ParseInvitation(b); ok && !strings.HasPrefix(string(b), invitationMagic) {
			t.Errorf("%x is the invitation %+v", b, v)
		}
		if len(parseFailure(b).Text) > 2*maxText {
			t.Error("a long failure")
		}
	})
}
