package sweeps

import (
	"encoding/json"
	"errors"
	"fmt"

	"boost-tui/runner"
)

// Kinds of journal lines. Lines of unknown kinds are of a newer program and are left alone.
const (
	kindCreate  = "create"  // schema, name, argv
	kindPlan    = "plan"    // n, key: plan-NNN.json belongs to the sweep from here on
	kindOptions = "options" // options
	kindPause   = "pause"   // who, now
	kindResume  = "resume"  // who
	kindFirst   = "first"   // ids to the front of the queue; none: forget what was moved
	kindSkip    = "skip"    // ids
	kindRetry   = "retry"   // ids, again: also those that finished

	// Of the program that looks after the sweep. All carry its epoch, those of an earlier epoch mean nothing.
	kindHold    = "hold"    // process, until: the last sign of life of the one before, where it left without a word
	kindRelease = "release" //
	kindBegin   = "begin"   // point, attempt
	kindRun     = "run"     // point, attempt, run
	kindAdopt   = "adopt"   // point, attempt, run
	kindEnd     = "end"     // point, attempt, state, …
	kindStop    = "stop"    // cause
	kindNote    = "note"    // cause: the text
)

// line is one line of the journal.
type line struct {
	T       int64           `json:"t"` // Unix nanoseconds
	K       string          `json:"k"`
	Schema  int             `json:"schema,omitempty"`
	Epoch   int             `json:"epoch,omitempty"` // counts the programs that have looked after the sweep
	Name    string          `json:"name,omitempty"`
	Argv    []string        `json:"argv,omitempty"`
	N       int             `json:"n,omitempty"`
	Key     string          `json:"key,omitempty"`
	Options *Options        `json:"options,omitempty"`
	Who     string          `json:"who,omitempty"`
	Now     bool            `json:"now,omitempty"`
	IDs     []string        `json:"ids,omitempty"`
	Process *runner.Process `json:"process,omitempty"`
	Until   int64           `json:"until,omitempty"` // Unix nanoseconds
	Point   string          `json:"point,omitempty"`
	Attempt int             `json:"attempt,omitempty"`
	Run     string          `json:"run,omitempty"`
	State   string          `json:"state,omitempty"`
	Cause   string          `json:"cause,omitempty"`
	Machine bool            `json:"machine,omitempty"`
	Again   bool            `json:"again,omitempty"`
	Rule    string          `json:"rule,omitempty"`
	Seconds float64         `json:"seconds,omitempty"`
	Ended   int64           `json:"ended,omitempty"` // Unix nanoseconds; 0: when the line was written
}

// lasting reports whether the line must be on the disk before anything else happens. What became of an attempt that
// began need not: its run's own record says it as well, so that after a power failure it is written down anew from there.
// And the next line that must be there takes those before it along. Waiting for a disk that is busy is most of what stands
// between two runs.
func (l *line) lasting() bool {
	switch l.K {
	case kindRun, kindAdopt, kindEnd, kindNote:
		return false
	}
	return true
}

// encode is the line with its newline.
func (l *line) encode() ([]byte, error) {
	data, err := json.Marshal(l)
	if err != nil {
		return nil, fmt.Errorf("encode a line of %s: %w", JournalFile, err)
	}
	if len(data) >= maxLineBytes {
		return nil, fmt.Errorf("a line of %s would have %d bytes, more than %d: name fewer points at once", JournalFile, len(data), maxLineBytes)
	}
	return append(data, '\n'), nil
}

// parseLine decodes a line. A line that says it is of a newer schema is runner.ErrNewerSchema, whatever else it holds.
func parseLine(data []byte, l *line) error {
	*l = line{}
	if fastLine(data, l) {
		return l.check()
	}
	*l = line{}
	err := json.Unmarshal(data, l)
	if l.Schema > Schema {
		return newer(JournalFile, l.Schema)
	}
	if err != nil {
		return err
	}
	return l.check()
}

func (l *line) check() error {
	if l.K == "" || l.T <= 0 {
		return errors.New("it has no kind or no time")
	}
	return nil
}

func newer(file string, schema int) error {
	return fmt.Errorf("%s has schema %d, this program reads up to %d: %w; update boost-tui to open it", file, schema, Schema, runner.ErrNewerSchema)
}
