package wire

import (
	"context"
	"crypto/rand"
	"errors"
	"fmt"
	"maps"
	"net"
	"net/netip"
	"slices"
	"sync"
	"time"

	"boost-tui/internal/handshake"

	"golang.org/x/sys/unix"
)

// Node is a rank's socket. Its methods may be called from several goroutines.
type Node struct {
	o      Options
	ip     netip.Addr
	ln     *net.TCPListener
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
	door   handshake.Door

	mu     sync.Mutex
	hubs   map[[16]byte]*hub
	groups map[[16]byte]*Group
}

// Listen makes a node.
func Listen(o Options) (*Node, error) {
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("wire: %w", err)
	}
	ip, err := Resolve(o.Address)
	if err != nil {
		return nil, fmt.Errorf("wire: %w", err)
	}
	ln, err := net.ListenTCP("tcp", net.TCPAddrFromAddrPort(netip.AddrPortFrom(ip, 0)))
	if err != nil {
		return nil, fmt.Errorf("wire: socket that other hosts' ranks reach: %w", err)
	}
	n := &Node{o: o, ip: ip, ln: ln, door: handshake.Door{Limit: strangers, Say: o.Say}, hubs: map[[16]byte]*hub{}, groups: map[[16]byte]*Group{}}
	n.ctx, n.cancel = context.WithCancel(context.Background())
	n.wg.Go(n.accept)
	return n, nil
}

// Addr is where the node listens.
func (n *Node) Addr() netip.AddrPort {
	return netip.AddrPortFrom(n.ip, n.ln.Addr().(*net.TCPAddr).AddrPort().Port())
}

