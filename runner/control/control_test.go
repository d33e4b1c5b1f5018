package control

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"testing"
	"time"

	"boost-tui/internal/handshake"
)

const secret = "a secret of more than sixteen bytes"

// testSilence is long enough for a machine that is busy with other things.
const testSilence = 2 * time.Second

func options(host, hosts int) Options {
	return Options{Secret: secret, Version: "v", Incarnation: "i", Host: host, Hosts: hosts, Silence: testSilence, Join: 5 * time.Second}
}

func serve(t *testing.T, o Options) (*Server, string) {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	s, err := Serve(ln, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(func() {
		if err := s.Close(); err != nil {
			t.Error(err)
		}
	})
	return s, ln.Addr().String()
}

func join(t *testing.T, addr string, o Options) *Client {
	t.Helper()
	ctx, cancel := context.WithTimeout(t.Context(), 5*time.Second)
	defer cancel()
	c, err := Dial(ctx, addr, o)
	if err != nil {
		t.Fatal(err)
	}
	t.Cleanup(c.Close)
	return c
}

// expect waits for an event.
func expect(t *testing.T, events <-chan Event, host int, what What) Event {
	t.Helper()
	select {
	case e := <-events:
		if e.Host != host || e.What != what {
			t.Fatalf("%+v, not %d of host %d", e, what, host)
		}
		return e
	case <-time.After(5 * time.Second):
		t.Fatalf("no event %d of host %d", what, host)
	}
	return Event{}
}

// relay stands between the two sides, and can be cut without either noticing, or broken.
type relay struct {
	ln    net.Listener
	to    string
	mu    sync.Mutex
	cut   bool
	conns []net.Conn
	wg    sync.WaitGroup
}

func between(t *testing.T, to string) *relay {
	t.Helper()
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	r := &relay{ln: ln, to: to}
	r.wg.Add(1)
	go func() {
		defer r.wg.Done()
		handshake.Each(context.Background(), ln, r.pass)
	}()
	t.Cleanup(func() {
		ln.Close()
		r.broken()
		r.wg.Wait()
	})
	return r
}

func (r *relay) pass(near net.Conn) {
	far, err := net.Dial("tcp", r.to)
	if err != nil {
		near.Close()
		return
	}
	r.mu.Lock()
	r.conns = append(r.conns, near, far)
	r.mu.Unlock()
	for _, way := range [][2]net.Conn{{near, far}, {far, near}} {
		r.wg.Add(1)
		go func() {
			defer r.wg.Done()
			defer way[1].Close()
			buf := make([]byte, 4096)
			for {
				n, err := way[0].Read(buf)
				if err != nil {
					return
				}
				if r.lets() {
					if _, err := way[1].Write(buf[:n]); err != nil {
						return
					}
				}
			}
		}()
	}
}

func (r *relay) lets() bool {
	r.mu.Lock()
	defer r.mu.Unlock()
	return !r.cut
}

func (r *relay) broken() {
	r.mu.Lock()
	defer r.mu.Unlock()
	for _, c := range r.conns {
		c.Close()
	}
	r.conns = nil
}

func TestTheySpeak(t *testing.T) {
	s, addr := serve(t, options(0, 3))
	s.Tell(Message{FirstKind, []byte("early")})
	one := join(t, addr, options(1, 3))
	expect(t, s.Events(), 1, Joined)
	expect(t, one.Events(), 0, Joined)
	if e := expect(t, one.Events(), 0, Said); string(e.Message.Body) != "early" {
		t.Errorf("%+v", e)
	}
	two := join(t, addr, options(2, 3))
	expect(t, s.Events(), 2, Joined)
	big := bytes.Repeat([]byte{7}, MaxBody)
	one.Send(Message{FirstKind + 1, big})
	if e := expect(t, s.Events(), 1, Said); !bytes.Equal(e.Message.Body, big) || e.Message.Kind != FirstKind+1 {
		t.Errorf("%d bytes of kind %d", len(e.Message.Body), e.Message.Kind)
	}
	time.Sleep(testSilence + testSilence/4) // beats alone keep it up
	s.Tell(Message{FirstKind, nil})
	expect(t, one.Events(), 0, Said)
	if o := s.Offset(1); !o.Known || o.Offset.Abs() > 5*time.Millisecond || o.Error > 100*time.Millisecond {
		t.Errorf("offset %+v", o)
	}
	one.Close()
	expect(t, s.Events(), 1, Left)
	time.Sleep(testSilence + testSilence/4) // who has left is not lost
	expect(t, two.Events(), 0, Joined)
	expect(t, two.Events(), 0, Said)
	expect(t, two.Events(), 0, Said)
	if err := s.Close(); err != nil {
		t.Error(err)
	}
	expect(t, two.Events(), 0, Left)
	select {
	case e := <-s.Events():
		t.Errorf("%+v", e)
	default:
	}
}

// A clock that is five minutes off is found out to a few milliseconds.
func TestClocks(t *testing.T) {
	s, addr := serve(t, options(0, 2))
	o := options(1, 2)
	o.Now = func() time.Time { return time.Now().Add(-5 * time.Minute) }
	join(t, addr, o)
	var at Offset
	for limit := time.Now().Add(time.Minute); !at.Known || (at.Offset+5*time.Minute).Abs() > 20*time.Millisecond; at = s.Offset(1) {
		if time.Now().After(limit) {
			t.Fatalf("%+v seen by the leader", at)
		}
		time.Sleep(time.Millisecond)
	}
	if at.Error > time.Minute || at.Error < (at.Offset+5*time.Minute).Abs() {
		t.Errorf("%+v: farther off than it says", at)
	}
}

// A connection that breaks is made again, and nothing that was sent for good is lost.
func TestBrokenConnection(t *testing.T) {
	s, addr := serve(t, options(0, 2))
	r := between(t, addr)
	c := join(t, r.ln.Addr().String(), options(1, 2))
	expect(t, s.Events(), 1, Joined)
	c.Send(Message{FirstKind, []byte("one")})
	expect(t, s.Events(), 1, Said)
	r.broken()
	c.Send(Message{FirstKind, []byte("two")})
	expect(t, s.Events(), 1, Joined)
	for _, want := range []string{"one", "two"} {
		if e := expect(t, s.Events(), 1, Said); string(e.Message.Body) != want {
			t.Errorf("%q, not %q", e.Message.Body, want)
		}
	}
}

// A cable that is cut loses the host on both sides, in the time that was said.
func TestCut(t *testing.T) {
	s, addr := serve(t, options(0, 2))
	r := between(t, addr)
	c := join(t, r.ln.Addr().String(), options(1, 2))
	expect(t, s.Events(), 1, Joined)
	expect(t, c.Events(), 0, Joined)
	r.mu.Lock()
	r.cut = true
	r.mu.Unlock()
	start := time.Now()
	eventually(t, func() bool { return len(s.Silent(testSilence/2)) == 1 })
	if e := expect(t, s.Events(), 1, Lost); !strings.Contains(e.Why, "nothing was heard") {
		t.Errorf("%+v", e)
	}
	expect(t, c.Events(), 0, Lost)
	if took := time.Since(start); took < testSilence/2 {
		t.Errorf("noticed after %v", took)
	}
	o := options(1, 2)
	ctx, cancel := context.WithTimeout(t.Context(), time.Second)
	defer cancel()
	if _, err := Dial(ctx, addr, o); !errors.Is(err, handshake.ErrRefused) {
		t.Errorf("a host that was lost comes back: %v", err)
	}
}

func eventually(t *testing.T, ok func() bool) {
	t.Helper()
	for end := time.Now().Add(5 * time.Second); !ok(); time.Sleep(5 * time.Millisecond) {
		if time.Now().After(end) {
			t.Fatal("waited in vain")
		}
	}
}

func TestNeverCame(t *testing.T) {
	o := options(0, 3)
	o.Join = 200 * time.Millisecond
	s, addr := serve(t, o)
	join(t, addr, options(1, 3))
	expect(t, s.Events(), 1, Joined)
	if e := expect(t, s.Events(), 2, Lost); !strings.Contains(e.Why, "has not come") {
		t.Errorf("%+v", e)
	}
}

// Who does not belong here is refused, and who does is told why.
func TestRefused(t *testing.T) {
	s, addr := serve(t, options(0, 3))
	for name, edit := range map[string]func(*Options){
		"one and the same binary": func(o *Options) { o.Version = "w" },
		"another start":           func(o *Options) { o.Incarnation = "j" },
		"there are 3":             func(o *Options) { o.Hosts = 4 },
		"authentication failed":   func(o *Options) { o.Secret = strings.Repeat("x", 30) },
	} {
		o := options(1, 3)
		edit(&o)
		ctx, cancel := context.WithTimeout(t.Context(), 300*time.Millisecond)
		_, err := Dial(ctx, addr, o)
		cancel()
		if err == nil || !strings.Contains(err.Error(), name) {
			t.Errorf("%s: %v", name, err)
		}
	}
	for _, o := range []Options{{}, {Secret: secret}, {Secret: secret, Hosts: 2}, {Secret: secret, Hosts: 2, Host: 2, Silence: 1}} {
		if _, err := Dial(t.Context(), addr, o); err == nil {
			t.Errorf("%+v", o)
		}
		if _, err := Serve(nil, o); err == nil {
			t.Errorf("%+v", o)
		}
	}
	select {
	case e := <-s.Events():
		t.Errorf("%+v", e)
	default:
	}
}

// Strangers' bytes, and frames of a host that are too large or make no sense, end their connection and nothing else.
func TestStrangers(t *testing.T) {
	s, addr := serve(t, options(0, 2))
	c := join(t, addr, options(1, 2))
	expect(t, s.Events(), 1, Joined)
	for _, b := range [][]byte{nil, []byte("GET / HTTP/1.1\r\n\r\n"), bytes.Repeat([]byte{0xff}, 1<<16), {0, 0, 0, 4, 1, 2, 3, 4}} {
		conn, err := net.Dial("tcp", addr)
		if err != nil {
			t.Fatal(err)
		}
		if _, err := conn.Write(b); err != nil {
			t.Log(err)
		}
		_ = conn.SetReadDeadline(time.Now().Add(time.Second))
		_, _ = io.Copy(io.Discard, conn)
		conn.Close()
	}
	c.Send(Message{FirstKind, []byte("still here")})
	if e := expect(t, s.Events(), 1, Said); string(e.Message.Body) != "still here" {
		t.Errorf("%+v", e)
	}
}

// What was recorded of a host's connection opens no other one.
func TestReplay(t *testing.T) {
	s, addr := serve(t, options(0, 2))
	r := between(t, addr)
	var said bytes.Buffer
	tap, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		t.Fatal(err)
	}
	defer tap.Close()
	done := make(chan struct{})
	go func() {
		defer close(done)
		near, err := tap.Accept()
		if err != nil {
			return
		}
		far, err := net.Dial("tcp", r.ln.Addr().String())
		if err != nil {
			return
		}
		go func() {
			_, _ = io.Copy(near, far)
			near.Close()
		}()
		_, _ = io.Copy(far, io.TeeReader(near, &said))
		far.Close()
	}()
	c := join(t, tap.Addr().String(), options(1, 2))
	expect(t, s.Events(), 1, Joined)
	c.Send(Message{FirstKind, []byte("end the run")})
	expect(t, s.Events(), 1, Said)
	c.Close()
	expect(t, s.Events(), 1, Left)
	<-done
	conn, err := net.Dial("tcp", addr)
	if err != nil {
		t.Fatal(err)
	}
	defer conn.Close()
	if _, err := conn.Write(said.Bytes()); err != nil {
		t.Fatal(err)
	}
	select {
	case e := <-s.Events():
		t.Errorf("%+v", e)
	case <-time.After(200 * time.Millisecond):
	}
}

