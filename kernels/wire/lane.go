package wire

import (
	"context"
	"fmt"
	"io"
	"net"
	"sync"
	"time"

	"boost-tui/internal/handshake"
)

// Out is the sending end of a lane. It is used by one goroutine.
type Out struct {
	g    *Group
	to   int
	conn *net.TCPConn
	wg   sync.WaitGroup

	mu    sync.Mutex
	cond  *sync.Cond
	queue [][]byte
	put   int // how often Put was called
	sent  int // and how many of those are through
	busy  bool
	ended bool
	err   error
}

// In is the receiving end of a lane. It is used by one goroutine.
type In struct {
	g    *Group
	from int
	conn *net.TCPConn
}

// To makes a lane to another member. Lanes to one member are told apart by their numbers, below 0xffff.
func (g *Group) To(ctx context.Context, rank int, lane uint16) (*Out, error) {
	s := subject{g.nonce, lane, g.name}
	conn, _, _, err := g.node.dial(ctx, g.at[rank], handshake.Hello{Rank: g.rank, World: g.size, Version: g.node.o.Version, Subject: s.bytes()})
	if err != nil {
		return nil, g.verdict(fmt.Errorf("rank %d of %s cannot be reached: %w", rank, g.name, err))
	}
	o := &Out{g: g, to: rank, conn: conn}
	o.cond = sync.NewCond(&o.mu)
	if err := g.own(conn, o); err != nil {
		return nil, err
	}
	o.wg.Go(o.pump)
	return o, nil
}

// From waits for a lane that another member makes.
func (g *Group) From(ctx context.Context, rank int, lane uint16) (*In, error) {
	g.mu.Lock()
	s := g.slot(end{rank, lane})
	g.mu.Unlock()
	select {
	case conn := <-s.conn:
		return &In{g: g, from: rank, conn: conn}, g.own(conn, nil)
	case <-g.failed:
		return nil, g.Err()
	case <-g.ended:
		return nil, g.wasClosed()
	case <-ctx.Done():
		return nil, fmt.Errorf("wait for the connection of rank %d of %s: %w", rank, g.name, context.Cause(ctx))
	}
}

// slot is called with mu held.
func (g *Group) slot(at end) *slot {
	s := g.lanes[at]
	if s == nil {
		s = &slot{conn: make(chan *net.TCPConn, 1)}
		g.lanes[at] = s
	}
	return s
}

// expect says whether a lane that a peer makes is welcome.
func (g *Group) expect(at end, _ *net.TCPConn) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if at.from < 0 || at.from >= g.size || at.from == g.rank {
		return fmt.Errorf("rank %d of %d in %s", at.from, g.size, g.name)
	}
	s := g.slot(at)
	if s.taken {
		return fmt.Errorf("lane %d of rank %d in %s is there already", at.lane, at.from, g.name)
	}
	s.taken = true
	return nil
}

// deliver hands over a lane that a peer made.
func (g *Group) deliver(at end, conn *net.TCPConn) {
	g.mu.Lock()
	s := g.slot(at)
	g.mu.Unlock()
	s.conn <- conn // has room for one, and there is only one
	if g.over() {
		conn.Close()
	}
}

func (g *Group) over() bool {
	g.mu.Lock()
	defer g.mu.Unlock()
	return g.closed
}

// own takes care that a failure or Close ends what waits on a lane.
func (g *Group) own(conn *net.TCPConn, o *Out) error {
	g.mu.Lock()
	defer g.mu.Unlock()
	if g.closed || g.failure != nil {
		conn.Close()
		if g.failure != nil {
			return g.failure
		}
		return g.wasClosed()
	}
	g.conns = append(g.conns, conn)
	if o != nil {
		g.outs = append(g.outs, o)
	}
	return nil
}

// broke is the error of a lane to or from a rank.
func (g *Group) broke(rank int, err error) error {
	deadline := time.Now().Add(verdictLimit)
	for time.Now().Before(deadline) && g.Err() == nil {
		g.mu.Lock()
		left, closed := g.left[rank], g.closed
		g.mu.Unlock()
		switch {
		case closed:
			return g.wasClosed()
		case left:
			err = fmt.Errorf("rank %d of %s has left", rank, g.name)
			g.Fail(err)
			return g.Err()
		}
		time.Sleep(time.Millisecond)
	}
	return g.verdict(fmt.Errorf("the connection with rank %d of %s broke: %w", rank, g.name, err))
}

// Read fills b with what comes next.
func (i *In) Read(b []byte) error {
	if _, err := io.ReadFull(i.conn, b); err != nil {
		return i.g.broke(i.from, err)
	}
	return nil
}

// Write sends now what Put left and then all of these, and returns when the memory may be written again.
func (o *Out) Write(list ...[]byte) error {
	if err := o.Flush(); err != nil {
		return err
	}
	b := net.Buffers(list)
	if _, err := b.WriteTo(o.conn); err != nil {
		return o.g.broke(o.to, err)
	}
	return nil
}

// Put sends b in its turn, while the caller goes on. Its memory stays as it is until Flush, or until something comes
// that only its receipt can have caused.
func (o *Out) Put(b []byte) {
	o.mu.Lock()
	defer o.mu.Unlock()
	o.queue = append(o.queue, b)
	o.put++
	o.cond.Broadcast()
}

// count is how often Put was called.
func (o *Out) count() int {
	o.mu.Lock()
	defer o.mu.Unlock()
	return o.put
}

// await waits until the first n of what Put left are sent. What only their receipt can have caused has come already when
// it is called: it waits for this side to know.
func (o *Out) await(n int) {
	o.mu.Lock()
	defer o.mu.Unlock()
	for o.sent < n && o.err == nil && !o.ended {
		o.cond.Wait()
	}
}

// Flush waits until all that Put left was sent.
func (o *Out) Flush() error {
	o.mu.Lock()
	for o.err == nil && !o.ended && (len(o.queue) > 0 || o.busy) {
		o.cond.Wait()
	}
	err := o.err
	o.mu.Unlock()
	if err != nil {
		return o.g.broke(o.to, err)
	}
	return nil
}

// pump sends what Put leaves.
func (o *Out) pump() {
	o.mu.Lock()
	defer o.mu.Unlock()
	for {
		for len(o.queue) == 0 && !o.ended && o.err == nil {
			o.cond.Wait()
		}
		if o.ended || o.err != nil {
			return
		}
		b := o.queue[0]
		o.queue = o.queue[1:]
		o.busy = true
		o.mu.Unlock()
		_, err := o.conn.Write(b)
		o.mu.Lock()
		o.busy, o.err = false, err
		o.sent++
		o.cond.Broadcast()
	}
}

// wake lets whoever waits see that the group has failed.
func (o *Out) wake() {
	o.mu.Lock()
	defer o.mu.Unlock()
	if o.err == nil {
		o.err = net.ErrClosed
	}
	o.cond.Broadcast()
}

// end stops the pump. The connection is closed, so that it does not stay in a write.
func (o *Out) end() {
	o.mu.Lock()
	o.ended = true
	o.cond.Broadcast()
	o.mu.Unlock()
	o.conn.Close()
	o.wg.Wait()
}
