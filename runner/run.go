package runner

import (
	"encoding/json"
	"errors"
	"fmt"
	"time"

	"boost-tui/experiment"
	"boost-tui/profiler/record"
	"boost-tui/runner/protocol"
)

// Schema is the version of run.json, result.json and agent.json.
const Schema = 1

// ErrNewerSchema is wrapped by errors about runs that a later version of the program wrote.
var ErrNewerSchema = errors.New("written by a newer boost-tui")

// maxFileBytes bounds every JSON file of a run directory that is read whole.
const maxFileBytes = 1 << 20

// Run is run.json: what a run is. It is written once, before anything starts.
type Run struct {
	Schema     int       `json:"schema"`
	ID         string    `json:"id"` // also the directory's name
	Name       string    `json:"name,omitempty"`
	Tags       []string  `json:"tags,omitempty"` // at launch; later ones are in notes.json
	Created    time.Time `json:"created"`
	Argv       []string  `json:"argv,omitempty"`
	Host       string    `json:"host"` // where it was launched
	User       string    `json:"user,omitempty"`
	Launcher   Process   `json:"launcher"`
	Foreground bool      `json:"foreground"`
	After      string    `json:"after,omitempty"` // id of the run of the same store whose end it waits for
	Sweep      *SweepRef `json:"sweep,omitempty"` // nil: it belongs to none
	Resumed    *Resumed  `json:"resumed,omitempty"`
	Restart    *Restart  `json:"restart,omitempty"` // nil: it was launched by somebody
	// Preflight is what the run looks at instead of training: its machines; nil: it trains.
	Preflight  *protocol.PreflightSpec `json:"preflight,omitempty"`
	Experiment experiment.Experiment   `json:"experiment"` // resolved
	Model      record.ModelShape       `json:"model"`
	Plan       record.PlanFields       `json:"plan"`
	Predicted  *Predicted              `json:"predicted,omitempty"`
	Versions   Versions                `json:"versions"`
	Hosts      []string                `json:"hosts"`
	CPU        string                  `json:"cpu,omitempty"`   // processor of the first host
	Cores      int                     `json:"cores,omitempty"` // that its ranks share
	GPUs       []GPU                   `json:"gpus,omitempty"`  // one for each rank, where they compute on GPUs of this host
}

// GPU is a card of a run.
type GPU struct {
	Name string `json:"name"`
}

// Resumed is the checkpoint that a run continues.
type Resumed struct {
	Run  string `json:"run"`  // id of the run that wrote it
	Step int    `json:"step"` // the last one that it had done
	Dir  string `json:"dir"`
	// Experiment is what the checkpoint's run was, as experiment.Continued gives it: what this run says is said over it. nil: it
	// is not known.
	Experiment *experiment.Experiment `json:"experiment,omitempty"`
}

// Command is the arguments, boost-tui first, that make the same run again: a flag for each key that does not follow from the
// others, or from the checkpoint that it resumes.
func (r *Run) Command() []string {
	flags := r.Experiment.Flags
	if r.Experiment.Train.Resume != "" {
		flags = func() []string { return r.Experiment.FlagsOver(r.Resumed.experiment()) }
	}
	return append([]string{"boost-tui", "run"}, flags()...)
}

func (r *Resumed) experiment() *experiment.Experiment {
	if r == nil {
		return nil
	}
	return r.Experiment
}

// Predicted is what the planner said before the start. Absent values are unknown.
type Predicted struct {
	StepSeconds      float64 `json:"step_s,omitempty"`
	CommSeconds      float64 `json:"comm_s,omitempty"`
	MemBytes         int64   `json:"mem_b,omitempty"`               // per rank, on its device
	HostBytes        int64   `json:"host_b,omitempty"`              // of host memory, per rank
	CommBytesPerStep int64   `json:"comm_bytes_per_step,omitempty"` // payload of the rank with the most, the mean of all steps
	FLOPs            float64 `json:"flops,omitempty"`               // per step
	Parameters       int64   `json:"parameters,omitempty"`
	MachineBytes     int64   `json:"machine_b,omitempty"` // memory of the machine that it was planned for
}

