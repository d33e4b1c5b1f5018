// Package planner says what an experiment needs before it runs: parameters, memory, communication and
// FLOPs. It asks nobody's formulas: it runs one step of the real model on the recording device and adds up what
// was asked for, so that what is planned is what the trainer executes.
//
// Start reading at New; recording.go makes the step, memory.go prices it.
package planner

import (
	"fmt"

	"boost-tui/experiment"
	"boost-tui/model"
	"boost-tui/step"
)

// Plan is the prediction for an experiment on a machine. The JSON is DESIGN.md's `plan`; the time of a step is not
// predicted in this version. Sizes are bytes of one rank, unless they say otherwise.
type Plan struct {
	Parameters        int64    `json:"parameters"`          // of the whole model
	ParametersPerRank int64    `json:"parameters_per_rank"` // replicas included
	Memory            Memory   `json:"memory"`
	Fits              bool     `json:"fits"`                 // false where Fit says no
	Fit               Fit      `json:"fit"`                  // whether the machine has the memory, and on GPUs a GPU for every rank
	MachineBytes      int64    `json:"machine_bytes"`        // memory of the machine, or of the GPUs that the ranks have; 0: unknown
	NeedBytes         int64    `json:"need_bytes"`           // of all ranks on the machine, with their copies for checkpoints
	Block             Block    `json:"block"`                // one decoder block, one micro-batch, one rank
	Outside           Outside  `json:"outside"`              // what is not in a block
	FLOPs             int64    `json:"flops"`                // model FLOPs of a step, all ranks (DESIGN.md: 3 x forward)
	RankFLOPs         int64    `json:"flops_per_rank"`       // executed by one rank in a step
	Collectives       int64    `json:"collectives_per_step"` // group calls of one rank
	Transfers         int64    `json:"transfers_per_step"`   // sends to other stages of one rank
	StepBytes         int64    `json:"comm_bytes_per_step"`  // payload of one rank, statistics included
	MostBytes         int64    `json:"comm_bytes_most"`      // payload per step, over all steps of a run, of the rank of any stage that communicates most: what a run reports
	WireBytes         int64    `json:"wire_bytes_per_step"`  // what a ring sends from one rank
	Exact             *Cycle   `json:"exact_step,omitempty"` // loro: what comes on top of a step once in a while
	TokensPerStep     int64    `json:"tokens_per_step"`      // over all ranks
	Stage             int      `json:"stage"`                // of the pipeline, that the figures of one rank are about: whose ranks need most memory
	DType             string   `json:"dtype"`                // that the bytes are counted in
	Notes             []string `json:"notes"`
}

// Memory is bytes of one rank by use.
type Memory struct {
	Weights     int64 `json:"weights"`
	Gradients   int64 `json:"gradients"`
	Optimizer   int64 `json:"optimizer"`
	Activations int64 `json:"activations"`
	Logits      int64 `json:"logits"`
	Buffers     int64 `json:"buffers"`
	Total       int64 `json:"total"` // of what is above
	// Checkpoint is the copy in host memory, beside Total, of what the rank writes into checkpoints, while it keeps any:
	// weights and both moments in fp32. Of sltrain's it is an upper bound.
	Checkpoint int64 `json:"checkpoint"`
	// Host is what the rank's process needs of host memory: on a processor Total, on a GPU what is assumed (GPUHostBytes), and in both
	// cases what passes through the host: Checkpoint, copies for update ratios, the largest tensor while a checkpoint is read.
	Host int64 `json:"host"`
}

// Cycle is what one rank does once in so many steps.
type Cycle struct {
	Every       int   `json:"every"` // steps
	Collectives int64 `json:"collectives"`
	Bytes       int64 `json:"comm_bytes"` // payload, in fp32
}

// Block is the work of one decoder block on one rank for one micro-batch.
type Block struct {
	Forward  Direction `json:"forward"`
	Backward Direction `json:"backward"`
	// FLOPs is forward and backward together, as executed.
	FLOPs int64 `json:"flops"`
	// ArithmeticIntensity is FLOPs per byte of the forward's matrix products: total FLOP over total bytes of
	// operands and results (METHOD.md §3.10).
	ArithmeticIntensity float64 `json:"arithmetic_intensity"`
	// MLPArithmeticIntensity is the same of the MLP alone, which the published ratios are about.
	MLPArithmeticIntensity float64 `json:"mlp_arithmetic_intensity"`
}

// Direction is the forward or the backward of something.
type Direction struct {
	Collectives []Collective `json:"collectives"`
	Elements    int64        `json:"elements"`   // payload of all collectives
	Statistics  int64        `json:"statistics"` // those of them that are row statistics, not activations
	FLOPs       int64        `json:"flops"`
}

// Collective is one communication group call.
type Collective struct {
	Op       string `json:"op"`
	Label    string `json:"label"`
	Elements int64  `json:"elements"`
}

// Outside is the embedding, the head and the loss, as far as the stage has them, for one micro-batch, and the optimizer.
type Outside struct {
	Forward   Direction  `json:"forward"`
	Backward  Direction  `json:"backward"`
	Optimizer Direction  `json:"optimizer"`
	Replicas  *Direction `json:"replicas,omitempty"` // gradients over data-parallel ranks, once in a step
	Stages    *Direction `json:"stages,omitempty"`   // what goes to other stages, for one micro-batch
}

// New predicts a resolved experiment. An experiment that breaks rules is an error that lists them
// (*experiment.InvalidError); one that does not fit the machine is a plan with Fits false.
func New(e experiment.Experiment, m Machine) (*Plan, error) {
	if err := experiment.Invalid(e.Validate(experiment.Machine{})); err != nil {
		return nil, err
	}
	cfg := step.ConfigOf(e)
	saves := e.Train.KeepLast > 0
	loads, err := loadsOf(cfg, e.Parallel, saves)
	if err != nil {
		return nil, fmt.Errorf("plan %s %s under %s: %w", e.Model.Size, e.Model.Variant, e.Parallel.Scheme, err)
	}
	r, err := recordStep(cfg, e.Parallel, loads.most)
	if err != nil {
		return nil, fmt.Errorf("plan %s %s under %s: %w", e.Model.Size, e.Model.Variant, e.Parallel.Scheme, err)
	}
	p := &Plan{Parameters: model.Count(cfg.Model), ParametersPerRank: r.parameters, Memory: memoryOf(r.memory),
		FLOPs: model.FLOPs(cfg.Model) * int64(e.Parallel.DP), Stage: loads.most, TokensPerStep: e.TokensPerStep(), DType: e.Step.DType}
	if saves {
		p.Memory.Checkpoint = r.saved
	}
	p.NeedBytes = loads.total
	p.Fit = m.fit(e, loads)
	p.Memory.Host = hostBytes(e, p.Memory, r.staging, p.Fit.Of == OfGPU)
	p.Fits, p.MachineBytes = p.Fit.Verdict != FitNo, m.total()
	if p.Fit.Of == OfGPU {
		p.MachineBytes = m.GPUMemBytes * int64(e.World())
	}
	r.block(&p.Block, cfg.Model.DType.Bytes())
	r.outside(&p.Outside)
	r.totals(p)
	if r.exact.Every > 0 {
		p.Exact = &r.exact
	}
	if err := p.busiest(cfg, e, r); err != nil {
		return nil, fmt.Errorf("plan %s %s under %s: %w", e.Model.Size, e.Model.Variant, e.Parallel.Scheme, err)
	}
	p.Notes = notes(e, p)
	return p, nil
}
