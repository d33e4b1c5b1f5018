package runner

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"boost-tui/profiler/record"
	"boost-tui/runner/protocol"
)

// State is what has become of a run.
type State string

// States. Only Pending and Running change any more.
const (
	Pending   State = "pending"   // created, its agent not yet at work or waiting for another run
	Running   State = "running"   //
	Finished  State = "finished"  // every rank did its work
	Failed    State = "failed"    // something went wrong; the cause says what
	Cancelled State = "cancelled" // somebody ended it
	Lost      State = "lost"      // nobody looks after it and nothing says how it ended

	Unreadable State = "unreadable" // damaged, or another user's, who lets nobody read it: nothing is known
)

// Over reports whether the run has ended, or nobody can say more of it.
func (s State) Over() bool { return s != Pending && s != Running && s != "" }

// Result is result.json: how a run ended. It is written once.
type Result struct {
	Schema  int             `json:"schema"`
	State   State           `json:"state"`
	Cause   string          `json:"cause,omitempty"`
	Fault   Fault           `json:"fault,omitempty"` // absent where it finished, and in results of earlier versions
	Ranks   []RankExit      `json:"ranks"`
	Started time.Time       `json:"started"`
	Ended   time.Time       `json:"ended"`
	Summary json.RawMessage `json:"summary,omitempty"` // profiler/compare.Summary
	// Lost are the hosts that were lost while it ran, by the names that records call them.
	Lost []string `json:"lost,omitempty"`
	// RestartedAs is the id of the run that goes on from this one. It is added when that run is there.
	RestartedAs string `json:"restarted_as,omitempty"`
}

// RankExit is a rank's end in short; exit/r*.json has the whole record.
type RankExit struct {
	Rank   int    `json:"rank"`
	Code   int    `json:"code"`
	Signal string `json:"signal,omitempty"`
}

// ParseResult decodes result.json.
func ParseResult(data []byte) (Result, error) {
	var r Result
	err := json.Unmarshal(data, &r)
	if newer := newerSchema(data); newer > Schema {
		return r, fmt.Errorf("%s has schema %d, this program reads up to %d: %w", protocol.ResultFile, newer, Schema, ErrNewerSchema)
	}
	if err != nil {
		return Result{}, fmt.Errorf("%s is damaged: %w", protocol.ResultFile, err)
	}
	switch r.State {
	case Finished, Failed, Cancelled, Lost:
		return r, nil
	}
	return Result{}, fmt.Errorf("%s is damaged: it says the state is %q", protocol.ResultFile, clean(string(r.State), 20))
}

func writeResult(dir string, r Result) error { return putResult(dir, r, protocol.WriteFile) }

// writeNewResult is writeResult for who is not alone: errors.Is(err, fs.ErrExist) where another one was faster.
func writeNewResult(dir string, r Result) error { return putResult(dir, r, protocol.WriteNew) }

// writeFirstResult is writeResult for the agents of several hosts: what another one wrote first stands.
func writeFirstResult(dir string, r Result) error {
	if err := writeNewResult(dir, r); !errors.Is(err, fs.ErrExist) {
		return err
	}
	return nil
}

func putResult(dir string, r Result, write func(path string, data []byte) error) error {
	r.Schema = Schema
	data, err := json.MarshalIndent(r, "", " ")
	if err != nil {
		return fmt.Errorf("encode %s: %w", protocol.ResultFile, err)
	}
	return record.Explain(write(filepath.Join(dir, protocol.ResultFile), append(data, '\n')))
}
