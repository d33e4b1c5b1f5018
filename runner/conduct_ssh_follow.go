package runner

import (
	"context"
	"fmt"
	"time"

	"boost-tui/runner/mirror"
)

// look follows the host's agent to its end, through every break of the connection.
func (h *sshHost) look() {
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	wait := redialFirst
	for {
		t := h.current()
		if t == nil {
			if !h.again(wait) {
				return
			}
			wait = min(2*wait, redialMost)
			continue
		}
		wait = redialFirst
		select {
		case <-h.run.ctx.Done():
			return
		case <-h.settled:
			return
		case <-t.ended:
			h.hangUp()
		case <-tick.C:
			if h.silence(time.Now()) > hushed {
				h.hangUp()
				continue
			}
			if s := h.status(); s.Ended {
				if h.fetch(t) {
					return
				}
			}
		}
	}
}

func (h *sshHost) current() *talk {
	h.mu.Lock()
	defer h.mu.Unlock()
	return h.talk
}

// fetch brings home what the host has, and says whether that is over.
func (h *sshHost) fetch(t *talk) bool {
	var err error
	if h.run.home != nil {
		if err = t.keeper.Finish(h.run.ctx, t.ended); err == nil {
			err = h.files.sync()
		}
	}
	if err == nil {
		h.finish("", false)
		return true
	}
	if h.fetches++; h.fetches < fetchTries {
		h.hangUp() // and try again: what was fetched is there already
		return false
	}
	h.run.home.fail(fmt.Errorf("host %s: its files could not be brought here: %w", h.name, err))
	h.finish("", true)
	return true
}

// again connects anew. It is false when nobody wants to reach the host any more.
func (h *sshHost) again(wait time.Duration) bool {
	limit := time.NewTimer(wait)
	defer limit.Stop()
	select {
	case <-h.run.ctx.Done():
		return false
	case <-h.settled:
		return false
	case <-limit.C:
	}
	patience := redialPatience
	if h.redials++; h.redials%3 == 0 {
		patience = startPatience // it may be a long way
	}
	ctx, cancel := context.WithTimeout(h.run.ctx, patience)
	defer cancel()
	err := h.connect(ctx)
	if err == nil {
		err = h.open(ctx)
	}
	if err != nil {
		h.hangUp()
		return true
	}
	if !h.status().Begun {
		_ = h.start(ctx) // it may not have heard
	}
	if reason := h.run.ending(); reason != "" {
		h.send(mirror.Message{Kind: mirror.Cancel, Data: []byte(clean(reason, 200))})
	}
	return true
}

// hangUp ends the connection.
func (h *sshHost) hangUp() {
	h.mu.Lock()
	t, link := h.talk, h.link
	h.talk, h.link = nil, nil
	h.mu.Unlock()
	if t != nil {
		t.x.Kill()
		<-t.ended
	}
	if link != nil {
		link.Close()
	}
}

// leave takes leave of the host, which then removes what came home.
func (h *sshHost) leave(ctx context.Context) {
	h.mu.Lock()
	t, left := h.talk, h.left
	h.mu.Unlock()
	if t == nil {
		return
	}
	if !left && h.run.home != nil && h.run.home.whole() {
		h.send(mirror.Message{Kind: mirror.Erase})
	}
	h.send(mirror.Message{Kind: mirror.Bye})
	select {
	case <-t.ended:
	case <-ctx.Done():
	}
}
