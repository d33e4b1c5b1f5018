// Package feed reads growing files for the screens: bounded rings that drop
// the oldest, loops that poll with a generation, and a tail of log lines. One
// read takes at most Budget, so that many small reads keep the program
// answering; files are polled, never watched, so that NFS works.
package feed

import (
	"time"

	"boost-tui/tui/msg"

	tea "github.com/charmbracelet/bubbletea"
)

// Budget is how long one read may take before it hands over what it has.
const Budget = 50 * time.Millisecond

// Batch is the result of one read of a source.
type Batch[T any] struct {
	Source string
	Gen    uint64
	Value  T
	More   bool // more is there already: read again at once
	Err    error
}

// Read makes a Cmd that reads once. read gets the time at which it should
// return with what it has.
func Read[T any](source string, gen uint64, read func(deadline time.Time) (value T, more bool, err error)) tea.Cmd {
	return func() tea.Msg {
		v, more, err := read(time.Now().Add(Budget))
		return Batch[T]{source, gen, v, more, err}
	}
}

// Loop is the bookkeeping of one polled source. The pattern: Start and a Read
// when the source is wanted; on a Batch that is Mine, take it and either Read
// again (More) or return Wait; on a Tick that is Mine, Read; Stop when it is
// no longer wanted. Answers of an earlier generation are ignored by Mine.
type Loop struct {
	Source string
	gen    uint64
	on     bool
}

// Start begins a new generation and returns it.
func (l *Loop) Start() uint64 {
	l.gen, l.on = l.gen+1, true
	return l.gen
}

// Stop makes everything that is still under way not Mine.
func (l *Loop) Stop() { l.gen, l.on = l.gen+1, false }

// Running reports whether the loop was started and not stopped.
func (l *Loop) Running() bool { return l.on }

// Gen is the present generation.
func (l *Loop) Gen() uint64 { return l.gen }

// Mine reports whether a Batch or Tick belongs to the present generation.
func (l *Loop) Mine(source string, gen uint64) bool {
	return l.on && source == l.Source && gen == l.gen
}

// Wait makes the Cmd of the next Tick.
func (l *Loop) Wait(after func(time.Duration, tea.Msg) tea.Cmd, d time.Duration) tea.Cmd {
	return after(d, msg.Tick{Owner: l.Source, Gen: l.gen})
}
