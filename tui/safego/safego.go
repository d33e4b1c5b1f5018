// Package safego starts the UI's own goroutines. An uncaught panic in one
// would end the process with the terminal in raw mode on the alternate screen;
// here it becomes a value.
package safego

import (
	"fmt"
	"runtime/debug"
)

// Panic is a recovered panic with the stack of the goroutine it happened in.
type Panic struct {
	Value any
	Stack []byte
}

// Error says what panicked; the stack is for the log.
func (p *Panic) Error() string { return fmt.Sprintf("internal error: %v", p.Value) }

// Call runs f and returns its panic, or nil.
func Call(f func()) (p *Panic) {
	defer func() {
		if v := recover(); v != nil {
			p = &Panic{Value: v, Stack: debug.Stack()}
		}
	}()
	f()
	return nil
}

// Go runs f in a goroutine and returns a channel that gets one value when f
// ends: nil, or the panic. Whoever starts it waits on the channel.
func Go(f func()) <-chan *Panic {
	done := make(chan *Panic, 1)
	go func() { done <- Call(f) }()
	return done
}
