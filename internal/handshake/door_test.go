package handshake

import (
	"errors"
	"fmt"
	"net"
	"strings"
	"testing"
	"time"
)

// conn is a connection that knows whether it was closed.
type conn struct {
	net.Conn
	closed bool
}

func (c *conn) Close() error {
	c.closed = true
	return nil
}

func (c *conn) RemoteAddr() net.Addr { return &net.TCPAddr{IP: net.IPv4(10, 0, 0, 9), Port: 7} }

// Whoever comes gets in as long as those who were turned out leave; nobody stands there for long when many come.
func TestDoorIsNeverFull(t *testing.T) {
	d := &Door{Limit: 4}
	var all []*conn
	for range 100 {
		c := &conn{}
		if !d.Enter(c) {
			t.Fatal("the door is shut")
		}
		all = append(all, c)
		open := 0
		for _, o := range all {
			if !o.closed {
				open++
			}
		}
		if open > 4 || c.closed {
			t.Fatalf("%d stand at a door for 4", open)
		}
		for _, o := range all { // who was turned out goes
			if o.closed {
				d.Leave(o, net.ErrClosed)
			}
		}
		kept := all[:0]
		for _, o := range all {
			if !o.closed {
				kept = append(kept, o)
			}
		}
		all = kept
	}
	// Those who are turned out and do not leave are bounded as well.
	shut := false
	for range 20 {
		shut = shut || !d.Enter(&conn{})
	}
	if !shut || len(d.waiting)+len(d.turned) > 8 {
		t.Errorf("%d stand there, %d have not gone", len(d.waiting), len(d.turned))
	}
}

// Who has proved himself is not turned out any more, and who was turned out does not get in.
func TestDoorLetsPass(t *testing.T) {
	d := &Door{Limit: 1}
	first, second := &conn{}, &conn{}
	d.Enter(first)
	if err := d.Pass(first); err != nil {
		t.Fatal(err)
	}
	d.Enter(second)
	if first.closed {
		t.Error("one of ours was turned out")
	}
	d.Leave(first, nil)
	d.Enter(&conn{})
	if err := d.Pass(second); err == nil || !second.closed {
		t.Errorf("one who was turned out got in: %v", err)
	}
	d.Leave(second, net.ErrClosed)
	if len(d.waiting) != 1 || len(d.turned) != 0 {
		t.Errorf("%d stand there, %d have not gone", len(d.waiting), len(d.turned))
	}
}

// The first refusal is told of at once, a thousand more in one line.
func TestDoorSaysLittle(t *testing.T) {
	var said []string
	d := &Door{Limit: 2, Say: func(format string, args ...any) { said = append(said, fmt.Sprintf(format, args...)) }}
	knock := func(n int, err error) {
		for range n {
			c := &conn{}
			d.Enter(c)
			d.Leave(c, err)
		}
	}
	knock(5, nil)
	if len(said) != 0 {
		t.Fatal(said)
	}
	knock(1000, ErrAuth)
	if len(said) != 1 || !strings.Contains(said[0], "10.0.0.9:7") || !strings.Contains(said[0], ErrAuth.Error()) {
		t.Fatal(said)
	}
	d.last = time.Now().Add(-2 * sayEvery)
	knock(1, errors.New("malformed"))
	if len(said) != 2 || !strings.Contains(said[1], "malformed (and 999 others") {
		t.Fatal(said)
	}
	knock(3, ErrAuth)
	d.Sum()
	d.Sum()
	if len(said) != 3 || !strings.Contains(said[2], "3 other") {
		t.Fatal(said)
	}
}
