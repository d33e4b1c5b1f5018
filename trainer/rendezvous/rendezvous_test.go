package rendezvous

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"net"
	"runtime"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"boost-tui/internal/handshake"
)

const secret = "0123456789abcdef0123456789abcdef"

func serve(t *testing.T, world int, change func(*Options)) *Server {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	o := Options{Secret: secret, World: world, Version: "v1"}
	if change != nil {
		change(&o)
	}
	s, err := Serve(ln, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { s.Close() })
	return s
}

func dial(t *testing.T, s *Server, rank int) *Client {
	t.Helper()
	c, err := Dial(within(t, 5*time.Second), s.Addr(), Options{Secret: secret, World: s.o.World, Rank: rank, Version: "v1"})
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() { c.Close() })
	return c
}

func within(t *testing.T, d time.Duration) context.Context {
	ctx, cancel := context.WithTimeout(context.Background(), d)
	t.Cleanup(cancel)
	return ctx
}

func TestSetWaitAddBarrier(t *testing.T) {
	const world = 8
	s := serve(t, world, nil)
	var wg sync.WaitGroup
	first := make([]string, world)
	for rank := range world {
		c := dial(t, s, rank)
		wg.Go(func() {
			ctx := within(t, 10*time.Second)
			if rank == 3 {
				time.Sleep(20 * time.Millisecond)
				if err := c.Set(ctx, "uid", []byte("hello")); err != nil {
					t.Error(err)
				}
			}
			if v, err := c.Wait(ctx, "uid", 3); err != nil || string(v) != "hello" {
				t.Errorf("rank %d waited for uid: %q, %v", rank, v, err)
			}
			v, err := c.SetIfAbsent(ctx, "cause", []byte(fmt.Sprint(rank)))
			if err != nil {
				t.Error(err)
			}
			first[rank] = string(v)
			for i := range 3 { // a barrier that has opened can be used anew
				if _, err := c.Add(ctx, "n", int64(i+1)); err != nil {
					t.Error(err)
				}
				if err := c.Barrier(ctx, "b"); err != nil {
					t.Errorf("rank %d barrier %d: %v", rank, i, err)
				}
			}
			if n, err := c.Add(ctx, "n", 0); err != nil || n != world*6 {
				t.Errorf("sum %d, %v", n, err)
			}
		})
	}
	wg.Wait()
	if len(slices.Compact(slices.Clone(first))) != 1 || first[0] == "" {
		t.Errorf("ranks disagree on the first value: %v", first)
	}
}

func TestBarrierNamesTheLateAndTheGone(t *testing.T) {
	s := serve(t, 4, nil)
	a, b := dial(t, s, 0), dial(t, s, 2)
	var pe *PeerError
	started := time.Now()
	err := a.Barrier(within(t, 300*time.Millisecond), "start")
	if !errors.As(err, &pe) || !slices.Equal(pe.Missing, []int{1, 2, 3}) || pe.Gone {
		t.Fatalf("late: %v", err)
	}
	if !strings.Contains(err.Error(), "ranks 1, 2 and 3") || time.Since(started) > 5*time.Second {
		t.Errorf("after %v: %v", time.Since(started), err)
	}
	// Rank 0 stood there once, so it is not named by those who come later.
	err = b.Barrier(within(t, 300*time.Millisecond), "start")
	if !errors.As(err, &pe) || !slices.Equal(pe.Missing, []int{1, 3}) {
		t.Fatalf("late: %v", err)
	}
	// A rank that leaves ends the wait at once.
	go func() {
		time.Sleep(30 * time.Millisecond)
		b.Close()
	}()
	started = time.Now()
	err = a.Barrier(within(t, time.Minute), "next")
	if !errors.As(err, &pe) || !pe.Gone || !slices.Equal(pe.Missing, []int{2}) || time.Since(started) > 5*time.Second {
		t.Fatalf("gone, after %v: %v", time.Since(started), err)
	}
	if _, err = a.Wait(within(t, time.Minute), "key", 2); !errors.As(err, &pe) || !pe.Gone {
		t.Fatalf("wait for what a gone rank was to set: %v", err)
	}
	if _, err = a.Wait(within(t, time.Second), "key", 1); !errors.As(err, &pe) || pe.Gone || !slices.Equal(pe.Missing, []int{1}) {
		t.Fatalf("wait for a late rank: %v", err)
	}
}

