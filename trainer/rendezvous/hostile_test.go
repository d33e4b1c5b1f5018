package rendezvous

import (
	"bytes"
	"crypto/rand"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"boost-tui/internal/handshake"
)

// recorded is what a genuine rank says up to its admission.
func recorded(t *testing.T, s *Server, rank int) []byte {
	t.Helper()
	raw, err := net.Dial("tcp", s.Addr())
	if err != nil {
		t.Fatal(err)
	}
	defer raw.Close()
	rec := &tee{Conn: raw}
	o, _, err := handshake.Offer(rec, spoken, []byte(secret), handshake.Hello{Rank: rank, World: s.o.World, Version: "v1"})
	if err != nil {
		t.Fatal(err)
	}
	if err := (&seal{o}).write(rec, message{op: opBye}); err != nil {
		t.Fatal(err)
	}
	for len(s.Connected()) > 0 { // it has gone before anybody else comes
		time.Sleep(time.Millisecond)
	}
	return rec.sent.Bytes()
}

// strangers do what somebody might who can reach the port and does not know the secret.
func strangersOf(replay []byte) map[string]func(net.Conn) {
	offer := func(p handshake.Protocol, secret string, h handshake.Hello) func(net.Conn) {
		return func(c net.Conn) { _, _, _ = handshake.Offer(c, p, []byte(secret), h) }
	}
	return map[string]func(net.Conn){
		"says nothing":   func(c net.Conn) { _, _ = io.Copy(io.Discard, c) },
		"leaves at once": func(net.Conn) {},
		"dribbles": func(c net.Conn) {
			for _, b := range append([]byte{0, 0, 1, 0}, make([]byte, 256)...) {
				if _, err := c.Write([]byte{b}); err != nil {
					return
				}
				time.Sleep(100 * time.Millisecond)
			}
		},
		"oversize":   func(c net.Conn) { _, _ = c.Write([]byte{0xff, 0xff, 0xff, 0xff, 1, 2, 3}) },
		"speaks web": func(c net.Conn) { _, _ = io.WriteString(c, "GET / HTTP/1.1\r\nHost: x\r\n\r\n") },
		"noise": func(c net.Conn) {
			b := make([]byte, 4096)
			_, _ = rand.Read(b)
			_, _ = c.Write(b)
		},
		"half a hello": func(c net.Conn) { _, _ = c.Write([]byte{0, 0, 0, 100, 1, 2, 3}) },
		"empty frames": func(c net.Conn) { _, _ = c.Write(make([]byte, 4096)) },
		"replays":      func(c net.Conn) { _, _ = c.Write(replay) },
		"reflects": func(c net.Conn) {
			if b, err := handshake.ReadFrame(c, handshake.MaxFrame); err == nil {
				_ = handshake.WriteFrame(c, b)
			}
		},
		"guesses":         offer(spoken, strings.Repeat("x", 32), handshake.Hello{World: 2, Version: "v1"}),
		"empty secret":    offer(spoken, "", handshake.Hello{World: 2, Version: "v1"}),
		"other protocol":  offer("boost-wire 1", secret, handshake.Hello{World: 2, Version: "v1"}),
		"another version": offer(spoken, secret, handshake.Hello{World: 2, Version: "v0"}),
		"another world":   offer(spoken, secret, handshake.Hello{World: 999, Version: "v1"}),
		"a rank too many": offer(spoken, secret, handshake.Hello{Rank: -1, World: 2, Version: "v1"}),
		"a rank twice":    offer(spoken, secret, handshake.Hello{Rank: 1, World: 2, Version: "v1"}),
	}
}

