// Package step is one whole training step as calls of a kernels.Device: micro-batches, the gradient's norm,
// clipping and the optimizer. The trainer runs it, the planner records it. Start reading at Step.Run.
package step

import (
	"context"
	"encoding/binary"
	"fmt"
	"math"

	"boost-tui/experiment"
	"boost-tui/kernels"
	"boost-tui/model"
)

// Config is a step: the model's and the optimizer's.
type Config struct {
	Model        model.Config
	Clip         float64 // largest global gradient norm; 0: no clipping
	Beta1, Beta2 float64 // of AdamW, and of LORO's optimizer (METHOD.md §2)
	Eps          float64
	WeightDecay  float64
	Cycles       Cycles
	Zero         int // stage of ZeRO: 1 gives every data-parallel rank a slice of the optimizer; 0: all of it
}

// Cycles are what happens once in so many steps; a period of 0 is never.
type Cycles struct {
	Exact    int  // loro: an exact step instead of a lazy one
	Refresh  int  // loro: the moments of everything are cleared
	Merge    int  // relora: factors are merged and start anew, their moments too
	KeepStep bool // relora: a merge leaves AdamW's count of steps as it is
}

// due reports whether something with a period happens after step index.
func due(index, period int) bool { return period > 0 && index%period == 0 }

// ConfigOf is the step of a resolved experiment.
func ConfigOf(e experiment.Experiment) Config {
	return Config{Model: model.ConfigOf(e), Clip: e.Train.Clip, Beta1: e.Train.Beta1, Beta2: e.Train.Beta2,
		Eps: e.Train.Eps, WeightDecay: e.Train.WeightDecay, Zero: e.Parallel.Zero,
		Cycles: Cycles{Exact: e.Train.LOROEvery, Refresh: e.Train.LORORefresh, Merge: e.Train.ReLoRAEvery, KeepStep: e.Train.ReLoRAKeepStep != "off"}}
}

// Step is a rank's model with its optimizer.
type Step struct {
	cfg    Config
	dev    kernels.Device
	groups Groups
	model  *model.Decoder
	x      *kernels.Exec

	m, v               kernels.View // moments of the stretches, one after the other
	master             kernels.View // what the optimizer steps (master.go)
	sumsq, norm, scale kernels.View
	buckets            []bucket  // that the gradients are reduced in over data-parallel ranks
	started            int       // of them, in this step
	updates            []update  // what the optimizer does, in this order
	exchange           *exchange // loro on several ranks
	pipe               pipe
	tokens, results    *kernels.Host
}

// Input is what one step works on.
type Input struct {
	Tokens []int32 // of this data-parallel rank: micro-batches x sequences x (seq+1) token ids
	LR     float64
	Index  int // of the step, from 1
}

// Result is what a step measured, before its update: the same on every rank.
type Result struct {
	Loss     float64 // nats per token, mean over the step and all data-parallel ranks
	GradNorm float64 // global L2 norm before clipping
}

// New allocates a step of the rank that stands where its groups say.
func New(cfg Config, dev kernels.Device, g Groups) (*Step, error) {
	cfg, err := cfg.in(g)
	if err != nil {
		return nil, err
	}
	s := &Step{cfg: cfg, dev: dev, groups: g}
	if s.model, err = model.NewStage(cfg.Model, dev, g.TP, g.stage()); err != nil {
		return nil, err
	}
	if s.x, err = kernels.NewExec(dev); err != nil {
		return nil, fmt.Errorf("step: %w", err)
	}
	if err := s.allocate(); err != nil {
		return nil, fmt.Errorf("step: %w", err)
	}
	return s, nil
}

func (s *Step) allocate() error {
	var moments, small kernels.Layout
	s.plan()
	n := s.model.Weights().Cols / s.slices()
	m, v := moments.Add(1, n, kernels.F32), moments.Add(1, n, kernels.F32)
	if _, err := moments.Commit(s.dev, kernels.MemOptimizer, false); err != nil {
		return err
	}
	sumsq, norm, scale := small.Add(1, 1, kernels.F32), small.Add(1, 1, kernels.F32), small.Add(1, 1, kernels.F32)
	if _, err := small.Commit(s.dev, kernels.MemBuffers, s.groups.any()); err != nil {
		return err
	}
	s.m, s.v, s.sumsq, s.norm, s.scale = *m, *v, *sumsq, *norm, *scale
	if err := s.allocateMaster(); err != nil {
		return err
	}
	if err := s.allocateExchange(); err != nil {
		return err
	}
	s.pipe = newPipe(s.groups.PP, s.cfg.Model.Micros)
	c := s.cfg.Model
	var err error
	if s.tokens, err = s.dev.Host(int64(c.Micros) * int64(c.Rows()) * 2 * kernels.I32.Bytes()); err != nil {
		return err
	}
	s.results, err = s.dev.Host(2 * kernels.F32.Bytes())
	return err
}