func TestOnLost(t *testing.T) {
	lost := make(chan int, 4)
	s := serve(t, 3, func(o *Options) { o.OnLost = func(r int) { lost <- r } })
	polite, crashed := dial(t, s, 1), dial(t, s, 2)
	polite.Close()
	crashed.conn.Close()
	select {
	case r := <-lost:
		if r != 2 {
			t.Errorf("rank %d was reported, 2 vanished", r)
		}
	case <-time.After(5 * time.Second):
		t.Fatal("nobody was told")
	}
	s.Settle(within(t, 5*time.Second), 0)
	if c := s.Connected(); len(c) != 0 {
		t.Errorf("still connected: %v", c)
	}
	select {
	case r := <-lost:
		t.Errorf("rank %d said goodbye and was reported", r)
	default:
	}
}

func TestRefusals(t *testing.T) {
	s := serve(t, 2, nil)
	dial(t, s, 1)
	for name, c := range map[string]struct {
		o    Options
		is   error
		text string
	}{
		"wrong secret": {Options{Secret: strings.Repeat("x", 32), World: 2, Version: "v1"}, ErrAuth, "secret"},
		"version":      {Options{Secret: secret, World: 2, Version: "v2"}, ErrRefused, "rank 0 runs binary v2, the rendezvous v1"},
		"world":        {Options{Secret: secret, World: 3, Version: "v1"}, ErrRefused, "world of 3"},
		"twice":        {Options{Secret: secret, World: 2, Rank: 1, Version: "v1"}, ErrRefused, "rank 1 is connected already"},
		"short secret": {Options{Secret: "x", World: 2}, nil, "at least 16"},
		"rank":         {Options{Secret: secret, World: 2, Rank: 2}, nil, "rank 2 of a world of 2"},
	} {
		_, err := Dial(within(t, 5*time.Second), s.Addr(), c.o)
		if err == nil || !strings.Contains(err.Error(), c.text) || c.is != nil && !errors.Is(err, c.is) {
			t.Errorf("%s: %v", name, err)
		}
	}
	if got := s.Connected(); !slices.Equal(got, []int{1}) {
		t.Errorf("connected after refusals: %v", got)
	}
}

// An impostor that does not know the secret must not be believed by a client.
func TestClientRejectsImpostor(t *testing.T) {
	for name, answer := range map[string]func(conn net.Conn){
		"wrong proof": func(conn net.Conn) {
			handshake.Accept(conn, spoken, []byte("another secret, long enough"), func(handshake.Hello) error { return nil })
			handshake.WriteFrame(conn, append([]byte("welcome"), make([]byte, handshake.TagBytes)...))
		},
		"another protocol": func(conn net.Conn) { conn.Write([]byte("SSH-2.0-OpenSSH_9.9 and so on and so forth\r\n")) },
		"oversize":         func(conn net.Conn) { conn.Write([]byte{0xff, 0xff, 0xff, 0xff}) },
		"silence":          func(conn net.Conn) { time.Sleep(300 * time.Millisecond) },
	} {
		t.Run(name, func(t *testing.T) {
			ln, err := net.Listen("tcp", "127.0.0.1:0")
			if err != nil {
				t.Fatal(err)
			}
			defer ln.Close()
			go func() {
				conn, err := ln.Accept()
				if err == nil {
					answer(conn)
					conn.Close()
				}
			}()
			if _, err := Dial(within(t, 2*time.Second), ln.Addr().String(), Options{Secret: secret, World: 1}); err == nil {
				t.Fatal("the client believed it")
			}
		})
	}
}

