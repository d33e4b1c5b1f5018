package trainer

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"strings"
	"unicode"

	"boost-tui/internal/wallclock"
	"boost-tui/kernels"
	"boost-tui/runner/protocol"
	"boost-tui/trainer/rendezvous"
)

// ErrCancelled says that a signal (or the caller's context) ended the run between two steps. It wraps
// context.Canceled, so that callers need not know this package to tell it from a failure.
var ErrCancelled = fmt.Errorf("cancelled: %w", context.Canceled)

// ExitFailed is the exit code of a rank that failed.
const ExitFailed = 1

// followed is the error of a rank that ended because of another one, or of the agent.
type followed struct {
	cause *cause
	here  error // what that looked like on this rank
}

func (f *followed) Error() string { return fmt.Sprintf("%s (here: %v)", f.cause.describe(), f.here) }

func (f *followed) Unwrap() error { return f.here }

// ExitCode is the code with which a rank's process exits after Run gave err.
func ExitCode(err error) int {
	var f *followed
	switch {
	case err == nil:
		return 0
	case errors.Is(err, ErrCancelled):
		return protocol.CodeCancelled
	case errors.As(err, &f):
		return protocol.CodeSecondary
	}
	return ExitFailed
}

// exitCode is that of a rank that ends for this cause.
func (c *cause) exitCode(rank int) int {
	if c.Rank == rank {
		return ExitFailed
	}
	return protocol.CodeSecondary
}

// nobody is the rank of a cause that is no rank's fault: the agent's death.
const nobody = -1

// maxCauseText keeps a cause well below what the rendezvous stores.
const maxCauseText = 4096

// cause is why a run ends: the first thing that went wrong, and where. It travels through the rendezvous as JSON.
type cause struct {
	Rank      int    `json:"rank"`
	Step      int    `json:"step"` // 0: before the first
	Operation string `json:"operation,omitempty"`
	Text      string `json:"text"`
	TSNanos   int64  `json:"ts_ns"` // Unix time
}

// Error makes a cause the reason of a cancelled context.
func (c *cause) Error() string { return c.describe() }

// describe names the culprit: what the records of the other ranks say.
func (c *cause) describe() string {
	if c.Rank == nobody {
		return c.Text
	}
	where := ""
	if c.Step > 0 {
		where = fmt.Sprintf(" at step %d", c.Step)
	}
	if c.Operation != "" && !strings.Contains(c.Text, c.Operation) {
		where += " in " + c.Operation
	}
	return fmt.Sprintf("rank %d failed%s: %s", c.Rank, where, c.Text)
}

func (c *cause) encode() ([]byte, error) {
	c.Text = oneLine(c.Text)
	b, err := json.Marshal(c)
	if err != nil {
		return nil, fmt.Errorf("encode the cause of the failure: %w", err)
	}
	return b, nil
}

func parseCause(b []byte) (*cause, error) {
	c := &cause{}
	if err := json.Unmarshal(b, c); err != nil {
		return nil, fmt.Errorf("published cause: %w", err)
	}
	c.Text, c.Operation = oneLine(c.Text), oneLine(c.Operation)
	return c, nil
}

// oneLine makes text fit for a record and a terminal: bounded, and without control characters.
func oneLine(s string) string {
	s = strings.Map(func(r rune) rune {
		switch {
		case r == '\n' || r == '\t':
			return ' '
		case !unicode.IsPrint(r):
			return -1
		}
		return r
	}, s)
	if len(s) > maxCauseText {
		s = strings.ToValidUTF8(s[:maxCauseText], "") + "…"
	}
	return s
}

// symptom reports whether the error may be the mere consequence of another rank's end, so that the
// first cause has to be asked for.
func symptom(err error) bool {
	var missing *rendezvous.PeerError
	return errors.Is(err, kernels.ErrComm) || errors.Is(err, kernels.ErrAborted) || errors.As(err, &missing) ||
		errors.Is(err, context.Canceled) || errors.Is(err, context.DeadlineExceeded)
}

// operationOf is the place in the step that the error speaks of.
func operationOf(err error) string {
	var ke *kernels.Error
	if !errors.As(err, &ke) {
		return ""
	}
	if ke.Label.Op == "" {
		return ke.Op
	}
	return ke.Label.String()
}

// recordOf is the exit record of this rank for a cause.
func recordOf(rank, step int, operation string, c *cause) protocol.ExitRecord {
	e := protocol.ExitRecord{
		Rank: rank, Code: c.exitCode(rank), Step: step, Operation: operation, TSNanos: wallclock.UnixNano(),
	}
	if c.Rank == rank {
		e.Step, e.Operation, e.Cause, e.TSNanos = c.Step, c.Operation, c.Text, c.TSNanos
	} else {
		e.Secondary, e.Cause = true, c.describe()
	}
	return e
}