// Strangers, one kind after the other and then many of all kinds at once, do not disturb ranks that are at work, keep none
// out, change nothing, and leave few words in the log.
func TestStrangersHaveNoEffect(t *testing.T) {
	var said, lost atomic.Int64
	s := serve(t, 3, func(o *Options) {
		o.Say = func(format string, args ...any) {
			said.Add(1)
			if text := fmt.Sprintf(format, args...); strings.Contains(text, secret) || strings.ContainsAny(text, "\x1b\n") {
				t.Errorf("said %q", text)
			}
		}
		o.OnLost = func(int) { lost.Add(1) }
	})
	replay := recorded(t, s, 2)
	a, b := dial(t, s, 0), dial(t, s, 1)
	ctx := within(t, time.Minute)
	over := make(chan struct{})
	var work, others sync.WaitGroup
	wait := sync.OnceFunc(func() { // also where the test fails on its way: nobody outlives it
		others.Wait()
		close(over)
		work.Wait()
	})
	defer wait()
	work.Go(func() { // ranks at work
		for i := 0; ; i++ {
			select {
			case <-over:
				return
			default:
			}
			key := fmt.Sprint("k", i)
			if err := a.Set(ctx, key, []byte(key)); err != nil {
				t.Error(err)
				return
			}
			if v, err := b.Wait(ctx, key, 0); err != nil || string(v) != key {
				t.Errorf("%q, %v", v, err)
				return
			}
			time.Sleep(2 * time.Millisecond)
		}
	})
	knock := func(do func(net.Conn)) {
		c, err := net.Dial("tcp", s.Addr())
		if err != nil {
			return // the system has no room for more of them
		}
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(6 * time.Second))
		do(c)
		// What follows is the server's last word: no stranger gets an answer.
		rest, _ := io.ReadAll(io.LimitReader(c, 1<<16))
		if bytes.Contains(rest, []byte("welcome")) {
			t.Error("a stranger was welcomed")
		}
	}
	kinds := strangersOf(replay)
	for _, do := range kinds {
		for range 12 {
			others.Go(func() { knock(do) })
		}
	}
	// In the crowd a rank that belongs here gets in.
	for range 5 {
		c, err := Dial(ctx, s.Addr(), Options{Secret: secret, World: 3, Rank: 2, Version: "v1"})
		if err != nil {
			t.Fatal(err)
		}
		if err := c.Set(ctx, "mine", nil); err != nil {
			t.Error(err)
		}
		c.Close()
	}
	wait()
	if lost.Load() != 0 {
		t.Errorf("%d ranks were given up", lost.Load())
	}
	if n := said.Load(); n < 1 || n > 2 {
		t.Errorf("%d lines about them", n)
	}
	if got := s.Connected(); len(got) != 2 {
		t.Errorf("connected: %v", got)
	}
}

// A world that cannot be, and a secret that is none, are refused before anything listens.
func TestNoServerWithoutASecret(t *testing.T) {
	for _, o := range []Options{{World: 1}, {Secret: "short", World: 1}, {Secret: secret}, {Secret: secret, World: 1, Version: strings.Repeat("v", 999)}} {
		if _, err := Serve(nil, o); err == nil {
			t.Errorf("%+v serves", o)
		}
	}
}

// A client dials from the address that it was told, and from none that is not one host's.
func TestDialsFromItsAddress(t *testing.T) {
	s := serve(t, 1, nil)
	o := Options{Secret: secret, World: 1, Version: "v1", From: "127.0.0.5"}
	c, err := Dial(within(t, 5*time.Second), s.Addr(), o)
	if err != nil {
		t.Fatal(err)
	}
	defer c.Close()
	if from := c.conn.LocalAddr().String(); !strings.HasPrefix(from, "127.0.0.5:") {
		t.Errorf("dialled from %s", from)
	}
	for _, from := range []string{"0.0.0.0", "::", "224.0.0.1", "no-such-interface", "$(id)"} {
		o.From = from
		if _, err := Dial(within(t, 5*time.Second), s.Addr(), o); err == nil {
			t.Errorf("dialled from %q", from)
		}
	}
}

// Clocks are compared within the shortest round trip.
func TestOffset(t *testing.T) {
	s := serve(t, 1, nil)
	c := dial(t, s, 0)
	o, err := c.Offset(within(t, 10*time.Second), 20)
	if err != nil || o.Trip <= 0 || o.Error > o.Trip || o.Ahead.Abs() > o.Trip+time.Millisecond {
		t.Errorf("%+v, %v", o, err)
	}
}