// Model is the rank's part of the decoder.
func (s *Step) Model() *model.Decoder { return s.model }

// Run does one step: every micro-batch forward and backward, then the update. When the context ends, the
// communicators are aborted so that no rank waits for this one. On a device that records, the result is zero.
func (s *Step) Run(ctx context.Context, in Input) (Result, error) {
	if in.Index < 1 {
		return Result{}, fmt.Errorf("step: index %d: counts from 1", in.Index)
	}
	if err := s.stage(in.Tokens); err != nil {
		return Result{}, err
	}
	defer context.AfterFunc(ctx, s.groups.abort)()
	s.begin()
	for _, t := range s.pipe.order {
		if t.back {
			s.backward(t.micro)
		} else {
			s.forward(t.micro)
		}
	}
	s.pipe.settle()
	s.update(in)
	s.download("loss", s.model.Loss(), 0)
	s.download("norm", s.norm, 1)
	if err := s.finish(ctx); err != nil {
		return Result{}, fmt.Errorf("step %d: %w", in.Index, err)
	}
	return Result{Loss: s.result(0), GradNorm: s.result(1)}, nil
}

// Evaluate is the mean loss over the tokens of a step, without gradients or update.
func (s *Step) Evaluate(ctx context.Context, tokens []int32) (float64, error) {
	if err := s.stage(tokens); err != nil {
		return 0, err
	}
	defer context.AfterFunc(ctx, s.groups.abort)()
	s.begin()
	for micro := range s.cfg.Model.Micros {
		s.forward(micro)
	}
	s.pipe.settle()
	s.x.At(-1, "loss")
	s.x.Reduce("loss", s.groups.DP, s.model.Loss())
	s.x.Reduce("loss", s.groups.PP, s.model.Loss())
	s.download("loss", s.model.Loss(), 0)
	if err := s.finish(ctx); err != nil {
		return 0, fmt.Errorf("evaluation: %w", err)
	}
	return s.result(0), nil
}

func (s *Step) begin() {
	s.x.Reset()
	s.pipe.reset()
	s.started = 0
	s.model.Begin(s.x)
}

// stage lays the step's tokens out in host memory: per micro-batch the inputs, then the targets.
func (s *Step) stage(tokens []int32) error {
	c := s.cfg.Model
	if want := c.Micros * c.Batch * (c.Seq + 1); len(tokens) != want {
		return fmt.Errorf("step: %d tokens, want %d (%d micro-batches of %d sequences of %d+1)", len(tokens), want, c.Micros, c.Batch, c.Seq)
	}
	put := func(at int, id int32) { binary.NativeEndian.PutUint32(s.tokens.Bytes[4*at:], uint32(id)) }
	for i, id := range tokens {
		if id < 0 || int(id) >= c.Vocab {
			return fmt.Errorf("step: token %d of the step is %d, outside the vocabulary of %d", i, id, c.Vocab)
		}
		sequence, pos := i/(c.Seq+1), i%(c.Seq+1)
		micro, line := sequence/c.Batch, sequence%c.Batch
		ids := 2*micro*c.Rows() + line*c.Seq
		if pos < c.Seq {
			put(ids+pos, id)
		}
		if pos > 0 {
			put(ids+c.Rows()+pos-1, id)
		}
	}
	return nil
}

// upload brings a micro-batch's tokens to the stages that they belong to.
func (s *Step) upload(micro int) {
	ids, targets := s.model.Tokens(micro)
	s.x.Phase(kernels.Data, micro)
	s.x.At(-1, "data")
	each := int64(s.cfg.Model.Rows()) * kernels.I32.Bytes()
	if !ids.IsZero() {
		s.x.Do("ids", &kernels.Upload{Src: s.tokens, Offset: 2 * int64(micro) * each, Dst: ids})
	}
	if !targets.IsZero() {
		s.x.Do("targets", &kernels.Upload{Src: s.tokens, Offset: (2*int64(micro) + 1) * each, Dst: targets})
	}
}

func (s *Step) download(name string, v kernels.View, slot int64) {
	s.x.Do(name+".read", &kernels.Download{Src: v, Dst: s.results, Offset: slot * v.Bytes()})
}

func (s *Step) finish(ctx context.Context) error {
	if err := s.x.Err(); err != nil {
		return err
	}
	if err := s.dev.Sync(ctx, s.dev.Compute()); err != nil {
		return err
	}
	return s.groups.status()
}

func (s *Step) result(slot int) float64 {
	return float64(math.Float32frombits(binary.NativeEndian.Uint32(s.results.Bytes[4*slot:])))
}
