package runner

import (
	"fmt"
	"strings"
	"time"

	"boost-tui/profiler/flight"
)

// How long a rank may wait in one collective for the others (CUDA.md §2): in the first step they load, compile and tune.
const (
	firstStall = 10 * time.Minute
	laterStall = 2 * time.Minute
	dogEvery   = time.Second
)

// watchdog ages the collectives in which ranks stand, so that a peer that is stopped, or hangs, ends the run
// with a name instead of holding it for ever. Its zero value is ready.
type watchdog struct {
	looked time.Time
	stands []stand // by local rank
}

// stand is a collective that a rank was seen to wait in.
type stand struct {
	step  int
	seq   uint64
	since time.Time // zero: it does not wait
}

// look reads the board, at most once a second, and names the ranks that others wait for too long; empty: none.
func (w *watchdog) look(c *crew, now time.Time) string {
	if now.Sub(w.looked) < dogEvery {
		return ""
	}
	w.looked = now
	if w.stands == nil {
		w.stands = make([]stand, len(c.ranks))
	}
	notes := make([]flight.Note, len(c.ranks))
	oldest := -1
	for i, r := range c.ranks {
		var err error
		if notes[i], err = c.board.Read(c.slot(r)); err != nil || r.ended || notes[i].State != flight.Waiting {
			w.stands[i] = stand{}
			continue
		}
		n, s := notes[i], &w.stands[i]
		if s.since.IsZero() || s.step != n.Step || s.seq != n.Seq {
			*s = stand{n.Step, n.Seq, now}
		}
		if oldest < 0 || s.since.Before(w.stands[oldest].since) {
			oldest = i
		}
	}
	if oldest < 0 {
		return ""
	}
	limit, age := laterStall, now.Sub(w.stands[oldest].since)
	if notes[oldest].Step <= 1 {
		limit = firstStall
	}
	if age <= limit {
		return ""
	}
	if c.ranks[oldest].stopped() { // whoever is stopped itself waits for nobody
		w.stands[oldest].since = now
		return ""
	}
	return overdue(c, notes, oldest, age)
}

// overdue says who waits for whom.
func overdue(c *crew, notes []flight.Note, waiter int, age time.Duration) string {
	var late []string
	for i, r := range c.ranks {
		n := notes[i]
		switch {
		case r.ended || i == waiter || n.State == flight.Waiting && n.Label == notes[waiter].Label && n.Step == notes[waiter].Step && !r.stopped():
		case r.stopped():
			late = append(late, fmt.Sprintf("rank %d, which is stopped (SIGSTOP)", r.index))
		default:
			late = append(late, fmt.Sprintf("rank %d, which is at step %d, %s", r.index, n.Step, n))
		}
	}
	whom := "the others, who wait as well"
	if len(late) > 0 {
		whom = strings.Join(late[:min(len(late), 4)], "; ")
	}
	return fmt.Sprintf("rank %d has waited %s at step %d in %s for %s", c.ranks[waiter].index, age.Round(time.Second), notes[waiter].Step, notes[waiter].Label, whom)
}
