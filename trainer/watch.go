package trainer

import (
	"context"
	"errors"
	"io"
	"os"
	"path/filepath"
	"sync"
	"syscall"
	"time"

	"boost-tui/internal/wallclock"
	"boost-tui/kernels"
	"boost-tui/runner/protocol"
)

// How long a rank that must end may take about it before its process is ended as it stands: it may be
// deep in a product of matrices, or in a collective that nobody will complete.
const (
	orphanLimit = 1500 * time.Millisecond // the agent is gone: 2 s in all
	failedLimit = 10 * time.Second
)

// ending is what can end a rank from outside its loop: signals, the agent's death, another rank's
// failure. It settles which came first and makes whatever the rank is doing come back.
type ending struct {
	spec protocol.RankSpec
	exit func(code int) // ends the process
	// under is the step under way.
	under func() int
	say   func(format string, args ...any)

	cancel context.CancelCauseFunc
	failed chan struct{} // closed once first is set

	mu      sync.Mutex
	first   *cause
	comms   []kernels.Comm
	looping bool
	asked   string // who told this rank to stop: a signal's name; "": nobody
	stopAt  int    // the last step, agreed on by all; −1: none
	written bool   // the exit record
	hard    *time.Timer
}

// fail settles the first cause: it cancels the rank's context and aborts its communicators. Later causes change nothing.
func (e *ending) fail(c *cause, limit time.Duration) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.first != nil {
		return
	}
	e.first = c
	close(e.failed)
	e.hard = time.AfterFunc(limit, func() { e.exit(c.exitCode(e.spec.Rank)) })
	e.cancel(c)
	for _, comm := range e.comms {
		// One that cannot be aborted leaves the rank stuck, and then the timer ends it.
		_ = comm.Abort()
	}
}

// join adds a communicator that a failure aborts.
func (e *ending) join(c kernels.Comm) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.comms = append(e.comms, c)
	if e.first != nil {
		_ = c.Abort()
	}
}

// part takes the communicators back: the caller closes them.
func (e *ending) part() []kernels.Comm {
	e.mu.Lock()
	defer e.mu.Unlock()
	c := e.comms
	e.comms = nil
	return c
}

// known is the first cause so far. It waits for one a little while.
func (e *ending) known(wait time.Duration) *cause {
	select {
	case <-e.failed:
	case <-time.After(wait):
	}
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.first
}

// ask notes that this rank was told to stop. Before the loop that ends it at once; in the loop the
// step under way is finished first.
func (e *ending) ask(by string) {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.asked = by
	if !e.looping {
		e.cancel(ErrCancelled)
	}
}

// agree notes the step after which all ranks stop.
func (e *ending) agree(step int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.stopAt < 0 {
		e.stopAt = step
	}
	if !e.looping {
		e.cancel(ErrCancelled)
	}
	// A rank that did not hear of it in time stands in a step that the others will not come to.
	if e.looping && e.under() > e.stopAt {
		for _, comm := range e.comms {
			_ = comm.Abort() // one that cannot be aborted fails when the others have left
		}
	}
}

// enter says that the loop begins: from now on a request to stop waits for the end of a step.
func (e *ending) enter() {
	e.mu.Lock()
	defer e.mu.Unlock()
	e.looping = true
}

// stops gives whether this rank was told to stop and which last step is agreed on (−1: none).
func (e *ending) stops() (asked bool, last int) {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.asked != "", e.stopAt
}

// told is who told this rank to stop; empty: nobody.
func (e *ending) told() string {
	e.mu.Lock()
	defer e.mu.Unlock()
	return e.asked
}

// write leaves the exit record, once. On a full disk it takes the room that is kept for such words.
func (e *ending) write(rec protocol.ExitRecord) {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.written {
		return
	}
	e.written = true
	err := protocol.WriteExit(e.spec.RunDir, rec)
	if errors.Is(err, syscall.ENOSPC) || errors.Is(err, syscall.EDQUOT) {
		if os.Remove(filepath.Join(e.spec.RunDir, protocol.ReserveFile)) == nil {
			err = protocol.WriteExit(e.spec.RunDir, rec)
		}
	}
	if err != nil {
		e.say("%v", err) // the agent writes one from what it sees
	}
}

// disarm stops the timer that would end the process.
func (e *ending) disarm() {
	e.mu.Lock()
	defer e.mu.Unlock()
	if e.hard != nil {
		e.hard.Stop()
	}
}

// watchLifeline reads the lifeline to its end, which means that the agent is gone: at tells where the
// rank is then. The reading goroutine lives as long as the lifeline, which belongs to the caller; once
// release was called the end means nothing any more.
func (e *ending) watchLifeline(lifeline io.Reader, at func() (step int, operation string)) (release func()) {
	if lifeline == nil {
		return func() {}
	}
	var mu sync.Mutex
	released := false
	go func() {
		_, _ = io.Copy(io.Discard, lifeline) // an error ends it as well as EOF
		mu.Lock()
		defer mu.Unlock()
		if released {
			return
		}
		c := &cause{Rank: nobody, Text: "the agent died: its lifeline to this rank ended", TSNanos: wallclock.UnixNano()}
		step, operation := at()
		e.fail(c, orphanLimit)
		// The rank may never come back from where it is, so the record is written here and now.
		e.write(recordOf(e.spec.Rank, step, operation, c))
	}()
	return func() {
		mu.Lock()
		defer mu.Unlock()
		released = true
	}
}
