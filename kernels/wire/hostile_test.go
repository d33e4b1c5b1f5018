package wire

import (
	"crypto/rand"
	"errors"
	"fmt"
	"io"
	"net"
	"strings"
	"sync"
	"sync/atomic"
	"testing"
	"time"

	"boost-tui/internal/handshake"
	"boost-tui/kernels"
)

// Strangers at the sockets of a group that is at work disturb nothing, keep no member out, and leave few words in the log;
// members that know the secret but say what makes no sense are refused with a reason.
func TestStrangersHaveNoEffect(t *testing.T) {
	var said atomic.Int64
	say := func(o *Options) {
		o.Say = func(format string, args ...any) {
			said.Add(1)
			if text := fmt.Sprintf(format, args...); strings.Contains(text, secret) {
				t.Errorf("said %q", text)
			}
		}
	}
	nodes := []*Node{node(t, 0, say), node(t, 1, say)}
	v, err := nodes[0].Invite()
	if err != nil {
		t.Fatal(err)
	}
	hello := func(world, rank int, version string, s subject) handshake.Hello {
		return handshake.Hello{World: world, Rank: rank, Version: version, Subject: s.bytes()}
	}
	own := subject{v.nonce, controlLane, "dp"}
	offer := func(secret string, h handshake.Hello) func(net.Conn) error {
		return func(c net.Conn) error {
			_, _, err := handshake.Offer(c, spoken, []byte(secret), h)
			return err
		}
	}
	noise := make([]byte, 4096)
	if _, err := rand.Read(noise); err != nil {
		t.Fatal(err)
	}
	write := func(b []byte) func(net.Conn) error {
		return func(c net.Conn) error {
			_, _ = c.Write(b)
			_, err := io.Copy(io.Discard, c)
			return errors.Join(err, io.EOF)
		}
	}
	kinds := map[string]func(net.Conn) error{
		"says nothing": write(nil), "oversize": write([]byte{0x7f, 0xff, 0xff, 0xff}), "noise": write(noise), "web": write([]byte("GET / HTTP/1.1\r\n\r\n")),
		"reflects": func(c net.Conn) error {
			b, err := handshake.ReadFrame(c, handshake.MaxFrame)
			if err == nil {
				_ = handshake.WriteFrame(c, b)
				_, err = handshake.ReadFrame(c, handshake.MaxFrame)
			}
			return err
		},
		"guesses":            offer(strings.Repeat("y", 32), hello(2, 0, "v1", own)),
		"another version":    offer(secret, hello(2, 0, "v0", own)),
		"another size":       offer(secret, hello(7, 0, "v1", own)),
		"no such rank":       offer(secret, hello(2, -5, "v1", own)),
		"a member twice":     offer(secret, hello(2, 0, "v1", own)),
		"another group":      offer(secret, hello(2, 0, "v1", subject{[16]byte{1}, controlLane, "dp"})),
		"a lane from nobody": offer(secret, hello(2, 77, "v1", subject{v.nonce, 3, "dp"})),
		"short subject":      offer(secret, handshake.Hello{World: 2, Version: "v1", Subject: []byte("x")}),
	}
	var wg sync.WaitGroup
	over := make(chan struct{})
	errs := make([]error, 2)
	ready := make(chan struct{}, 2)
	for r := range 2 {
		wg.Go(func() {
			errs[r] = func() error {
				g, err := nodes[r].Join(within(t, 10*time.Second), v, 2, r, "dp")
				if err != nil {
					return err
				}
				defer g.Close()
				ready <- struct{}{}
				ring, err := ringOf(t, g)
				if err != nil {
					return err
				}
				for stop := float32(0); stop < 2; { // both agree when it is over
					x := make([]float32, 1000)
					select {
					case <-over:
						x[0] = 1
					default:
					}
					if err := ring.AllReduce(x, kernels.Sum); err != nil {
						return err
					}
					stop = x[0]
				}
				return nil
			}()
		})
	}
	<-ready
	<-ready
	var others sync.WaitGroup
	for name, do := range kinds {
		for i := range 16 {
			others.Go(func() {
				c, err := net.Dial("tcp", nodes[i%2].Addr().String())
				if err != nil {
					return
				}
				defer c.Close()
				_ = c.SetDeadline(time.Now().Add(handshakeLimit + time.Second))
				if do(c) == nil {
					t.Errorf("%s: was taken in", name)
				}
			})
		}
	}
	// In the crowd, another group of the same nodes comes together.
	w, err := nodes[1].Invite()
	if err != nil {
		t.Fatal(err)
	}
	for r := range 2 {
		others.Go(func() {
			g, err := nodes[r].Join(within(t, 20*time.Second), w, 2, r, "tp")
			if err != nil {
				t.Error(err)
				return
			}
			_, err = g.Exchange(within(t, 20*time.Second), []byte("x"))
			if err = errors.Join(err, g.Close()); err != nil {
				t.Error(err)
			}
		})
	}
	others.Wait()
	close(over)
	wg.Wait()
	if err := errors.Join(errs...); err != nil {
		t.Error(err)
	}
	if n := said.Load(); n < 1 || n > 4 {
		t.Errorf("%d lines about them", n)
	}
}

// A node listens at one address and never at all of them.
func TestListensAtOneAddress(t *testing.T) {
	for _, address := range []string{"0.0.0.0", "::", "::ffff:0.0.0.0", "224.0.0.1", "ff02::1", "", "no-such-interface", "$(id)", "lo; id", strings.Repeat("x", 1<<16)} {
		if n, err := Listen(Options{Secret: secret, Address: address}); err == nil {
			t.Errorf("listens at %.40q: %s", address, n.Addr())
			n.Close()
		}
	}
	for _, address := range []string{"127.0.0.3", "127.0.0.1"} {
		n, err := Listen(Options{Secret: secret, Address: address})
		if err != nil {
			t.Fatal(err)
		}
		if got := n.ln.Addr().(*net.TCPAddr).IP.String(); got != address || n.Addr().Addr().String() != address {
			t.Errorf("listens at %s, not %s", got, address)
		}
		n.Close()
	}
}

func FuzzInvitation(f *testing.F) {
	f.Add(Invitation{}.Bytes())
	f.Add([]byte(invitationMagic))
	f.Fuzz(func(t *testing.T, b []byte) {
		if v, ok := ParseInvitation(b); ok {
			if w, again := ParseInvitation(v.Bytes()); !again || w != v {
				t.Errorf("%x: %+v, then %+v", b, v, w)
			}
		}
	})
}
