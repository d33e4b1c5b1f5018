package main

import (
	"context"
	"errors"
	"fmt"
)

// Exit codes, the same for every command.
const (
	exitOK          = 0
	exitFailed      = 1   // the work failed
	exitUsage       = 2   // wrong usage or input
	exitCheck       = 3   // a check did not hold
	exitInterrupted = 130 // by a signal
)

// exitError gives an error its exit code. A silent one has been told to the user already.
type exitError struct {
	code   int
	err    error
	silent bool
}

func (e *exitError) Error() string { return e.err.Error() }
func (e *exitError) Unwrap() error { return e.err }

// usage marks an error as the user's input.
func usage(err error) error {
	if err == nil {
		return nil
	}
	return &exitError{code: exitUsage, err: err}
}

func usagef(format string, args ...any) error { return usage(fmt.Errorf(format, args...)) }

// silently ends with a code when the reason stands on the screen already.
func silently(code int, reason string) error {
	return &exitError{code: code, err: errors.New(reason), silent: true}
}

// codeOf is the exit code of what a command returned. started says whether the command itself began: what
// fails before that is the command line.
func codeOf(ctx context.Context, err error, started bool) int {
	var e *exitError
	switch {
	case err == nil:
		return exitOK
	case errors.As(err, &e):
		return e.code
	case ctx.Err() != nil || errors.Is(err, context.Canceled):
		return exitInterrupted
	case !started:
		return exitUsage
	default:
		return exitFailed
	}
}
