package rendezvous

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"boost-tui/internal/handshake"
	"boost-tui/internal/wallclock"
)

// Options are what the members of a rendezvous must agree on, and how they behave.
type Options struct {
	Secret  string // of the run, at least 16 bytes; never an argument of a process
	World   int    // number of ranks
	Rank    int    // of this client; the server ignores it
	Version string // identity of the binary (BinaryHash); ranks of different ones refuse each other; at most 128 bytes
	// OnLost is told, on the server, of every rank whose connection ended without a goodbye: its
	// process died or its host is cut off. It is called from a goroutine of the server.
	OnLost func(rank int)
	// Say is told, on the server, of connections that were refused, now and then; nil: nobody is.
	Say func(format string, args ...any)
	// From is the address of this host that the client dials from, as wire.Resolve takes it; empty: any.
	From string
}

func (o Options) check() error {
	switch {
	case len(o.Secret) < handshake.MinSecret:
		return fmt.Errorf("rendezvous: the secret has %d bytes, at least %d are needed", len(o.Secret), handshake.MinSecret)
	case o.World < 1:
		return fmt.Errorf("rendezvous: a world of %d ranks", o.World)
	case len(o.Version) > handshake.MaxVersion:
		return fmt.Errorf("rendezvous: version of %d bytes, at most %d", len(o.Version), handshake.MaxVersion)
	}
	return nil
}

const (
	handshakeLimit = 5 * time.Second
	writeLimit     = 10 * time.Second
	// longestWait bounds a request whose client named no deadline.
	longestWait = 10 * time.Minute
	// inFlight is how many requests of one connection may wait at once.
	inFlight = 64
	// strangers is how many connections may stand in the handshake at once, beyond twice the world's: all ranks may come at
	// the same time.
	strangers = 32
)

// Server holds the store. Close ends all of its goroutines.
type Server struct {
	o      Options
	ln     net.Listener
	store  *store
	ctx    context.Context
	cancel context.CancelFunc
	wg     sync.WaitGroup
	door   handshake.Door
}

// Serve starts a server on a listener, which it closes in the end.
func Serve(ln net.Listener, o Options) (*Server, error) {
	if err := o.check(); err != nil {
		return nil, err
	}
	ctx, cancel := context.WithCancel(context.Background())
	s := &Server{o: o, ln: ln, store: newStore(o.World), ctx: ctx, cancel: cancel}
	s.door.Limit, s.door.Say = 2*o.World+strangers, o.Say
	s.wg.Go(s.accept)
	return s, nil
}

// Addr is where the server listens.
func (s *Server) Addr() string { return s.ln.Addr().String() }

// Connected is the ranks that are connected now, ascending.
func (s *Server) Connected() []int { return s.store.connected() }

// SetIfAbsent is Client.SetIfAbsent from the side of the server, so that OnLost can publish what happened.
func (s *Server) SetIfAbsent(key string, value []byte) ([]byte, error) {
	return s.store.set(key, value, true)
}

// Settle blocks until every rank but the given one has left, or the context ends. The rank that
// holds the server calls it before Close, so that the others can still read why the run ended.
func (s *Server) Settle(ctx context.Context, but int) { s.store.settle(ctx, but) }

// Close ends every connection and goroutine.
func (s *Server) Close() error {
	s.cancel()
	err := s.ln.Close()
	s.wg.Wait()
	s.door.Sum()
	return err
}

func (s *Server) accept() {
	handshake.Each(s.ctx, s.ln, func(conn net.Conn) {
		if !s.door.Enter(conn) {
			conn.Close()
			return
		}
		s.wg.Go(func() { s.serve(conn) })
	})
}

// serve is the life of one connection.
func (s *Server) serve(conn net.Conn) {
	ctx, cancel := context.WithCancel(s.ctx)
	defer cancel()
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	defer conn.Close()
	keepAlive(conn)

	conn.SetDeadline(time.Now().Add(handshakeLimit))
	entered, own := false, &presence{drop: func() { conn.Close() }}
	h, in, out, err := handshake.Accept(conn, spoken, []byte(s.o.Secret), func(h handshake.Hello) error {
		err := s.door.Pass(conn)
		if err == nil {
			err = s.admit(ctx, h, own)
		}
		entered = err == nil
		return err
	})
	if s.ctx.Err() == nil {
		s.door.Leave(conn, err)
	}
	bye := false
	if entered {
		defer func() {
			if left := s.store.leave(h.Rank, own); left && !bye && s.o.OnLost != nil && s.ctx.Err() == nil {
				s.o.OnLost(h.Rank)
			}
		}()
	}
	if err != nil {
		return
	}
	conn.SetDeadline(time.Time{})
	p := &peer{server: s, conn: conn, rank: h.Rank, out: seal{out}, slots: make(chan struct{}, inFlight)}
	bye = p.loop(ctx, &seal{in})
	cancel()
	p.wg.Wait()
}

