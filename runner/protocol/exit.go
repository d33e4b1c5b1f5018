package protocol

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"os"
)

// MaxExitBytes bounds the file of an exit record.
const MaxExitBytes = 256 << 10

// ExitRecord says how a rank ended. The rank writes its own when it fails; the agent completes it
// (or writes it, when the rank could not) from the wait status, the flight board and the log.
type ExitRecord struct {
	Schema int    `json:"schema"`
	Rank   int    `json:"rank"`
	Code   int    `json:"code"`             // exit code; -1 when a signal ended it
	Signal string `json:"signal,omitempty"` // "SIGKILL"; empty: it exited
	Cause  string `json:"cause,omitempty"`  // one line for people
	// OutOfMemory is set where the kernel killed it for lack of memory.
	OutOfMemory bool `json:"out_of_memory,omitempty"`
	// Secondary is set where the rank ended only because another one (or the agent) did: its
	// collective was aborted, its peer vanished, it was told to stop. The run's cause is then another rank's.
	Secondary bool `json:"secondary,omitempty"`
	// Step and Operation are where it was; Step 0 before the first step.
	Step      int      `json:"step"`
	Operation string   `json:"operation,omitempty"`
	TSNanos   int64    `json:"ts_ns"`              // Unix time of the failure, as the rank or the agent noticed it
	LogTail   []string `json:"log_tail,omitempty"` // last lines, free of control characters
}

// CodeCancelled is the exit code of a rank that was told to stop and did so between two steps.
const CodeCancelled = 130

// CodeSecondary is the exit code of a rank that ended only because another one, or its agent, did. It says so even
// where the rank cannot write its record.
const CodeSecondary = 4

// OK reports an end without a failure.
func (e ExitRecord) OK() bool { return e.Code == 0 && e.Signal == "" }

// WriteExit puts the record of a rank into the run directory, whole or not at all.
func WriteExit(runDir string, e ExitRecord) error {
	e.Schema = Schema
	data, err := json.Marshal(e)
	if err != nil {
		return fmt.Errorf("encode exit record of rank %d: %w", e.Rank, err)
	}
	// Not MkdirAll: a run that was deleted underway must not come back as a directory without run.json.
	if err := os.Mkdir(ExitDir(runDir), DirMode); err != nil && !errors.Is(err, fs.ErrExist) {
		return fmt.Errorf("exit record of rank %d: %w", e.Rank, err)
	}
	if err := WriteFile(ExitPath(runDir, e.Rank), append(data, '\n')); err != nil {
		return fmt.Errorf("exit record of rank %d: %w", e.Rank, err)
	}
	return nil
}

// ReadExit reads the record of a rank; errors.Is(err, fs.ErrNotExist) when there is none.
func ReadExit(runDir string, rank int) (ExitRecord, error) {
	data, err := ReadFile(ExitPath(runDir, rank), MaxExitBytes)
	if err != nil {
		return ExitRecord{}, err
	}
	e, err := ParseExit(data)
	if err == nil && e.Rank != rank {
		err = fmt.Errorf("exit record of rank %d says it is rank %d's", rank, e.Rank)
	}
	return e, err
}

// ParseExit decodes a record.
func ParseExit(data []byte) (ExitRecord, error) {
	var e ExitRecord
	if err := json.Unmarshal(data, &e); err != nil {
		return ExitRecord{}, fmt.Errorf("exit record: %w", err)
	}
	if e.Schema > Schema {
		return ExitRecord{}, fmt.Errorf("exit record has schema %d, this program knows %d: read it with a newer boost-tui", e.Schema, Schema)
	}
	if e.Rank < 0 || e.Rank >= MaxRanks || e.Step < 0 {
		return ExitRecord{}, fmt.Errorf("exit record of rank %d at step %d makes no sense", e.Rank, e.Step)
	}
	return e, nil
}
