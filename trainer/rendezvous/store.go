package rendezvous

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"sync"
	"time"
)

// Bounds of the whole store: a run needs a few keys per rank.
const (
	maxKeys       = 1 << 16
	maxStoreBytes = 64 << 20
)

// PeerError says which ranks an operation waited for in vain.
type PeerError struct {
	What    string `json:"what"`    // the operation and its name: `barrier "start"`
	Missing []int  `json:"missing"` // ranks, ascending; empty when nobody can say who was to come
	Gone    bool   `json:"gone"`    // they had been there and left; otherwise they are late
}

// maxNamed bounds how many ranks an error text lists.
const maxNamed = 16

func (e *PeerError) Error() string {
	if len(e.Missing) == 0 {
		return e.What + ": nobody came within the deadline"
	}
	verb := "did not come within the deadline"
	if e.Gone {
		verb = "left before it came to that"
	}
	return fmt.Sprintf("%s: %s %s", e.What, RankList(e.Missing), verb)
}

// RankList is "rank 3" or "ranks 3, 5 and 7", cut off after 16.
func RankList(ranks []int) string {
	var s []string
	for i, r := range ranks {
		if i == maxNamed {
			return fmt.Sprintf("ranks %s and %d more", strings.Join(s, ", "), len(ranks)-i)
		}
		s = append(s, fmt.Sprint(r))
	}
	switch len(s) {
	case 0:
		return "no rank"
	case 1:
		return "rank " + s[0]
	}
	return fmt.Sprintf("ranks %s and %s", strings.Join(s[:len(s)-1], ", "), s[len(s)-1])
}

// store is the state of a rendezvous. Every change wakes all waiters, each of which looks for itself:
// a job has thousands of ranks at most and meets a few times.
type store struct {
	world int

	mu       sync.Mutex
	changed  chan struct{} // closed and replaced at each change
	values   map[string][]byte
	bytes    int
	counters map[string]int64
	barriers map[string]*barrier
	here     map[int]*presence
	gone     map[int]bool
}

type barrier struct {
	waiting map[int]bool // stand here now; all of them together open it
	came    map[int]bool // stood here at some time: not to be named as missing
	open    bool
}

func newStore(world int) *store {
	return &store{
		world: world, changed: make(chan struct{}),
		values: map[string][]byte{}, counters: map[string]int64{}, barriers: map[string]*barrier{},
		here: map[int]*presence{}, gone: map[int]bool{},
	}
}

// wake must be called with mu held.
func (s *store) wake() {
	close(s.changed)
	s.changed = make(chan struct{})
}

// presence is a rank's connection.
type presence struct {
	who  string // tells one client from another with the same rank; empty: nobody can tell
	drop func() // ends the connection
}

// enterPatience is how long a connection of the same rank that is there already may take to end: its client may have left
// it a moment ago, and this side not have come to it.
const enterPatience = time.Second

// enter notes that a rank is connected. A client that comes again before its first connection has ended here, since it broke on
// the way, takes its place.
func (s *store) enter(ctx context.Context, rank int, p *presence) error {
	ctx, cancel := context.WithTimeout(ctx, enterPatience)
	defer cancel()
	for {
		s.mu.Lock()
		old, changed := s.here[rank], s.changed
		if same := old != nil && p.who != "" && old.who == p.who; old == nil || same {
			s.here[rank] = p
			delete(s.gone, rank)
			s.wake()
			s.mu.Unlock()
			if same {
				old.drop()
			}
			return nil
		}
		s.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
			return fmt.Errorf("rank %d is connected already: two processes were started with one rank number", rank)
		}
	}
}

// leave notes that a rank's connection ended; false: another one is in its place.
func (s *store) leave(rank int, p *presence) bool {
	s.mu.Lock()
	defer s.mu.Unlock()
	if s.here[rank] != p {
		return false
	}
	delete(s.here, rank)
	s.gone[rank] = true
	s.wake()
	return true
}

