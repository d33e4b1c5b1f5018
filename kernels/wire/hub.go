package wire

import (
	"context"
	"encoding/binary"
	"errors"
	"fmt"
	"net"
	"os"
	"sync"
	"time"

	"boost-tui/internal/handshake"
)

// hub is the one place that knows how all members of a group are.
type hub struct {
	node  *Node
	nonce [16]byte

	mu      sync.Mutex
	size    int // 0: nobody has come
	name    string
	members map[int]*member
	came    map[int]bool
	blobs   [][]byte // of the exchange under way
	given   int
	failure *Failure
}

// member is a member's connection at the hub. Messages to it are written by a goroutine of its own, so that one who
// does not read holds up nobody else.
type member struct {
	rank int
	out  chan said
	gone chan struct{} // closed when it is served no more
}

type said struct {
	kind    byte
	body    []byte
	written chan struct{} // closed when it was; nil: nobody waits for that
}

// waiting bounds how much may wait to be written to one member.
const waiting = 64

func newHub(n *Node, nonce [16]byte) *hub {
	return &hub{node: n, nonce: nonce, members: map[int]*member{}, came: map[int]bool{}}
}

// enter takes a member in.
func (h *hub) enter(rank, size int, name string) (*member, error) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.size == 0 && size >= 1 && size <= MaxMembers {
		h.size, h.name, h.blobs = size, name, make([][]byte, size)
	}
	switch {
	case size != h.size:
		return nil, fmt.Errorf("rank %d says that %s has %d ranks, another said %d", rank, name, size, h.size)
	case rank < 0 || rank >= size:
		return nil, fmt.Errorf("rank %d of %d in %s", rank, size, name)
	case h.came[rank]:
		return nil, fmt.Errorf("rank %d of %s has joined already", rank, name)
	case h.failure != nil:
		return nil, h.failure
	}
	m := &member{rank: rank, out: make(chan said, waiting), gone: make(chan struct{})}
	h.came[rank], h.members[rank] = true, m
	return m, nil
}

// serve is the life of a member's connection.
func (h *hub) serve(m *member, conn *net.TCPConn, in, out handshake.Seal) {
	c := &controls{conn: conn, in: in, out: out, silence: h.node.o.Silence}
	stop := context.AfterFunc(h.node.ctx, func() { conn.Close() })
	done := make(chan struct{})
	var wg sync.WaitGroup
	wg.Go(func() { c.beat(done) })
	wg.Go(func() { m.write(c) })
	err := h.listen(m, c)
	close(done)
	if err == nil {
		h.leave(m)
	} else {
		h.lost(m, err)
	}
	close(m.gone)
	wg.Wait()
	stop()
	conn.Close()
}

// write sends what there is to say, to the last word.
func (m *member) write(c *controls) {
	for {
		select {
		case s := <-m.out:
			if !s.write(c) {
				return
			}
		case <-m.gone:
			for len(m.out) > 0 && (<-m.out).write(c) {
			}
			return
		}
	}
}

func (s said) write(c *controls) bool {
	err := c.say(s.kind, s.body)
	if s.written != nil {
		close(s.written)
	}
	return err == nil
}

// listen hears a member out. It returns nil when it left in order.
func (h *hub) listen(m *member, c *controls) error {
	for {
		kind, body, err := c.hear()
		switch {
		case err != nil:
			return err
		case kind == sayBlob && len(body) <= MaxBlob:
			if err := h.give(m.rank, body); err != nil {
				return err
			}
		case kind == sayFail:
			h.fail(parseFailure(body))
		case kind == sayBye:
			return nil
		default:
			return fmt.Errorf("control message %d of %d bytes", kind, len(body))
		}
	}
}

// give is a member's part of an exchange; the last one's completes it.
func (h *hub) give(rank int, blob []byte) error {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.blobs[rank] != nil {
		return fmt.Errorf("rank %d of %s speaks twice in one exchange", rank, h.name)
	}
	h.blobs[rank] = append([]byte{}, blob...)
	if h.given++; h.given < h.size {
		return nil
	}
	h.tell(sayBlob, pack(h.blobs), -1)
	h.blobs, h.given = make([][]byte, h.size), 0
	return nil
}

// tell says something to every member but one. Called with mu held.
func (h *hub) tell(kind byte, body []byte, but int) {
	for r, m := range h.members {
		if r == but {
			continue
		}
		select {
		case m.out <- said{kind: kind, body: body}:
		default: // it has not read for so long that it will be found silent
		}
	}
}

// fail tells every member the first reason.
func (h *hub) fail(f *Failure) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.failure == nil {
		h.failure = f
		h.tell(sayFail, f.bytes(), -1)
	}
}

// lost takes note of a member that is gone without a word.
func (h *hub) lost(m *member, err error) {
	text := fmt.Sprintf("rank %d of %s has died, or its connection broke: %v", m.rank, h.name, err)
	if errors.Is(err, os.ErrDeadlineExceeded) {
		text = fmt.Sprintf("rank %d of %s has been silent for %v: it is stopped, or its host is cut off", m.rank, h.name, h.node.o.Silence)
	}
	h.drop(m)
	if h.node.ctx.Err() == nil {
		h.fail(&Failure{Text: text})
	}
}

// leave takes note of a member that left in order.
func (h *hub) leave(m *member) {
	h.drop(m)
	h.mu.Lock()
	h.tell(sayLeft, binary.BigEndian.AppendUint16(nil, uint16(m.rank)), m.rank)
	over := len(h.members) == 0 && len(h.came) == h.size
	h.mu.Unlock()
	if over {
		h.node.mu.Lock()
		delete(h.node.hubs, h.nonce)
		h.node.mu.Unlock()
	}
}

func (h *hub) drop(m *member) {
	h.mu.Lock()
	defer h.mu.Unlock()
	if h.members[m.rank] == m {
		delete(h.members, m.rank)
	}
}

// part says goodbye to the members that are still there, and sees to it that they can read what was said before.
func (h *hub) part() {
	h.mu.Lock()
	var left []*member
	for _, m := range h.members {
		left = append(left, m)
	}
	h.mu.Unlock()
	deadline := time.After(partLimit)
	for _, m := range left {
		s := said{kind: sayBye, written: make(chan struct{})}
		select {
		case m.out <- s:
		default:
			continue
		}
		select {
		case <-s.written:
		case <-m.gone:
		case <-deadline:
			return
		}
	}
}
