// Package compare turns run directories into figures: a Summary of one run, a Table of several side
// by side with their speed-ups and what those are worth (PROFILING.md §7, DESIGN.md "What the
// numbers mean"). It knows run directories only by their files.
//
// Start reading at Summarize and Compare.
package compare

import (
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"path/filepath"
	"time"

	"boost-tui/experiment"
	"boost-tui/internal/regular"
	"boost-tui/profiler"
	"boost-tui/profiler/record"
)

// Run is what comparisons need of run.json; absent values are zero.
type Run struct {
	Dir     string            `json:"-"`
	Claimed string            `json:"-"` // the id in run.json, where the folder has another name; empty: the same
	Schema  int               `json:"schema"`
	ID      string            `json:"id"`
	Name    string            `json:"name"`
	Created time.Time         `json:"created"`
	Model   record.ModelShape `json:"model"`
	Plan    record.PlanFields `json:"plan"`
	// Experiment is what was asked for, every key resolved; nil: not recorded.
	Experiment *experiment.Experiment `json:"experiment"`
	// What PROFILING.md calls the same hardware and binary.
	Hosts    []string `json:"hosts"`
	CPU      string   `json:"cpu"`
	Cores    int      `json:"cores"`
	GPUs     []GPU    `json:"gpus"`
	Versions struct {
		Binary string `json:"binary"`
		BLAS   string `json:"blas"`
	} `json:"versions"`
	Predicted struct {
		StepSeconds  float64 `json:"step_s"`
		FLOPs        float64 `json:"flops"`
		MemBytes     int64   `json:"mem_b"`
		CommBytes    int64   `json:"comm_bytes_per_step"`
		ParameterCnt int64   `json:"parameters"`
	} `json:"predicted"`
}

// GPU of a run.
type GPU struct {
	Name string `json:"name"`
}

// PeakFLOPS is what all cards of a run can do per second at most in its type of numbers; 0: unknown.
func (r *Run) PeakFLOPS() float64 {
	if r.Experiment == nil || r.Experiment.Step.DType != experiment.BF16 {
		return 0
	}
	var sum float64
	for _, g := range r.GPUs {
		p, ok := profiler.PeakOf(g.Name)
		if !ok {
			return 0
		}
		sum += p.FLOPS
	}
	return sum
}

// result is what comparisons need of result.json.
type result struct {
	Schema int    `json:"schema"`
	State  string `json:"state"`
	Cause  string `json:"cause"`
}

// maxJSON bounds the files of a run directory that are read whole: they may be another user's.
const maxJSON = 4 << 20

// ReadRun reads a run's run.json.
func ReadRun(dir string) (Run, error) {
	r := Run{Dir: dir}
	path := filepath.Join(dir, "run.json")
	if err := readJSON(path, &r); err != nil {
		return r, err
	}
	if r.Schema > record.Schema {
		return r, fmt.Errorf("%s has schema %d: %w; update this program", path, r.Schema, record.ErrNewerSchema)
	}
	// The folder's name is the id, as everywhere: what a file says may be another run's, or no id at all.
	abs, err := filepath.Abs(dir)
	if err != nil {
		return r, fmt.Errorf("find the folder of %s: %w", dir, err)
	}
	if r.Claimed, r.ID = r.ID, filepath.Base(abs); r.Claimed == r.ID {
		r.Claimed = ""
	}
	return r, nil
}

// Readable tells runs whose files can be understood from the others, whose error says which they are and why.
func Readable(dirs []string) (good []string, bad error) {
	var errs []error
	for _, dir := range dirs {
		err := checkDir(dir)
		if err == nil {
			_, err = ReadRun(dir)
		}
		if err == nil {
			_, err = readResult(dir)
		}
		if err == nil {
			_, err = record.LastRollup(dir, 1)
		}
		if err != nil {
			errs = append(errs, fmt.Errorf("run %s: %w", filepath.Base(dir), err))
			continue
		}
		good = append(good, dir)
	}
	return good, errors.Join(errs...)
}

// readResult is empty for a run that has not ended.
func readResult(dir string) (result, error) {
	var r result
	err := readJSON(filepath.Join(dir, "result.json"), &r)
	if errors.Is(err, fs.ErrNotExist) {
		return result{}, nil
	}
	if err == nil && r.Schema > record.Schema {
		err = fmt.Errorf("%s has schema %d: %w; update this program", filepath.Join(dir, "result.json"), r.Schema, record.ErrNewerSchema)
	}
	return r, err
}

func readJSON(path string, v any) error {
	data, err := regular.ReadFile(path, maxJSON)
	if err != nil {
		return err
	}
	if err := json.Unmarshal(data, v); err != nil {
		return fmt.Errorf("%s is damaged: %w", path, err)
	}
	return nil
}