func TestDeadlines(t *testing.T) {
	s := serve(t, 2, nil)
	c := dial(t, s, 0)
	ctx, cancel := context.WithCancel(context.Background())
	go func() {
		time.Sleep(30 * time.Millisecond)
		cancel()
	}()
	if _, err := c.Wait(ctx, "never", -1); !errors.Is(err, context.Canceled) {
		t.Errorf("cancelled wait: %v", err)
	}
	// The connection is as good as before.
	if err := c.Set(within(t, 5*time.Second), "k", []byte("v")); err != nil {
		t.Error(err)
	}
	// A server that vanishes ends what waits on it.
	closed := make(chan struct{})
	go func() {
		defer close(closed)
		time.Sleep(30 * time.Millisecond)
		s.Close()
	}()
	if _, err := c.Wait(within(t, time.Minute), "never", -1); err == nil || !strings.Contains(err.Error(), "rank 0") {
		t.Errorf("lost server: %v", err)
	}
	<-closed
	if err := c.Set(within(t, time.Second), "k", nil); err == nil {
		t.Error("a call on a dead connection succeeded")
	}
	if _, err := Dial(within(t, 200*time.Millisecond), s.Addr(), c.o); err == nil || !strings.Contains(err.Error(), "reachable") {
		t.Errorf("nobody listens: %v", err)
	}
}

func TestBounds(t *testing.T) {
	s := serve(t, 1, nil)
	c := dial(t, s, 0)
	ctx := within(t, 20*time.Second)
	if err := c.Set(ctx, "big", make([]byte, MaxValueBytes)); err != nil {
		t.Errorf("the largest value: %v", err)
	}
	if err := c.Set(ctx, "big", make([]byte, MaxValueBytes+1)); !errors.Is(err, handshake.ErrOversize) {
		t.Errorf("too large a value: %v", err)
	}
	if err := c.Set(ctx, strings.Repeat("k", MaxKeyBytes+1), nil); !errors.Is(err, handshake.ErrOversize) {
		t.Errorf("too long a key: %v", err)
	}
	if v, err := c.Wait(ctx, "big", -1); err != nil || len(v) != MaxValueBytes {
		t.Errorf("the largest value comes back: %d bytes, %v", len(v), err)
	}
	st := newStore(1)
	for i := range maxStoreBytes / MaxValueBytes {
		if _, err := st.set(fmt.Sprint(i), make([]byte, MaxValueBytes-8), false); err != nil {
			t.Fatalf("value %d: %v", i, err)
		}
	}
	if _, err := st.set("more", make([]byte, MaxValueBytes), false); err == nil {
		t.Error("the store grows without bound")
	}
}

func TestOversizeFrameEndsTheConnection(t *testing.T) {
	s := serve(t, 1, nil)
	conn, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := handshake.ReadFrame(conn, handshake.MaxFrame); err != nil {
		t.Fatal(err)
	}
	conn.Write([]byte{0x7f, 0xff, 0xff, 0xff})
	conn.SetReadDeadline(time.Now().Add(3 * time.Second))
	if _, err := conn.Read(make([]byte, 1)); err == nil || errors.Is(err, context.DeadlineExceeded) {
		t.Errorf("the server listens on after an oversize frame: %v", err)
	}
}

// tee records what a client sends.
type tee struct {
	net.Conn
	sent bytes.Buffer
}

func (c *tee) Write(b []byte) (int, error) {
	c.sent.Write(b)
	return c.Conn.Write(b)
}

// What a genuine client sent, sent again on a new connection, must not be believed: the server's nonce is another.
func TestReplayIsRefused(t *testing.T) {
	s := serve(t, 2, nil)
	raw, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	rec := &tee{Conn: raw}
	o, i, err := handshake.Offer(rec, spoken, []byte(secret), handshake.Hello{Rank: 1, World: 2, Version: "v1"})
	if err != nil {
		t.Fatal(err)
	}
	out, in := seal{o}, seal{i}
	greeted := rec.sent.Len()
	if err := out.write(rec, message{id: 1, op: opSet, key: "k", value: []byte("genuine")}); err != nil {
		t.Fatal(err)
	}
	if m, err := in.read(raw); err != nil || m.op != replyOK {
		t.Fatal(m, err)
	}
	// The same frame again on the same connection: its tag is for another place in the stream.
	raw.Write(rec.sent.Bytes()[greeted:])
	raw.SetReadDeadline(time.Now().Add(3 * time.Second))
	if m, err := in.read(raw); err == nil {
		t.Errorf("a repeated frame was answered: %+v", m)
	}
	raw.Close()

	again, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer again.Close()
	again.SetDeadline(time.Now().Add(3 * time.Second))
	if _, err := handshake.ReadFrame(again, handshake.MaxFrame); err != nil {
		t.Fatal(err)
	}
	again.Write(rec.sent.Bytes())
	if b, err := handshake.ReadFrame(again, handshake.MaxFrame); err == nil {
		t.Errorf("a replayed hello was answered with %q", b)
	}
}

