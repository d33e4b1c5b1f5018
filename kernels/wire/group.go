package wire

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"

	"boost-tui/internal/handshake"
)

// Group is a member's end of a group. Err, Fail and Close may be called from any goroutine; lanes are made and Exchange
// is called by one at a time.
type Group struct {
	node       *Node
	nonce      [16]byte
	name       string
	rank, size int
	c          *controls
	at         []netip.AddrPort // where members listen, by rank
	results    chan [][]byte
	failed     chan struct{} // closed once failure is set
	ended      chan struct{} // closed when Close begins
	parted     chan struct{} // closed when this side stops to say that it is alive
	wg         sync.WaitGroup
	words      sync.WaitGroup // failures that are being told to the hub

	mu      sync.Mutex
	failure *Failure
	closed  bool
	hubLeft bool
	left    map[int]bool
	lanes   map[end]*slot
	conns   []*net.TCPConn // of lanes
	outs    []*Out
}

// end is a lane's sender and number, as its receiver sees it.
type end struct {
	from int
	lane uint16
}

// slot is where a lane that a peer makes is handed over.
type slot struct {
	taken bool
	conn  chan *net.TCPConn
}

// Join makes this node a member of a group of size. It blocks until all have joined, the context ends, or one fails.
func (n *Node) Join(ctx context.Context, v Invitation, size, rank int, name string) (*Group, error) {
	g := &Group{node: n, nonce: v.nonce, name: name, rank: rank, size: size, results: make(chan [][]byte, 1), failed: make(chan struct{}),
		ended: make(chan struct{}), parted: make(chan struct{}), left: map[int]bool{}, lanes: map[end]*slot{}}
	n.mu.Lock()
	if n.groups[v.nonce] != nil || n.ctx.Err() != nil {
		n.mu.Unlock()
		return nil, fmt.Errorf("join %s: this node has joined already, or is closed", name)
	}
	n.groups[v.nonce] = g // before anybody can know of this member
	n.mu.Unlock()
	s := subject{v.nonce, controlLane, name}
	conn, out, in, err := n.dial(ctx, v.Hub, handshake.Hello{Rank: rank, World: size, Version: n.o.Version, Subject: s.bytes()})
	if err != nil {
		g.forget()
		return nil, fmt.Errorf("join %s as rank %d of %d: %w", name, rank, size, err)
	}
	g.c = &controls{conn: conn, in: in, out: out, silence: n.o.Silence}
	g.wg.Go(g.watch)
	g.wg.Go(func() { g.c.beat(g.parted) })
	own, err := n.Addr().MarshalBinary()
	if err != nil {
		return nil, errors.Join(err, g.Close())
	}
	all, err := g.Exchange(ctx, own)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("join %s as rank %d of %d: %w", name, rank, size, err), g.Close())
	}
	g.at = make([]netip.AddrPort, size)
	for r, b := range all {
		if err := g.at[r].UnmarshalBinary(b); err != nil {
			return nil, errors.Join(fmt.Errorf("join %s: address of rank %d: %w", name, r, err), g.Close())
		}
	}
	return g, nil
}

func (g *Group) forget() {
	g.node.mu.Lock()
	defer g.node.mu.Unlock()
	delete(g.node.groups, g.nonce)
}

// Rank and Size are this member's place and the number of members; Name is the group's.
func (g *Group) Rank() int { return g.rank }

// Size is the number of members.
func (g *Group) Size() int { return g.size }

// Name is the group's.
func (g *Group) Name() string { return g.name }

// Exchange gives every member what all of them say, by rank. It blocks until all have spoken.
func (g *Group) Exchange(ctx context.Context, say []byte) ([][]byte, error) {
	if len(say) > MaxBlob {
		return nil, fmt.Errorf("%d bytes in an exchange, at most %d", len(say), MaxBlob)
	}
	if err := g.c.say(sayBlob, say); err != nil {
		return nil, g.verdict(fmt.Errorf("speak to the hub of %s: %w", g.name, err))
	}
	select {
	case all := <-g.results:
		return all, nil
	case <-g.failed:
		return nil, g.Err()
	case <-g.ended:
		return nil, g.wasClosed()
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for the %d ranks of %s: %w", g.size, g.name, context.Cause(ctx))
	}
}