// Close ends every group, connection and goroutine of the node.
func (n *Node) Close() error {
	n.mu.Lock()
	groups := slices.Collect(maps.Values(n.groups))
	n.mu.Unlock()
	for _, g := range groups {
		g.Close()
	}
	n.mu.Lock()
	hubs := slices.Collect(maps.Values(n.hubs))
	n.mu.Unlock()
	for _, h := range hubs {
		h.part()
	}
	n.cancel()
	err := n.ln.Close()
	n.wg.Wait()
	n.door.Sum()
	if errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// Invite makes a group whose hub this node is.
func (n *Node) Invite() (Invitation, error) {
	v := Invitation{Hub: n.Addr()}
	if _, err := rand.Read(v.nonce[:]); err != nil {
		return v, fmt.Errorf("wire: random numbers for a group: %w", err)
	}
	n.mu.Lock()
	defer n.mu.Unlock()
	n.hubs[v.nonce] = newHub(n, v.nonce)
	return v, n.ctx.Err()
}

func (n *Node) accept() {
	handshake.Each(n.ctx, n.ln, func(conn net.Conn) {
		if !n.door.Enter(conn) {
			conn.Close()
			return
		}
		n.wg.Go(func() { n.greet(conn.(*net.TCPConn)) }) // a TCP listener has no others
	})
}

// entry is who takes a connection over after its handshake, and what to do when that breaks off.
type entry struct {
	take func(in, out handshake.Seal)
	undo func()
}

// greet is the handshake of a connection, and what follows.
func (n *Node) greet(conn *net.TCPConn) {
	stop := context.AfterFunc(n.ctx, func() { conn.Close() })
	conn.SetDeadline(time.Now().Add(handshakeLimit))
	var e entry
	_, in, out, err := handshake.Accept(conn, spoken, []byte(n.o.Secret), func(h handshake.Hello) (err error) {
		if err = n.door.Pass(conn); err == nil {
			e, err = n.admit(h, conn)
		}
		return err
	})
	if n.ctx.Err() == nil {
		n.door.Leave(conn, err)
	}
	stop()
	if err != nil {
		conn.Close()
		if e.undo != nil {
			e.undo()
		}
		return
	}
	conn.SetDeadline(time.Time{})
	n.tune(conn)
	e.take(in, out)
}

// admit decides about a connection of somebody who knows the secret.
func (n *Node) admit(h handshake.Hello, conn *net.TCPConn) (entry, error) {
	s, err := parseSubject(h.Subject)
	if err != nil {
		return entry{}, err
	}
	if h.Version != n.o.Version {
		return entry{}, fmt.Errorf("rank %d runs binary %s, this one is %s: install one binary on every host", h.Rank, short(h.Version), short(n.o.Version))
	}
	n.mu.Lock()
	hub, group := n.hubs[s.nonce], n.groups[s.nonce]
	n.mu.Unlock()
	switch {
	case s.lane == controlLane && hub != nil:
		m, err := hub.enter(h.Rank, h.World, s.name)
		if err != nil {
			return entry{}, err
		}
		return entry{func(in, out handshake.Seal) { hub.serve(m, conn, in, out) }, func() { hub.lost(m, errors.New("it broke off the handshake")) }}, nil
	case s.lane != controlLane && group != nil:
		at := end{h.Rank, s.lane}
		if err := group.expect(at, conn); err != nil {
			return entry{}, err
		}
		return entry{func(_, _ handshake.Seal) { group.deliver(at, conn) }, func() {}}, nil
	}
	return entry{}, errors.New("no such group here: it has ended, or never was")
}

// dial connects to another node. A node that does not answer is tried again for a while.
func (n *Node) dial(ctx context.Context, to netip.AddrPort, h handshake.Hello) (*net.TCPConn, handshake.Seal, handshake.Seal, error) {
	d := net.Dialer{LocalAddr: net.TCPAddrFromAddrPort(netip.AddrPortFrom(n.ip, 0)), Timeout: handshakeLimit}
	var unlucky time.Time // when a handshake first broke off
	for giveUp := time.Now().Add(redialLimit); ; {
		conn, out, in, err := n.offer(ctx, d, to, h)
		if err == nil {
			return conn, out, in, nil
		}
		if ctx.Err() != nil {
			err = context.Cause(ctx)
		}
		final := errors.Is(err, handshake.ErrRefused) || errors.Is(err, handshake.ErrAuth)
		if errors.Is(err, handshake.ErrNoAnswer) { // turned out by chance where strangers crowd the door, or a stranger itself
			if unlucky.IsZero() {
				unlucky = time.Now()
			}
			final = time.Since(unlucky) > unluckyLimit
		}
		if ctx.Err() != nil || time.Now().After(giveUp) || final {
			return nil, out, in, fmt.Errorf("connect to %s from %s: %w", to, n.ip, err)
		}
		select {
		case <-time.After(redial):
		case <-ctx.Done():
		}
	}
}

func (n *Node) offer(ctx context.Context, d net.Dialer, to netip.AddrPort, h handshake.Hello) (conn *net.TCPConn, out, in handshake.Seal, err error) {
	c, err := d.DialContext(ctx, "tcp", to.String())
	if err != nil {
		return nil, out, in, err
	}
	conn = c.(*net.TCPConn)
	conn.SetDeadline(time.Now().Add(handshakeLimit))
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	out, in, err = handshake.Offer(conn, spoken, []byte(n.o.Secret), h)
	if !stop() {
		err = context.Cause(ctx)
	}
	if err != nil {
		conn.Close()
		return nil, out, in, err
	}
	conn.SetDeadline(time.Time{})
	n.tune(conn)
	return conn, out, in, nil
}

// tune lets the system notice a host that is cut off while data is under way or nothing is.
func (n *Node) tune(conn *net.TCPConn) {
	// Failures leave the system's defaults, which only notice later.
	_ = conn.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: n.o.Silence / 3, Interval: n.o.Silence / 6, Count: 3})
	raw, err := conn.SyscallConn()
	if err == nil {
		_ = raw.Control(func(fd uintptr) {
			_ = unix.SetsockoptInt(int(fd), unix.IPPROTO_TCP, unix.TCP_USER_TIMEOUT, int(n.o.Silence.Milliseconds()))
		})
	}
}

func short(version string) string {
	if len(version) > 12 {
		return version[:12]
	}
	if version == "" {
		return "(unnamed)"
	}
	return version
}