func TestCloseEndsEverything(t *testing.T) {
	before := runtime.NumGoroutine()
	s := serve(t, 4, nil)
	var wg sync.WaitGroup
	for rank := range 3 {
		c := dial(t, s, rank)
		wg.Go(func() {
			if err := c.Barrier(context.Background(), "never"); err == nil {
				t.Error("the barrier opened")
			}
			c.Close()
		})
	}
	stranger, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer stranger.Close()
	time.Sleep(20 * time.Millisecond)
	s.Close()
	wg.Wait()
	for range 100 {
		if runtime.NumGoroutine() <= before {
			return
		}
		time.Sleep(10 * time.Millisecond)
	}
	t.Errorf("%d goroutines before, %d after", before, runtime.NumGoroutine())
}

func FuzzMessage(f *testing.F) {
	f.Add(message{id: 7, op: opSet, number: -1, millis: 9, key: "k", value: []byte("v")}.append(nil))
	f.Add([]byte{})
	f.Fuzz(func(t *testing.T, b []byte) {
		m, err := parseMessage(b)
		if err != nil {
			return
		}
		if !bytes.Equal(m.append(nil), b) {
			t.Errorf("%x decodes to %+v, which encodes otherwise", b, m)
		}
	})
}

// A rank whose first connection stands half open, as one that broke on the way does here, is let in when it comes again, and is
// not given up for it; another process with its number is not.
func TestComesAgain(t *testing.T) {
	var lost atomic.Int64
	s := serve(t, 2, func(o *Options) { o.OnLost = func(int) { lost.Add(1) } })
	o := Options{Secret: secret, World: 2, Rank: 1, Version: "v1"}
	come := func(who string) (*Client, error) {
		conn, err := net.Dial("tcp", s.Addr())
		if err != nil {
			t.Fatal(err)
		}
		return newClient(within(t, 5*time.Second), conn, o, who)
	}
	first, err := come("a")
	if err != nil {
		t.Fatal(err)
	}
	defer first.Close()
	if _, err := come("b"); !errors.Is(err, ErrRefused) {
		t.Errorf("a second process of one rank: %v", err)
	}
	again, err := come("a")
	if err != nil {
		t.Fatal(err)
	}
	<-first.done // the server has hung up on it
	if err := again.Set(within(t, 5*time.Second), "k", []byte("v")); err != nil {
		t.Error(err)
	}
	if got := s.Connected(); !slices.Equal(got, []int{1}) || lost.Load() != 0 {
		t.Errorf("connected: %v, %d were given up", got, lost.Load())
	}
	again.conn.Close()
	for end := time.Now().Add(5 * time.Second); lost.Load() == 0 && time.Now().Before(end); time.Sleep(time.Millisecond) {
	}
	if lost.Load() != 1 {
		t.Error("nobody was told of its end")
	}
}

// A rank that left a moment ago and comes as another process finds its place free.
func TestComesSoonAfter(t *testing.T) {
	s := newStore(1)
	p, next := &presence{who: "a"}, &presence{who: "b"}
	if err := s.enter(t.Context(), 0, p); err != nil {
		t.Fatal(err)
	}
	time.AfterFunc(50*time.Millisecond, func() { s.leave(0, p) })
	if err := s.enter(t.Context(), 0, next); err != nil {
		t.Error(err)
	}
	if s.leave(0, p) || len(s.connected()) != 1 {
		t.Error("who has left takes another one's place away")
	}
}
