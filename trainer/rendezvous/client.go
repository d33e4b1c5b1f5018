package rendezvous

import (
	"context"
	"crypto/rand"
	"crypto/sha256"
	"encoding/hex"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net"
	"net/netip"
	"os"
	"sync"
	"time"

	"boost-tui/internal/handshake"
	"boost-tui/kernels/wire"
)

// Client is a rank's connection. Its methods may be called from several goroutines at once.
type Client struct {
	o    Options
	conn net.Conn
	done chan struct{}

	writing sync.Mutex
	out     seal

	mu      sync.Mutex
	nextID  uint32
	pending map[uint32]chan message
	err     error // why the connection ended
	closing bool
}

// ErrClosed says that this side closed the connection.
var ErrClosed = errors.New("rendezvous: closed")

// ErrAuth and ErrRefused are what goes wrong with a server that does not know the run's secret, or that knows it but
// will not have this client: another binary, another world, or a rank that is there already. The text says which.
var (
	ErrAuth    = handshake.ErrAuth
	ErrRefused = handshake.ErrRefused
)

// ErrLost says that the connection to the server could not be made or broke: rank 0, which holds it, has left or
// died, or its host is cut off. Whoever sees it is not the first to fail.
var ErrLost = errors.New("the rendezvous is lost")

// lostError marks an error as ErrLost without changing its text.
type lostError struct{ error }

func (e lostError) Unwrap() []error { return []error{ErrLost, e.error} }

// A server that is not there yet is tried again after redial. Rank 0's socket listens before any rank
// is started on its host, so after redialLimit it is not late but gone.
const (
	redial      = 50 * time.Millisecond
	redialLimit = 5 * time.Second
	// unluckyLimit is for how long a server that breaks off the handshake is tried again: where strangers crowd its door it
	// turns some out by chance.
	unluckyLimit = 1500 * time.Millisecond
)

// Dial connects and authenticates. A server that does not listen yet is tried again until the
// context ends, at most 5 s; one that refuses is not.
func Dial(ctx context.Context, addr string, o Options) (*Client, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	if o.Rank < 0 || o.Rank >= o.World {
		return nil, fmt.Errorf("rendezvous: rank %d of a world of %d", o.Rank, o.World)
	}
	var d net.Dialer
	if o.From != "" {
		ip, err := wire.Resolve(o.From)
		if err != nil {
			return nil, fmt.Errorf("rendezvous: the address to dial from: %w", err)
		}
		d.LocalAddr = net.TCPAddrFromAddrPort(netip.AddrPortFrom(ip, 0))
	}
	var who [8]byte
	if _, err := rand.Read(who[:]); err != nil {
		return nil, fmt.Errorf("rendezvous: %w", err)
	}
	giveUp := time.Now().Add(redialLimit)
	var unlucky time.Time // when a handshake first broke off
	for {
		conn, err := d.DialContext(ctx, "tcp", addr)
		if err == nil {
			var c *Client
			c, err = newClient(ctx, conn, o, hex.EncodeToString(who[:]))
			if err == nil || !errors.Is(err, handshake.ErrNoAnswer) || ctx.Err() != nil {
				return c, err
			}
			if unlucky.IsZero() {
				unlucky = time.Now()
			}
			if time.Since(unlucky) > unluckyLimit {
				return nil, err
			}
		} else if ctx.Err() != nil || time.Now().After(giveUp) {
			return nil, lostError{fmt.Errorf("rendezvous at %s: %w (is rank 0's host reachable from here?)", addr, err)}
		}
		select {
		case <-time.After(redial):
		case <-ctx.Done():
		}
	}
}

// newClient introduces a client on a connection. who tells it from others, so that it is let in again where its first connection
// broke before it had an answer.
func newClient(ctx context.Context, conn net.Conn, o Options, who string) (*Client, error) {
	// The socket accepts before rank 0's process is up, so the greeting may be long in coming.
	limit, ok := ctx.Deadline()
	if !ok {
		limit = time.Now().Add(longestWait)
	}
	conn.SetDeadline(limit)
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	out, in, err := handshake.Offer(conn, spoken, []byte(o.Secret), handshake.Hello{Rank: o.Rank, World: o.World, Version: o.Version, Subject: []byte(who)})
	if errors.Is(err, handshake.ErrNoAnswer) {
		err = lostError{err}
	}
	if !stop() {
		err = context.Cause(ctx) // whatever went wrong came of that
	}
	if err != nil {
		conn.Close()
		return nil, fmt.Errorf("rendezvous at %s: %w", conn.RemoteAddr(), err)
	}
	conn.SetDeadline(time.Time{})
	keepAlive(conn)
	c := &Client{o: o, conn: conn, done: make(chan struct{}), out: seal{out}, pending: map[uint32]chan message{}}
	go c.read(&seal{in})
	return c, nil
}

// read hands replies to those who wait for them, until the connection ends.
func (c *Client) read(in *seal) {
	defer close(c.done)
	for {
		m, err := in.read(c.conn)
		c.mu.Lock()
		if err != nil {
			switch {
			case c.closing:
				c.err = ErrClosed
			case errors.Is(err, io.EOF):
				c.err = lostError{errors.New("rendezvous: the connection to rank 0 ended: rank 0 has left or died")}
			default:
				c.err = lostError{fmt.Errorf("rendezvous: connection to rank 0: %w", err)}
			}
			c.mu.Unlock()
			return
		}
		if ch, ok := c.pending[m.id]; ok {
			delete(c.pending, m.id)
			ch <- m // has room for one
		}
		c.mu.Unlock()
	}
}