func FuzzBeat(f *testing.F) {
	f.Add(beat{1, 2, 3}.bytes())
	f.Fuzz(func(t *testing.T, data []byte) {
		b, err := parseBeat(data)
		if err != nil {
			return
		}
		if !bytes.Equal(b.bytes(), data) {
			t.Errorf("%+v of %x", b, data)
		}
		c := clock{now: time.Now}
		c.heard(b)
		if o := c.offset(); o.Known && o.Error > time.Minute {
			t.Errorf("%+v", o)
		}
	})
}

func ExampleServe() {
	ln, err := net.Listen("tcp", "127.0.0.1:0")
	if err != nil {
		fmt.Println(err)
		return
	}
	o := Options{Secret: secret, Hosts: 2, Silence: time.Second, Join: time.Second}
	leader, err := Serve(ln, o)
	if err != nil {
		fmt.Println(err)
		return
	}
	o.Host = 1
	other, err := Dial(context.Background(), ln.Addr().String(), o)
	if err != nil {
		fmt.Println(err)
		return
	}
	other.Send(Message{Kind: FirstKind, Body: []byte("my ranks have ended")})
	for e := range leader.Events() {
		if e.What == Said {
			fmt.Printf("host %d: %s\n", e.Host, e.Message.Body)
			break
		}
	}
	other.Close()
	if err := leader.Close(); err != nil {
		fmt.Println(err)
	}
	// Output: host 1: my ranks have ended
}
