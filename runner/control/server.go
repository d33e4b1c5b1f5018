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

// Server is the leader's end of the channel.
type Server struct {
	o      Options
	ln     net.Listener
	events chan Event
	ctx    context.Context // ends with the server
	cancel context.CancelFunc
	wg     sync.WaitGroup
	door   handshake.Door

	mu    sync.Mutex
	hosts []*guest // by number; the first is this side and stays empty
	said  []Message
}

// guest is another host as the leader knows it.
type guest struct {
	clock clock
	link  *link // nil: it is not connected
	came  bool
	heard time.Time // or since when it was expected
	broke time.Time // when its last connection ended
	left  bool
	lost  bool
}

// Serve waits for the other hosts on the listener, which is the server's from here on.
func Serve(ln net.Listener, o Options) (*Server, error) {
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("channel of the agents: %w", err)
	}
	s := &Server{o: o, ln: ln, events: make(chan Event, max(queueLength, 2*o.Hosts))}
	s.door.Limit, s.door.Say = o.Hosts+strangers, o.Say
	s.ctx, s.cancel = context.WithCancel(context.Background())
	for range o.Hosts {
		g := &guest{heard: time.Now()}
		g.clock.now = s.o.Now
		s.hosts = append(s.hosts, g)
	}
	s.wg.Add(2)
	go func() {
		defer s.wg.Done()
		handshake.Each(s.ctx, ln, s.welcome)
	}()
	go func() {
		defer s.wg.Done()
		s.watch()
	}()
	return s, nil
}

// welcome looks after a new connection, in a goroutine of its own.
func (s *Server) welcome(conn net.Conn) {
	if !s.door.Enter(conn) { // one who belongs here tries again
		conn.Close()
		return
	}
	s.wg.Add(1)
	go func() {
		defer s.wg.Done()
		host, l, err := s.receive(conn)
		if s.ctx.Err() == nil {
			s.door.Leave(conn, err)
		}
		if err != nil {
			conn.Close()
			return
		}
		s.serve(host, l)
	}()
}

// receive lets a host prove who it is.
func (s *Server) receive(conn net.Conn) (int, *link, error) {
	if err := conn.SetDeadline(time.Now().Add(handshakeLimit)); err != nil {
		return 0, nil, err
	}
	stop := context.AfterFunc(s.ctx, func() { conn.Close() })
	defer stop()
	h, in, out, err := handshake.Accept(conn, spoken, []byte(s.o.Secret), func(h handshake.Hello) error {
		if err := s.door.Pass(conn); err != nil {
			return err
		}
		return s.admit(h)
	})
	if err != nil {
		return 0, nil, err
	}
	if err := conn.SetDeadline(time.Time{}); err != nil {
		return 0, nil, err
	}
	return h.Rank, newLink(conn, in, out, &s.o, &s.hosts[h.Rank].clock), nil
}

// admit decides about a host that knows the secret.
func (s *Server) admit(h handshake.Hello) error {
	switch {
	case h.Version != s.o.Version:
		return fmt.Errorf("it is boost-tui %.80s and the first host's is %s: use one and the same binary on all hosts", h.Version, s.o.Version)
	case h.World != s.o.Hosts || h.Rank < 1 || h.Rank >= s.o.Hosts:
		return fmt.Errorf("it takes itself for host %d of %d, and there are %d", h.Rank, h.World, s.o.Hosts)
	case string(h.Subject) != s.o.Incarnation:
		return errors.New("it belongs to another start of this run")
	}
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.hosts[h.Rank].lost {
		return errors.New("it was lost, and the run has ended without it")
	}
	return nil
}

// serve reads what a host says until its connection ends. A host that connects again replaces its earlier connection.
func (s *Server) serve(host int, l *link) {
	stop := context.AfterFunc(s.ctx, l.close)
	defer stop()
	s.mu.Lock()
	g := s.hosts[host]
	if g.link != nil {
		g.link.close()
	}
	g.link, g.came, g.heard = l, true, time.Now()
	for _, m := range s.said {
		l.say(m)
	}
	s.mu.Unlock()
	s.tell(Event{Host: host, What: Joined})
	_ = l.run(func(m Message) { s.take(host, l, m) }) // why it ended shows in whether the host comes back
	s.mu.Lock()
	if g.link == l {
		g.link, g.broke = nil, time.Now()
	}
	s.mu.Unlock()
}