// admit decides about a client that knows the secret.
func (s *Server) admit(ctx context.Context, h handshake.Hello, own *presence) error {
	switch {
	case h.Version != s.o.Version:
		return fmt.Errorf("rank %d runs binary %s, the rendezvous %s: install one binary on every host", h.Rank, short(h.Version), short(s.o.Version))
	case h.World != s.o.World:
		return fmt.Errorf("rank %d believes in a world of %d ranks, the rendezvous in %d", h.Rank, h.World, s.o.World)
	case h.Rank < 0 || h.Rank >= s.o.World:
		return fmt.Errorf("rank %d of a world of %d", h.Rank, s.o.World)
	}
	own.who = string(h.Subject)
	return s.store.enter(ctx, h.Rank, own)
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

// peer is an authenticated connection.
type peer struct {
	server *Server
	conn   net.Conn
	rank   int
	wg     sync.WaitGroup
	slots  chan struct{}

	mu  sync.Mutex
	out seal
}

// loop answers requests until the connection ends; it reports whether the peer said goodbye.
func (p *peer) loop(ctx context.Context, in *seal) bool {
	for {
		m, err := in.read(p.conn)
		if err != nil {
			return false
		}
		switch m.op {
		case opBye:
			return true
		case opWait, opBarrier:
			select {
			case p.slots <- struct{}{}:
			case <-ctx.Done():
				return false
			}
			p.wg.Go(func() {
				defer func() { <-p.slots }()
				// A wait cut off by the end of the connection has no answer to give.
				if r := p.blocking(ctx, m); ctx.Err() == nil {
					p.answer(m.id, r)
				}
			})
		default:
			p.answer(m.id, p.immediate(m))
		}
	}
}

// immediate handles what cannot block.
func (p *peer) immediate(m message) message {
	st := p.server.store
	switch m.op {
	case opSet, opSetIfAbsent:
		v, err := st.set(m.key, m.value, m.op == opSetIfAbsent)
		if err != nil || m.op == opSet {
			v = nil
		}
		return reply(v, 0, err)
	case opClock:
		return reply(nil, wallclock.UnixNano(), nil)
	case opAdd:
		n, err := st.add(m.key, m.number)
		return reply(nil, n, err)
	}
	return reply(nil, 0, fmt.Errorf("operation %d is not a request", m.op))
}

// blocking handles what waits for other ranks.
func (p *peer) blocking(ctx context.Context, m message) message {
	limit := longestWait
	if m.millis > 0 {
		limit = min(limit, time.Duration(m.millis)*time.Millisecond)
	}
	ctx, cancel := context.WithTimeout(ctx, limit)
	defer cancel()
	if m.op == opBarrier {
		return reply(nil, 0, p.server.store.await(ctx, m.key, p.rank))
	}
	owner := -1
	if m.number >= 0 && m.number < int64(p.server.o.World) {
		owner = int(m.number)
	}
	v, err := p.server.store.wait(ctx, m.key, owner)
	return reply(v, 0, err)
}

// answer sends a reply. A failure ends the connection, which loop notices.
func (p *peer) answer(id uint32, m message) {
	m.id = id
	p.mu.Lock()
	defer p.mu.Unlock()
	p.conn.SetWriteDeadline(time.Now().Add(writeLimit))
	if err := p.out.write(p.conn, m); err != nil {
		p.conn.Close()
	}
}

func reply(value []byte, number int64, err error) message {
	if err == nil {
		return message{op: replyOK, value: value, number: number}
	}
	var pe *PeerError
	if errors.As(err, &pe) {
		if b, e := json.Marshal(pe); e == nil && len(b) <= MaxValueBytes {
			return message{op: replyPeers, value: b}
		}
	}
	return message{op: replyError, value: []byte(err.Error())}
}

// keepAlive makes a peer whose host is cut off noticed within a dozen seconds.
func keepAlive(conn net.Conn) {
	if t, ok := conn.(*net.TCPConn); ok {
		// A failure leaves the system's defaults, which only notice later.
		_ = t.SetKeepAliveConfig(net.KeepAliveConfig{Enable: true, Idle: 5 * time.Second, Interval: 2 * time.Second, Count: 3})
	}
}
