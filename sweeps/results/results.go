package results

import (
	"time"

	"boost-tui/experiment"
	"boost-tui/profiler/compare"
	"boost-tui/sweeps"
	"boost-tui/sweeps/space"
)

// Table is a sweep in figures: DESIGN.md's `sweep` object. Times are in seconds, sizes in bytes; what is absent is unknown.
type Table struct {
	ID      string         `json:"id"`
	Name    string         `json:"name,omitempty"`
	Created time.Time      `json:"created"`
	State   sweeps.Phase   `json:"state"`
	Cause   string         `json:"cause,omitempty"`
	Axes    []string       `json:"axes"` // keys, in the order of the plans
	Counts  Counts         `json:"counts"`
	Rows    []*Row         `json:"rows"` // one for each point, in planned order; see Sort
	Pruned  []space.Pruned `json:"pruned"`
	// Estimate is of what is left.
	Estimate Estimate `json:"estimate"`
	Worked   float64  `json:"worked"`       // seconds that programs looked after the sweep
	Hours    float64  `json:"device_hours"` // ranks x hours of all attempts that have ended

	base experiment.Experiment // of all points
	keep []func(*Row) bool     // what it was filtered by
}

// Counts says how many points there are of each status.
type Counts struct {
	Points    int `json:"points"`
	Queued    int `json:"queued"`
	Running   int `json:"running"`
	Finished  int `json:"finished"`
	Failed    int `json:"failed"`
	Stopped   int `json:"stopped"`
	Cancelled int `json:"cancelled"`
	Skipped   int `json:"skipped"`
	Pruned    int `json:"pruned"`
}

// Row is a point with what its run measured. Its JSON is flat: every axis is a member of its own (json.go).
type Row struct {
	Point  string // id
	Label  string
	Twin   bool   // only there because another point needs it
	Run    string // the run that counts: the last attempt's; empty: the point waits for its (next) one
	Dir    string // of the run
	Status sweeps.Status
	Cause  string
	Rule   string // the stopping rule that ended the run
	// Partial: its run has not done all of its work, and its figures are those so far. It goes on; or it is Unfinished:
	// it failed, was stopped, or was cancelled.
	Partial, Unfinished bool

	Experiment experiment.Experiment // resolved
	Variant    string
	Scheme     string
	TP, Rank   int    // Rank 0: the variant has none, or attention and MLP have different ones
	Size       string // the preset's name, or the shape where it is none
	Ranks      int
	Steps      int // that it will train

	Attempts int
	Attempt  int     // which of them Run is of, from 1; 0: there is no Run
	Earlier  []*Row  // attempts that do not count and have a run, in their order: rows with its figures and without speed-ups
	Seconds  float64 // that the ranks of the counting run ran; 0: not known yet
	Tokens   int64   // of one step, all ranks

	Figures    compare.Summary // of the run; its zero value has none
	Overlapped []string        // ids of runs that ran beside it on one machine and slowed it
	VsFull     *Versus         // nil: no such twin in the sweep, or no figures of one of the two
	VsVanilla  *Versus
	Err        error // why the run's files or the point's plan could not be read

	axes []string
}

// Versus is a speed-up over a twin.
type Versus struct {
	compare.Speedup
	Run         string   `json:"run,omitempty"` // the twin's; of a configuration's, empty where there are several
	Comparable  bool     `json:"comparable"`
	LossMatches bool     `json:"loss_comparable"`
	Differs     []string `json:"differs,omitempty"` // what else differs than comparisons are made for
	// Pooled says how many runs the two sides of the ratio and its interval rest on, the twin's first: one each, or all
	// repeats from three on.
	Pooled [2]int `json:"pooled"`
	Marks         // of the two runs: those that are Partial have no verdict
}
