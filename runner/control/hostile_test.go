package control

import (
	"fmt"
	"net"
	"strings"
	"sync/atomic"
	"testing"
	"time"

	"boost-tui/internal/handshake"
)

// Strangers at the leader's door keep no host out, end none, tell nobody anything, and leave few words.
func TestStrangersHaveNoEffect(t *testing.T) {
	var said atomic.Int64
	o := options(0, 3)
	o.Silence = 5 * time.Second
	o.Say = func(format string, args ...any) {
		said.Add(1)
		if strings.Contains(fmt.Sprintf(format, args...), secret) {
			t.Error("the secret was said")
		}
	}
	s, addr := serve(t, o)
	member := func(host int) Options {
		o := options(host, 3)
		o.Silence = 5 * time.Second
		return o
	}
	first := join(t, addr, member(1))
	expect(t, s.Events(), 1, Joined)
	expect(t, first.Events(), 0, Joined)
	for range 300 { // they say nothing, and stay
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		defer c.Close()
	}
	for i, do := range []func(net.Conn){
		func(c net.Conn) { _, _ = c.Write([]byte{0xff, 0xff, 0xff, 0xff}) },
		func(c net.Conn) { _, _ = c.Write(make([]byte, 4096)) },
		func(c net.Conn) {
			_, _, err := handshake.Offer(c, spoken, []byte(strings.Repeat("x", 40)), handshake.Hello{Rank: 2, World: 3, Version: "v", Subject: []byte("i")})
			if err == nil {
				t.Error("somebody without the secret was let in")
			}
		},
		func(c net.Conn) { // knows the secret, of another start of the run
			_, _, err := handshake.Offer(c, spoken, []byte(secret), handshake.Hello{Rank: 2, World: 3, Version: "v", Subject: []byte("another")})
			if err == nil {
				t.Error("an agent of another start was let in")
			}
		},
	} {
		c, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(i, err)
		}
		defer c.Close()
		_ = c.SetDeadline(time.Now().Add(3 * time.Second))
		do(c)
	}
	began := time.Now()
	second := join(t, addr, member(2))
	expect(t, s.Events(), 2, Joined)
	expect(t, second.Events(), 0, Joined)
	if took := time.Since(began); took > 3*time.Second {
		t.Errorf("a host that belongs here waited %v", took)
	}
	if n := said.Load(); n < 1 || n > 2 {
		t.Errorf("%d lines about them", n)
	}
	select {
	case e := <-s.Events():
		t.Errorf("%+v came of strangers", e)
	default:
	}
}