// take hands on what a host says.
func (s *Server) take(host int, l *link, m Message) {
	s.mu.Lock()
	g := s.hosts[host]
	deaf := g.lost || g.link != l
	if !deaf {
		g.heard = time.Now()
		g.left = g.left || m.Kind == kindBye
	}
	s.mu.Unlock()
	switch {
	case deaf:
	case m.Kind == kindBye:
		s.tell(Event{Host: host, What: Left})
	case m.Kind >= FirstKind:
		s.tell(Event{Host: host, What: Said, Message: m})
	}
}

// watch notices hosts that are lost, and that this side stood still.
func (s *Server) watch() {
	tick := time.NewTicker(s.o.beat() / 2)
	defer tick.Stop()
	last := time.Now()
	for {
		select {
		case <-s.ctx.Done():
			return
		case <-tick.C:
		}
		gap := time.Since(last)
		last = time.Now()
		if gap > s.o.Silence {
			s.tell(Event{What: Stopped, For: gap})
			return
		}
		for _, e := range s.look(gap) {
			s.tell(e)
		}
	}
}

// look finds hosts that were lost since the last look, which was a gap ago.
func (s *Server) look(gap time.Duration) (lost []Event) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for host, g := range s.hosts[1:] {
		if g.left || g.lost {
			continue
		}
		if gap > 2*s.o.beat() { // what came meanwhile has not been read
			g.heard, g.broke = g.heard.Add(gap), g.broke.Add(gap)
		}
		if why := s.judge(g); why != "" {
			g.lost = true
			if g.link != nil {
				g.link.close()
			}
			lost = append(lost, Event{Host: host + 1, What: Lost, Why: why, For: time.Since(g.heard)})
		}
	}
	return lost
}

// judge says why a host is lost; empty: it is not.
func (s *Server) judge(g *guest) string {
	silent := time.Since(g.heard)
	switch {
	case !g.came && silent > s.o.Join:
		return fmt.Sprintf("its agent has not come within %v", s.o.Join)
	case !g.came:
		return ""
	}
	return lostFor(silent, s.o.Silence, g.link == nil && time.Since(g.broke) > brokenPatience)
}

// tell hands out an event, unless nobody wants them any more.
func (s *Server) tell(e Event) {
	select {
	case s.events <- e:
	case <-s.ctx.Done():
	}
}

// Events are what happened. Somebody must take them until Close.
func (s *Server) Events() <-chan Event { return s.events }

// Tell says something to all hosts, also to those that come later.
func (s *Server) Tell(m Message) {
	s.mu.Lock()
	defer s.mu.Unlock()
	s.said = append(s.said, m)
	for _, g := range s.hosts {
		if g.link != nil {
			g.link.say(m)
		}
	}
}

// Offset is how far a host's clock is ahead of this one's.
func (s *Server) Offset(host int) Offset { return s.hosts[host].clock.offset() }

// Silent are the hosts that are not lost and of which nothing was heard for so long, or whose connection is broken.
func (s *Server) Silent(than time.Duration) (hosts []int) {
	s.mu.Lock()
	defer s.mu.Unlock()
	for host, g := range s.hosts {
		if host > 0 && g.came && !g.left && !g.lost && (g.link == nil || time.Since(g.heard) > than) {
			hosts = append(hosts, host)
		}
	}
	return hosts
}

// Close says goodbye to all, for a short while, and frees everything.
func (s *Server) Close() error {
	s.mu.Lock()
	var open []*link
	for _, g := range s.hosts {
		if g.link != nil && g.link.say(Message{Kind: kindBye}) {
			open = append(open, g.link)
		}
	}
	s.mu.Unlock()
	limit, cancel := context.WithTimeout(s.ctx, partLimit)
	defer cancel()
	for _, l := range open {
		select {
		case <-l.closed:
		case <-limit.Done():
		}
	}
	err := s.ln.Close()
	s.cancel()
	s.wg.Wait()
	s.door.Sum()
	if errors.Is(err, net.ErrClosed) {
		err = nil
	}
	return err
}