// watch hears the hub out.
func (g *Group) watch() {
	for {
		kind, body, err := g.c.hear()
		if err == nil {
			err = g.heard(kind, body)
		}
		g.mu.Lock()
		over := g.closed || g.hubLeft
		g.mu.Unlock()
		switch {
		case err == nil:
		case over:
			return
		case errors.Is(err, os.ErrDeadlineExceeded):
			g.fail(&Failure{Text: fmt.Sprintf("%s has been silent for %v: it is stopped, or its host is cut off", g.hubName(), g.node.o.Silence)})
			return
		default:
			g.fail(&Failure{Text: fmt.Sprintf("%s has died, or the connection to it broke: %v", g.hubName(), err)})
			return
		}
	}
}

func (g *Group) heard(kind byte, body []byte) error {
	switch kind {
	case sayBlob:
		all, err := unpack(body, g.size)
		if err != nil {
			return err
		}
		select {
		case g.results <- all:
		default:
			return errors.New("an exchange that nobody asked for")
		}
	case sayFail:
		g.fail(parseFailure(body))
	case sayBye:
		g.mu.Lock()
		g.hubLeft = true
		g.mu.Unlock()
	case sayLeft:
		if len(body) == 2 {
			g.mu.Lock()
			g.left[int(binary.BigEndian.Uint16(body))] = true
			g.mu.Unlock()
		}
	default:
		return fmt.Errorf("control message %d of %d bytes", kind, len(body))
	}
	return nil
}

// hubName is the member whose node is the hub.
func (g *Group) hubName() string {
	for r, a := range g.at {
		if a.String() == g.c.conn.RemoteAddr().String() {
			return fmt.Sprintf("rank %d of %s", r, g.name)
		}
	}
	return "the rank that made " + g.name
}

// fail settles why the group failed, on this side, and wakes whoever waits on a lane.
func (g *Group) fail(f *Failure) bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.failure != nil || g.closed {
		return false
	}
	g.failure = f
	close(g.failed)
	for _, c := range g.conns {
		c.SetDeadline(time.Unix(1, 0))
	}
	for _, o := range g.outs {
		o.wake()
	}
	return true
}

// Fail makes the group fail on every member. The first reason stays.
func (g *Group) Fail(err error) {
	f := failureOf(err)
	if !g.fail(f) {
		return
	}
	g.words.Go(func() { _ = g.c.say(sayFail, f.bytes()) }) // a hub that cannot be told is gone, which all will see
}

// Err is why the group failed; nil while it is sound.
func (g *Group) Err() error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.failure == nil {
		return nil
	}
	return g.failure
}

func (g *Group) wasClosed() error { return fmt.Errorf("%s was closed: %w", g.name, net.ErrClosed) }

// Failed is closed when the group fails.
func (g *Group) Failed() <-chan struct{} { return g.failed }

// verdict is why something went wrong: what the hub says, which may take a moment, else the error itself, which then
// is the reason for all.
func (g *Group) verdict(err error) error {
	select {
	case <-g.failed:
	case <-time.After(verdictLimit):
		g.Fail(err)
	}
	if f := g.Err(); f != nil {
		return f
	}
	return err // closed on this side
}

// verdictLimit is how long the hub has to say why a connection broke.
const verdictLimit = 250 * time.Millisecond

// Close leaves the group in order.
func (g *Group) Close() error {
	g.mu.Lock()
	if g.closed {
		g.mu.Unlock()
		return nil
	}
	g.closed = true
	close(g.ended)
	conns, outs := g.conns, g.outs
	g.mu.Unlock()
	for _, o := range outs {
		o.end()
	}
	for _, c := range conns {
		c.Close()
	}
	if g.c != nil {
		g.words.Wait()
		close(g.parted)
		_ = g.c.say(sayBye, nil) // the hub may be gone; then there is nobody to say goodbye to
		_ = g.c.conn.CloseWrite()
		// The hub closes its side when it has heard that: what is read until then must not be left over.
		timer := time.AfterFunc(partLimit, func() { g.c.conn.Close() })
		g.wg.Wait()
		timer.Stop()
		g.c.conn.Close()
	}
	g.forget()
	return nil
}
