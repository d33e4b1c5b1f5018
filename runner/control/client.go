package control

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"sync"
	"time"

	"boost-tui/internal/handshake"
)

// Client is the channel's end of an agent that does not lead.
type Client struct {
	o      Options
	addr   string
	clock  clock
	events chan Event
	ctx    context.Context // ends with the client
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu    sync.Mutex
	link  *link // nil: between two
	said  []Message
	heard time.Time
	broke time.Time // when the last connection ended
	bye   bool      // one side has said it
}

// Dial connects to the leader, and tries for as long as the context lasts or until it is refused.
func Dial(ctx context.Context, addr string, o Options) (*Client, error) {
	if err := o.check(); err != nil {
		return nil, fmt.Errorf("channel of the agents: %w", err)
	}
	c := &Client{o: o, addr: addr, events: make(chan Event, queueLength)}
	c.clock.now = c.o.Now
	l, err := c.connect(ctx, time.Time{})
	if err != nil {
		return nil, fmt.Errorf("channel of the agents: %w", err)
	}
	c.ctx, c.cancel = context.WithCancel(context.WithoutCancel(ctx))
	c.link, c.heard = l, time.Now()
	c.wg.Add(2)
	go func() {
		defer c.wg.Done()
		c.follow(l)
	}()
	go func() {
		defer c.wg.Done()
		c.watch()
	}()
	return c, nil
}

// connect tries again and again; a time that is not zero ends it too.
func (c *Client) connect(ctx context.Context, until time.Time) (*link, error) {
	var refused error // says more than that the time was up
	for {
		l, err := dial(ctx, c.addr, &c.o, &c.clock)
		if err == nil || errors.Is(err, handshake.ErrRefused) || errors.Is(err, handshake.ErrAuth) && !errors.Is(err, handshake.ErrNoAnswer) {
			return l, err
		}
		if errors.Is(err, handshake.ErrAuth) {
			refused = err
		}
		if !until.IsZero() && time.Now().After(until) {
			return nil, cmp.Or(refused, err)
		}
		select {
		case <-ctx.Done():
			return nil, cmp.Or(refused, err)
		case <-time.After(redial):
		}
	}
}

// follow reads one connection after another.
func (c *Client) follow(l *link) {
	c.tell(Event{What: Joined})
	for {
		_ = l.run(c.take) // why it ended shows in what happens next
		c.mu.Lock()
		c.link, c.broke = nil, time.Now()
		over, until := c.bye, c.heard.Add(c.o.Silence)
		c.mu.Unlock()
		if over || c.ctx.Err() != nil {
			return
		}
		next, err := c.connect(c.ctx, until)
		if err != nil {
			return // the watch says that the leader is lost, and when
		}
		l = next
		c.mu.Lock()
		c.link = l
		for _, m := range c.said {
			l.say(m)
		}
		c.mu.Unlock()
	}
}

// take hands on what the leader says.
func (c *Client) take(m Message) {
	c.mu.Lock()
	c.heard = time.Now()
	c.bye = c.bye || m.Kind == kindBye
	c.mu.Unlock()
	switch {
	case m.Kind == kindBye:
		c.tell(Event{What: Left})
	case m.Kind >= FirstKind:
		c.tell(Event{What: Said, Message: m})
	}
}

// watch notices when the leader is lost, or this side stood still.
func (c *Client) watch() {
	tick := time.NewTicker(c.o.beat() / 2)
	defer tick.Stop()
	last := time.Now()
	for {
		select {
		case <-c.ctx.Done():
			return
		case <-tick.C:
		}
		gap := time.Since(last)
		last = time.Now()
		if gap > c.o.Silence {
			c.tell(Event{What: Stopped, For: gap})
			return
		}
		c.mu.Lock()
		if gap > 2*c.o.beat() { // what came meanwhile has not been read
			c.heard, c.broke = c.heard.Add(gap), c.broke.Add(gap)
		}
		silent, over := time.Since(c.heard), c.bye
		why := lostFor(silent, c.o.Silence, c.link == nil && time.Since(c.broke) > brokenPatience)
		c.mu.Unlock()
		if over {
			return
		}
		if why != "" {
			c.tell(Event{What: Lost, For: silent, Why: why})
			return
		}
	}
}

// lostFor says why the other side is lost; empty: it is not.
func lostFor(silent, limit time.Duration, broken bool) string {
	switch {
	case silent > limit:
		return fmt.Sprintf("nothing was heard of it for %v", silent.Round(100*time.Millisecond))
	case broken:
		return EndedWithoutWord
	}
	return ""
}

// tell hands out an event, unless nobody wants them any more.
func (c *Client) tell(e Event) {
	select {
	case c.events <- e:
	case <-c.ctx.Done():
	}
}

// Events are what happened. Host is 0 in all of them.
func (c *Client) Events() <-chan Event { return c.events }

// Send says something to the leader, for good: after a break it is said again.
func (c *Client) Send(m Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	c.said = append(c.said, m)
	if c.link != nil {
		c.link.say(m)
	}
}

// Mention says something that is worth nothing after a break.
func (c *Client) Mention(m Message) {
	c.mu.Lock()
	defer c.mu.Unlock()
	if c.link != nil {
		c.link.say(m)
	}
}

// Close says goodbye, for a short while, and frees everything.
func (c *Client) Close() {
	c.mu.Lock()
	l := c.link
	c.bye = true
	c.mu.Unlock()
	if l != nil && l.say(Message{Kind: kindBye}) {
		select {
		case <-l.closed: // the leader has read it all
		case <-time.After(partLimit):
		}
	}
	c.cancel()
	if l != nil {
		l.close()
	}
	c.mu.Lock()
	if c.link != nil {
		c.link.close()
	}
	c.mu.Unlock()
	c.wg.Wait()
}