// Err is why the connection ended, nil while it stands.
func (c *Client) Err() error {
	c.mu.Lock()
	defer c.mu.Unlock()
	return c.err
}

// Close says goodbye and ends the connection and its goroutine.
func (c *Client) Close() error {
	c.mu.Lock()
	already := c.closing
	c.closing = true
	c.mu.Unlock()
	if !already {
		// The server may be gone; then there is nobody to say goodbye to.
		_ = c.send(message{op: opBye}, time.Now().Add(time.Second))
	}
	err := c.conn.Close()
	<-c.done
	if already || errors.Is(err, net.ErrClosed) {
		return nil
	}
	return err
}

// Set stores a value under a key.
func (c *Client) Set(ctx context.Context, key string, value []byte) error {
	_, err := c.call(ctx, message{op: opSet, key: key, value: value})
	return err
}

// SetIfAbsent stores a value if the key has none, and gives the value that the key has now: of
// several ranks that try, all learn the first one's.
func (c *Client) SetIfAbsent(ctx context.Context, key string, value []byte) ([]byte, error) {
	m, err := c.call(ctx, message{op: opSetIfAbsent, key: key, value: value})
	return m.value, err
}

// Wait blocks until the key has a value. owner is the rank that will set it (−1: unknown); the error
// names it when it is late or has left (*PeerError).
func (c *Client) Wait(ctx context.Context, key string, owner int) ([]byte, error) {
	m, err := c.call(ctx, message{op: opWait, key: key, number: int64(owner)})
	return m.value, err
}

// Add changes a counter, which starts at 0, and gives the sum.
func (c *Client) Add(ctx context.Context, key string, delta int64) (int64, error) {
	m, err := c.call(ctx, message{op: opAdd, key: key, number: delta})
	return m.number, err
}

// Barrier blocks until all ranks of the world stand at the barrier of this name. The error names
// the ranks that are late or have left (*PeerError).
func (c *Client) Barrier(ctx context.Context, name string) error {
	_, err := c.call(ctx, message{op: opBarrier, key: name})
	return err
}

func (c *Client) call(ctx context.Context, m message) (message, error) {
	if err := ctx.Err(); err != nil {
		return message{}, context.Cause(ctx)
	}
	limit := time.Now().Add(writeLimit)
	if t, ok := ctx.Deadline(); ok {
		m.millis = serverMillis(time.Until(t))
		if t.Before(limit) {
			limit = t
		}
	}
	ch := make(chan message, 1)
	c.mu.Lock()
	if c.closing || c.err != nil {
		err := c.err
		c.mu.Unlock()
		if err == nil {
			err = ErrClosed
		}
		return message{}, err
	}
	c.nextID++
	m.id = c.nextID
	c.pending[m.id] = ch
	c.mu.Unlock()
	defer c.forget(m.id)

	if err := c.send(m, limit); err != nil {
		return message{}, lostError{fmt.Errorf("rendezvous: %w", err)}
	}
	select {
	case r := <-ch:
		return r, decode(r)
	case <-c.done:
		return message{}, c.Err()
	case <-ctx.Done():
		return message{}, fmt.Errorf("rendezvous: %q: no answer from rank 0: %w", m.key, context.Cause(ctx))
	}
}

// serverMillis leaves the answer a tenth of the time (at most 250 ms) to travel back, so that a
// deadline yields the server's account of who is missing.
func serverMillis(left time.Duration) uint32 {
	left -= min(left/10, 250*time.Millisecond)
	return uint32(max(1, min(left, longestWait).Milliseconds()))
}

func (c *Client) forget(id uint32) {
	c.mu.Lock()
	delete(c.pending, id)
	c.mu.Unlock()
}

func (c *Client) send(m message, limit time.Time) error {
	c.writing.Lock()
	defer c.writing.Unlock()
	c.conn.SetWriteDeadline(limit)
	err := c.out.write(c.conn, m)
	if err != nil && !errors.Is(err, handshake.ErrOversize) {
		c.conn.Close() // half a frame may be on its way: nothing can follow it
	}
	return err
}

func decode(m message) error {
	switch m.op {
	case replyOK:
		return nil
	case replyPeers:
		pe := &PeerError{}
		if err := json.Unmarshal(m.value, pe); err != nil {
			return fmt.Errorf("rendezvous: unreadable answer: %w", err)
		}
		return fmt.Errorf("rendezvous: %w", pe)
	default:
		return fmt.Errorf("rendezvous: %s", m.value)
	}
}

// BinaryHash identifies the running program: SHA-256 of its file, in hex. Ranks compare it, because
// two builds may lay out the same symmetric memory differently.
func BinaryHash() (string, error) {
	f, err := os.Open("/proc/self/exe")
	if err != nil {
		return "", fmt.Errorf("identify this binary: %w", err)
	}
	defer f.Close()
	h := sha256.New()
	if _, err := io.Copy(h, f); err != nil {
		return "", fmt.Errorf("identify this binary: %w", err)
	}
	return hex.EncodeToString(h.Sum(nil)), nil
}