// Versions say which program ran.
type Versions struct {
	Program string `json:"program,omitempty"`
	Binary  string `json:"binary,omitempty"` // sha256 of the file
	Go      string `json:"go,omitempty"`
	BLAS    string `json:"blas,omitempty"`
}

func shapeOf(m experiment.Model) record.ModelShape {
	return record.ModelShape{D: m.D, FF: m.FF, Layers: m.Layers, Heads: m.Heads, Vocab: m.Vocab, RankAttn: m.RankAttn, RankMLP: m.RankMLP}
}

func planOf(e experiment.Experiment) record.PlanFields {
	return record.PlanFields{
		Scheme: string(e.Parallel.Scheme), Variant: string(e.Model.Variant),
		Norm: e.Step.Norm, Grouped: e.Step.Grouping, Ckpt: e.Step.Recompute,
		TP: e.Parallel.TP, PP: e.Parallel.PP, DP: e.Parallel.DP, Zero: e.Parallel.Zero, SP: e.Parallel.SP, Link: e.Parallel.Link,
		MBS: e.Step.MicroBatch, Acc: e.Step.Accumulate, Seq: e.Step.Seq, DType: e.Step.DType, Device: e.Step.Device,
		Size: e.Model.Size, Seed: e.Train.Seed, Data: e.Train.Data,
	}
}

// ParseRun decodes run.json. A newer schema is ErrNewerSchema, with what could be read of it.
func ParseRun(data []byte) (Run, error) {
	var r Run
	err := json.Unmarshal(data, &r)
	if newer := newerSchema(data); newer > Schema {
		return r, fmt.Errorf("%s has schema %d, this program reads up to %d: %w; update boost-tui to open it", protocol.RunFile, newer, Schema, ErrNewerSchema)
	}
	if err != nil {
		return Run{}, fmt.Errorf("%s is damaged: %w", protocol.RunFile, err)
	}
	if r.Schema < 1 {
		return Run{}, fmt.Errorf("%s is damaged: it has no schema", protocol.RunFile)
	}
	if r.After != "" && (checkID(r.After) != nil || r.After == r.ID) { // it becomes a path, and is waited for
		return Run{}, fmt.Errorf("%s is damaged: it waits for a run %q", protocol.RunFile, clean(r.After, 40))
	}
	if err := errors.Join(r.Sweep.check(), r.Restart.check()); err != nil {
		return Run{}, fmt.Errorf("%s is damaged: %w", protocol.RunFile, err)
	}
	if w := r.World(); w < 1 || w > protocol.MaxRanks {
		return Run{}, fmt.Errorf("%s is damaged: it asks for %d ranks", protocol.RunFile, w)
	}
	return r, nil
}

// Kinds of runs.
const (
	KindTraining  = "training"
	KindPreflight = "preflight" // looks at the machines for a minute; it has no steps
)

// Kind is what the run's ranks do.
func (r Run) Kind() string {
	if r.Preflight != nil {
		return KindPreflight
	}
	return KindTraining
}

// World is the number of ranks; 0 where the experiment makes no sense.
func (r Run) World() int {
	p := r.Experiment.Parallel
	n := 1
	for _, k := range []int{p.TP, p.PP, p.DP} {
		if k < 1 || k > protocol.MaxRanks {
			return 0
		}
		n *= k
		if n > protocol.MaxRanks {
			return 0
		}
	}
	return n
}

// newerSchema looks at the schema alone: the other members of a newer file may have other types.
func newerSchema(data []byte) int {
	var s struct {
		Schema int `json:"schema"`
	}
	if json.Unmarshal(data, &s) != nil {
		return 0
	}
	return s.Schema
}
