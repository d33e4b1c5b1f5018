package runner

import (
	"fmt"
	"strings"
	"time"

	"boost-tui/profiler/flight"
	"boost-tui/runner/protocol"
)

// How long a rank may wait in one collective for the others (CUDA.md §2): in the first step they load, compile and tune.
const (
	firstStall = 10 * time.Minute
	laterStall = 2 * time.Minute
	dogEvery   = time.Second
	// oldBoard is the age from which on what another host said about its ranks says nothing any more.
	oldBoard = 5 * time.Second
)

// standing is where a rank stands, as its agent sees it: also what agents tell each other of their ranks.
type standing struct {
	Rank    int    `json:"rank"`
	Step    int    `json:"step"`
	Seq     uint64 `json:"seq"`               // of what it does; another one is another operation
	What    string `json:"what,omitempty"`    // operation, and whether it waits in it
	Label   string `json:"label,omitempty"`   // operation
	Waits   bool   `json:"waits,omitempty"`   // for other ranks
	Ahead   bool   `json:"ahead,omitempty"`   // its device has not come to the operation
	Issued  uint64 `json:"issued,omitempty"`  // operations of its compute stream
	Stopped bool   `json:"stopped,omitempty"` // SIGSTOP, a debugger
	Ended   bool   `json:"ended,omitempty"`
}

// checkBoard refuses what no agent would say.
func checkBoard(board []standing) error {
	for i := range board {
		s := &board[i]
		if s.Rank < 0 || s.Rank >= protocol.MaxRanks || s.Step < 0 {
			return fmt.Errorf("it is about rank %d at step %d", s.Rank, s.Step)
		}
		s.What, s.Label = clean(s.What, 120), clean(s.Label, 120)
	}
	return nil
}

// standings are where the ranks of this host stand. Of a rank whose board cannot be read nothing is known but that it is there.
func (c *crew) standings() []standing {
	all := make([]standing, len(c.ranks))
	for i, r := range c.ranks {
		s := standing{Rank: r.index, Ended: r.ended}
		if n, err := c.board.Read(c.slot(r)); err == nil {
			s.Step, s.Seq, s.Issued = n.Step, n.Seq, n.Issued
			s.Waits, s.Ahead = n.State == flight.Waiting && !r.ended, n.State == flight.Ahead
			s.What, s.Label = n.String(), n.Label.String()
			s.Stopped = r.stopped()
		}
		all[i] = s
	}
	return all
}

// standings are those of the ranks of all hosts that are heard of.
func (a *agent) standings() []standing {
	all := a.crew.standings()
	if a.others == nil {
		return all
	}
	for i := range a.others.hosts {
		if h := &a.others.hosts[i]; h.part == nil && time.Since(h.at) < oldBoard {
			all = append(all, h.board...)
		}
	}
	return all
}

// watchdog ages the collectives in which ranks stand, so that a peer that is stopped, or hangs, ends the run
// with a name instead of holding it for ever. Its zero value is ready.
type watchdog struct {
	looked time.Time
	stands map[int]stand // by rank
}

// stand is a collective that a rank was seen to wait in.
type stand struct {
	step  int
	seq   uint64
	since time.Time
}

// look asks where the ranks stand, at most once a second, and names the ranks that others wait for too long; empty: none.
func (w *watchdog) look(standings func() []standing, now time.Time) string {
	if now.Sub(w.looked) < dogEvery {
		return ""
	}
	w.looked = now
	all := standings()
	old, oldest := w.stands, -1
	w.stands = make(map[int]stand, len(all))
	for i, s := range all {
		if !s.Waits {
			continue
		}
		at, known := old[s.Rank]
		if !known || at.step != s.Step || at.seq != s.Seq {
			at = stand{s.Step, s.Seq, now}
		}
		w.stands[s.Rank] = at
		if oldest < 0 || at.since.Before(w.stands[all[oldest].Rank].since) {
			oldest = i
		}
	}
	if oldest < 0 {
		return ""
	}
	waiter := all[oldest]
	limit, age := laterStall, now.Sub(w.stands[waiter.Rank].since)
	if waiter.Step <= 1 {
		limit = firstStall
	}
	if age <= limit {
		return ""
	}
	if waiter.Stopped { // whoever is stopped itself waits for nobody
		w.stands[waiter.Rank] = stand{waiter.Step, waiter.Seq, now}
		return ""
	}
	return overdue(all, oldest, age)
}

// overdue says who waits for whom: for those that are stopped, else for those that wait for nobody, else for those that wait elsewhere,
// who may be victims too.
func overdue(all []standing, oldest int, age time.Duration) string {
	waiter := all[oldest]
	var stopped, busy, elsewhere []string
	for i, s := range all {
		at := fmt.Sprintf("rank %d, which is at step %d, %s", s.Rank, s.Step, s.What)
		switch {
		case s.Ended || i == oldest:
		case s.Stopped:
			stopped = append(stopped, fmt.Sprintf("rank %d, which is stopped (SIGSTOP)", s.Rank))
		case !s.Waits:
			busy = append(busy, at)
		case s.Label != waiter.Label || s.Step != waiter.Step:
			elsewhere = append(elsewhere, at)
		}
	}
	whom := "the others, who wait as well"
	for _, late := range [][]string{elsewhere, busy, stopped} {
		if len(late) > 0 {
			whom = fewOf(late)
		}
	}
	return fmt.Sprintf("rank %d has waited %s at step %d in %s for %s", waiter.Rank, age.Round(time.Second), waiter.Step, waiter.Label, whom)
}

// fewOf is a list of at most a few.
func fewOf(list []string) string {
	const most = 4
	text := strings.Join(list[:min(len(list), most)], "; ")
	if more := len(list) - most; more > 0 {
		text += fmt.Sprintf("; and %d more", more)
	}
	return text
}