// set stores a value, unless ifAbsent and there is one; it gives the value that holds now.
func (s *store) set(key string, value []byte, ifAbsent bool) ([]byte, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	old, there := s.values[key]
	if there && ifAbsent {
		return old, nil
	}
	grown := s.bytes + len(value) - len(old)
	if !there {
		grown += len(key)
	}
	if len(s.values) >= maxKeys && !there || grown > maxStoreBytes {
		return nil, fmt.Errorf("the rendezvous is full (%d keys, %d bytes): key %q not stored", len(s.values), s.bytes, key)
	}
	s.bytes = grown
	s.values[key] = slices.Clone(value)
	s.wake()
	return value, nil
}

// add changes a counter that starts at 0, and gives the sum.
func (s *store) add(key string, delta int64) (int64, error) {
	s.mu.Lock()
	defer s.mu.Unlock()
	if _, there := s.counters[key]; !there && len(s.counters) >= maxKeys {
		return 0, fmt.Errorf("the rendezvous is full (%d counters): %q not counted", len(s.counters), key)
	}
	s.counters[key] += delta
	return s.counters[key], nil
}

// wait blocks until the key is set. owner is the rank that will set it, −1 when unknown: its death
// ends the wait at once.
func (s *store) wait(ctx context.Context, key string, owner int) ([]byte, error) {
	for {
		s.mu.Lock()
		v, ok := s.values[key]
		gone, changed := s.gone[owner], s.changed
		s.mu.Unlock()
		if ok {
			return v, nil
		}
		failed := &PeerError{What: fmt.Sprintf("wait for %q", key), Gone: gone}
		if owner >= 0 {
			failed.Missing = []int{owner}
		}
		if gone {
			return nil, failed
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return nil, failed
		}
	}
}

// await blocks until all ranks of the world stand at the barrier, the deadline passes, or one that
// has not arrived leaves. A barrier that has opened can be used anew.
func (s *store) await(ctx context.Context, name string, rank int) error {
	s.mu.Lock()
	b := s.barriers[name]
	if b == nil {
		if len(s.barriers) >= maxKeys {
			s.mu.Unlock()
			return fmt.Errorf("the rendezvous is full (%d barriers)", maxKeys)
		}
		b = &barrier{waiting: map[int]bool{}, came: map[int]bool{}}
		s.barriers[name] = b
	}
	if b.waiting[rank] {
		s.mu.Unlock()
		return fmt.Errorf("rank %d stands at barrier %q already", rank, name)
	}
	b.waiting[rank], b.came[rank] = true, true
	if len(b.waiting) == s.world {
		b.open = true
		delete(s.barriers, name)
		s.wake()
	}
	s.mu.Unlock()
	for {
		s.mu.Lock()
		failed, changed := s.absent(name, b), s.changed
		if b.open || failed.Gone || ctx.Err() != nil {
			delete(b.waiting, rank)
			open := b.open
			s.mu.Unlock()
			if open {
				return nil
			}
			return failed
		}
		s.mu.Unlock()
		select {
		case <-changed:
		case <-ctx.Done():
		}
	}
}

// absent names who has not arrived: those who left if any did, else everybody. Called with mu held.
func (s *store) absent(name string, b *barrier) *PeerError {
	var late, left []int
	for r := range s.world {
		switch {
		case b.came[r]:
		case s.gone[r]:
			left = append(left, r)
		default:
			late = append(late, r)
		}
	}
	what := fmt.Sprintf("barrier %q", name)
	if len(left) > 0 {
		return &PeerError{What: what, Missing: left, Gone: true}
	}
	return &PeerError{What: what, Missing: late}
}

// connected is the ranks that are here, ascending.
func (s *store) connected() []int {
	s.mu.Lock()
	defer s.mu.Unlock()
	out := make([]int, 0, len(s.here))
	for r := range s.here {
		out = append(out, r)
	}
	slices.Sort(out)
	return out
}

// settle blocks until at most the given rank is connected, or the context ends.
func (s *store) settle(ctx context.Context, but int) {
	for {
		s.mu.Lock()
		n, changed := len(s.here), s.changed
		if s.here[but] != nil {
			n--
		}
		s.mu.Unlock()
		if n == 0 {
			return
		}
		select {
		case <-changed:
		case <-ctx.Done():
			return
		}
	}
}
