package control

import (
	"context"
	"errors"
	"fmt"
	"net"
	"sync"
	"time"

	"boost-tui/internal/handshake"
)

// link is one authenticated connection. It has two goroutines: one reads, in run; one writes.
type link struct {
	conn    net.Conn
	in, out handshake.Seal
	o       *Options
	clock   *clock
	closed  chan struct{}
	once    sync.Once

	mu      sync.Mutex
	pending []Message
	wake    chan struct{} // something is pending
}

func newLink(conn net.Conn, in, out handshake.Seal, o *Options, c *clock) *link {
	return &link{conn: conn, in: in, out: out, o: o, clock: c, closed: make(chan struct{}), wake: make(chan struct{}, 1)}
}

// say queues a message; false: the connection is over, or so far behind that it counts as broken.
func (l *link) say(m Message) bool {
	select {
	case <-l.closed:
		return false
	default:
	}
	l.mu.Lock()
	full := len(l.pending) >= maxPending
	if !full {
		l.pending = append(l.pending, m)
	}
	l.mu.Unlock()
	if full {
		l.close()
		return false
	}
	select {
	case l.wake <- struct{}{}:
	default: // the writer has not looked yet
	}
	return true
}

// take empties the queue.
func (l *link) take() []Message {
	l.mu.Lock()
	defer l.mu.Unlock()
	all := l.pending
	l.pending = nil
	return all
}

// close ends both goroutines.
func (l *link) close() {
	l.once.Do(func() {
		close(l.closed)
		l.conn.Close()
	})
}

// run reads until the connection ends, and hands every message but beats to take.
func (l *link) run(take func(Message)) error {
	var wg sync.WaitGroup
	wg.Add(1)
	go func() {
		defer wg.Done()
		l.write()
	}()
	err := l.read(take)
	l.close()
	wg.Wait()
	return err
}

func (l *link) read(take func(Message)) error {
	for {
		if err := l.conn.SetReadDeadline(time.Now().Add(l.o.Silence)); err != nil {
			return err
		}
		b, err := l.in.Read(l.conn, 1+MaxBody)
		if err != nil {
			return err
		}
		if len(b) == 0 {
			return errors.New("an empty message")
		}
		m := Message{Kind: b[0], Body: b[1:]}
		if m.Kind == kindBeat {
			pulse, err := parseBeat(m.Body)
			if err != nil {
				return err
			}
			l.clock.heard(pulse)
		}
		take(m)
	}
}

// write sends what is queued, and beats between.
func (l *link) write() {
	tick := time.NewTicker(l.o.beat())
	defer tick.Stop()
	for alive := l.beat(); alive; {
		select {
		case <-l.closed:
			return
		case <-tick.C:
			alive = l.beat()
		case <-l.wake:
			for _, m := range l.take() {
				if alive = l.send(m); !alive {
					return
				}
				if m.Kind == kindBye {
					l.finish()
					return
				}
			}
		}
	}
}

func (l *link) beat() bool { return l.send(Message{Kind: kindBeat, Body: l.clock.next().bytes()}) }

func (l *link) send(m Message) bool {
	err := l.conn.SetWriteDeadline(time.Now().Add(l.o.Silence))
	if err == nil {
		err = l.out.Write(l.conn, append([]byte{m.Kind}, m.Body...))
	}
	if err != nil {
		l.close()
	}
	return err == nil
}

// finish lets the last words arrive: what is unread when a socket is closed would reset the connection under them.
func (l *link) finish() {
	if half, ok := l.conn.(*net.TCPConn); !ok || half.CloseWrite() != nil {
		l.close()
	}
}

// dial makes a connection to the leader.
func dial(ctx context.Context, addr string, o *Options, c *clock) (*link, error) {
	ctx, cancel := context.WithTimeout(ctx, min(handshakeLimit, o.Silence))
	defer cancel()
	d := net.Dialer{}
	if ip := net.ParseIP(o.Local); ip != nil {
		d.LocalAddr = &net.TCPAddr{IP: ip}
	}
	conn, err := d.DialContext(ctx, "tcp", addr)
	if err != nil {
		return nil, err
	}
	stop := context.AfterFunc(ctx, func() { conn.Close() })
	defer stop()
	h := handshake.Hello{Rank: o.Host, World: o.Hosts, Version: o.Version, Subject: []byte(o.Incarnation)}
	out, in, err := handshake.Offer(conn, spoken, []byte(o.Secret), h)
	if err != nil {
		return nil, errors.Join(fmt.Errorf("the agent that leads the run, at %s: %w", addr, err), conn.Close())
	}
	return newLink(conn, in, out, o, c), nil
}
