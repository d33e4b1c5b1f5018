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
	"boost-tui/runner/slurm"
)

// Kinds of jobs.
const (
	jobSlurm = "slurm" // submitted for the run
	// jobAllocation is a job that was there before: it is only known to end with its runs, and never ended for them.
	jobAllocation = "slurm-allocation"
)

// jobFile is job.json: the job of a scheduler's that the run is, or is part of.
type jobFile struct {
	Schema int    `json:"schema"`
	Kind   string `json:"kind"`
	slurm.Ref
	Submitted time.Time `json:"submitted"`
	Host      string    `json:"host"`              // that it was submitted from
	Script    string    `json:"script,omitempty"`  // which runs as the job, and that the user can submit again
	Command   []string  `json:"command,omitempty"` // that submitted it
}

// own reports that the job was submitted for the run.
func (f jobFile) own() bool { return f.Kind == jobSlurm }

func writeJob(dir string, f jobFile) error {
	f.Schema = Schema
	data, err := json.MarshalIndent(f, "", " ")
	if err != nil {
		return fmt.Errorf("encode %s: %w", protocol.JobFile, err)
	}
	return record.Explain(protocol.WriteFile(filepath.Join(dir, protocol.JobFile), append(data, '\n')))
}

// readJob is fs.ErrNotExist where the run is no job.
func readJob(dir string) (jobFile, error) {
	data, err := protocol.ReadFile(filepath.Join(dir, protocol.JobFile), maxFileBytes)
	if err != nil {
		return jobFile{}, err
	}
	return parseJob(data)
}

func parseJob(data []byte) (jobFile, error) {
	var f jobFile
	err := json.Unmarshal(data, &f)
	if newer := newerSchema(data); newer > Schema {
		return jobFile{}, fmt.Errorf("%s has schema %d, this program reads up to %d: %w", protocol.JobFile, newer, Schema, ErrNewerSchema)
	}
	switch {
	case err != nil:
		return jobFile{}, fmt.Errorf("%s is damaged: %w", protocol.JobFile, err)
	case f.Kind != jobSlurm && f.Kind != jobAllocation:
		return jobFile{}, fmt.Errorf("%s is damaged: it speaks of a %q", protocol.JobFile, clean(f.Kind, 40))
	}
	if err := f.Ref.Check(); err != nil {
		return jobFile{}, fmt.Errorf("%s is damaged: %w", protocol.JobFile, err)
	}
	return f, nil
}

// jobName is what the job of a run is called in the queue: it tells the run, and nobody else's is called so.
func jobName(r Run) string { return "boost-tui-" + r.ID }

// ownJob is the job that was submitted for a run; false: there is none, or its file says nothing that is understood.
func ownJob(dir string) (jobFile, bool) {
	f, err := readJob(dir)
	return f, err == nil && f.own() && ownFile(filepath.Join(dir, protocol.JobFile))
}

// noJob reports that the run is no job at all.
func noJob(err error) bool { return errors.Is(err, fs.ErrNotExist) }
