package planner

import (
	"context"
	"strings"

	"boost-tui/experiment"
	"boost-tui/kernels"
	"boost-tui/kernels/record"
	"boost-tui/model"
	"boost-tui/step"
)

// recording is one rank's step. Ranks of a stage do the same, so the first stands for all.
type recording struct {
	dev        *record.Device
	stage      model.Stage
	memory     map[string]int64 // bytes by use
	parameters int64
	saved      int64 // bytes that the rank writes into a checkpoint
	savedByAll int64 // that all ranks of the stage write
	staging    staging
	rows       int64 // tokens of a micro-batch
	micros     int64 // of the step; fewer are recorded
	layer      int   // the block that stands for all: the stage's last, which has crossings where there are any
	exact      Cycle // loro: what an exact step does more
}

// recordStep runs a step of a stage on the recorder. Micro-batches after the first are alike, so that the second stands for them.
func recordStep(cfg step.Config, p experiment.Parallel, stage int) (*recording, error) {
	r := &recording{rows: int64(cfg.Model.Rows()), micros: int64(cfg.Model.Micros), layer: (stage+1)*cfg.Model.Layers/p.PP - 1}
	cfg = fewer(cfg, p)
	s, err := r.allocate(cfg, p, stage)
	if err != nil {
		return nil, err
	}
	tokens := make([]int32, cfg.Model.Micros*cfg.Model.Batch*(cfg.Model.Seq+1))
	if every := cfg.Cycles.Exact; every > 0 {
		if _, err := s.Run(context.Background(), step.Input{Tokens: tokens, LR: 1, Index: every}); err != nil {
			return nil, err
		}
		r.exact = r.optimizer()
		r.dev.Reset()
	}
	if _, err := s.Run(context.Background(), step.Input{Tokens: tokens, LR: 1, Index: ordinary(cfg.Cycles)}); err != nil {
		return nil, err
	}
	if r.exact.Every = cfg.Cycles.Exact; r.exact.Every > 0 {
		often := r.optimizer()
		r.exact.Collectives -= often.Collectives
		r.exact.Bytes -= often.Bytes
	}
	return r, nil
}

// fewer is the step with as few micro-batches as tell everything: two, or as many as a pipeline holds at most.
func fewer(cfg step.Config, p experiment.Parallel) step.Config {
	cfg.Model.Micros = min(cfg.Model.Micros, max(2, p.PP))
	return cfg
}

// ordinary is the index of a step after which nothing is due, where there is one.
func ordinary(c step.Cycles) int { return max(1, c.Exact, c.Merge) + 1 }

// optimizer adds up what the optimizer communicates.
func (r *recording) optimizer() (c Cycle) {
	for i := range r.dev.Calls() {
		if x := &r.dev.Calls()[i]; x.Class == kernels.Communication && x.Label.Phase == kernels.Optimizer {
			c.Collectives++
			c.Bytes += x.Payload
		}
	}
	return c
}

// allocate makes the step of a stage's first rank, which allocates all it ever needs.
func (r *recording) allocate(cfg step.Config, p experiment.Parallel, stage int) (*step.Step, error) {
	r.dev = record.New(record.Options{})
	var g step.Groups
	for _, a := range []struct {
		name     string
		n, place int
		to       *kernels.Comm
	}{{"tp", p.TP, 0, &g.TP}, {"dp", p.DP, 0, &g.DP}, {"pp", p.PP, stage, &g.PP}} {
		if a.n == 1 {
			continue
		}
		var err error
		if *a.to, err = r.dev.Join(context.Background(), kernels.UID{}, a.n, a.place, a.name); err != nil {
			return nil, err
		}
	}
	s, err := step.New(cfg, r.dev, g)
	if err != nil {
		return nil, err
	}
	r.stage = s.Model().Stage()
	r.memory = r.dev.Memory()
	for _, p := range s.Model().Params() {
		r.parameters += p.Weight.Len()
	}
	r.staging = stagingOf(s)
	r.saved, r.savedByAll = s.SavedBytes(0, 0), s.StageSavedBytes()
	return s, nil
}

// loads is the memory of the ranks.
type loads struct {
	most  int   // the stage whose ranks need most
	rank  int64 // bytes of one of these, on its device
	total int64 // bytes of all ranks of all stages, and of what they copy for checkpoints
}

// need is the bytes of a rank of a stage, and those of what all its ranks copy for checkpoints.
type need struct{ rank, saved int64 }

// loadsOf allocates every stage; saves says that ranks copy what they write into checkpoints. Stages that are neither the first nor the last need the same with the same number of
// micro-batches in flight.
func loadsOf(cfg step.Config, p experiment.Parallel, saves bool) (loads, error) {
	cfg = fewer(cfg, p)
	var l loads
	inner := map[int]need{}
	for i := range p.PP {
		stage := model.Stage{Index: i, Count: p.PP}
		flight := stage.InFlight(cfg.Model.Micros)
		n, known := inner[flight]
		if !known || stage.First() || stage.Last() {
			var r recording
			if _, err := r.allocate(cfg, p, i); err != nil {
				return l, err
			}
			n = need{rank: memoryOf(r.memory).Total}
			if saves {
				n.saved = r.savedByAll
			}
			if !stage.First() {
				inner[flight] = n
			}
		}
		if n.rank > l.rank {
			l.rank, l.most = n.rank, i
		}
		l.total += n.rank*int64(p.TP)*int64(p.DP) + n.saved
	}
	return l, nil
}

// times is how often a recorded call happens in the step.
func (r *recording) times(c *record.Call) int64 {
	switch {
	case c.Label.Micro == 0 || onceAStep(c.Label):
		return 1
	case c.Label.Micro == 1:
		return r.micros - 1
	default:
		return 0
	}
}

// onceAStep reports whether a call of the backward happens once, not for every micro-batch.
func onceAStep(l kernels.Label) bool {
	return l.Phase == kernels.Backward && (l.Chunk == model.ChunkFactors || l.Chunk == step.ChunkReplicas)
}

// totals adds the step up.
func (r *recording) totals(p *Plan) {
	for i := range r.dev.Calls() {
		c := &r.dev.Calls()[i]
		n := r.times(c)
		p.RankFLOPs += n * c.FLOPs
		if c.Class != kernels.Communication {
			continue
		}
		switch {
		case c.Op == kernels.RecvName:
			continue // counted where it is sent
		case c.Peer >= 0:
			p.Transfers += n
		default:
			p.Collectives += n
		}
		p.StepBytes += n * c.Payload
		p.WireBytes += n * c.WireBytes
	}
}

// direction adds up the first micro-batch's calls that keep accepts.
func (r *recording) direction(keep func(kernels.Label) bool) Direction {
	d := Direction{Collectives: []Collective{}}
	for i := range r.dev.Calls() {
		c := &r.dev.Calls()[i]
		if c.Label.Micro != 0 && !onceAStep(c.Label) || !keep(c.Label) {
			continue
		}
		d.FLOPs += c.FLOPs
		if c.Class != kernels.Communication || c.Op == kernels.RecvName {
			continue
		}
		elements := c.Elements()
		d.Collectives = append(d.Collectives, Collective{c.Op, c.Label.Op, elements})
		d.Elements += elements
		for _, part := range c.Parts {
			if statistic(part, r.rows) {
				d.Statistics += part.Elements
			}
		}
	}
	return d
}

// block describes one block, which stands for all.
func (r *recording) block(b *Block, element int64) {
	in := func(p kernels.Phase) func(kernels.Label) bool {
		return func(l kernels.Label) bool { return l.Layer == r.layer && l.Phase == p }
	}
	b.Forward, b.Backward = r.direction(in(kernels.Forward)), r.direction(in(kernels.Backward))
	b.FLOPs = b.Forward.FLOPs + b.Backward.FLOPs
	b.ArithmeticIntensity = r.intensity(element, in(kernels.Forward))
	b.MLPArithmeticIntensity = r.intensity(element, func(l kernels.Label) bool {
		return in(kernels.Forward)(l) && strings.HasPrefix(l.Chunk, "mlp.")
	})
}

func (r *recording) outside(o *Outside) {
	in := func(p kernels.Phase) func(kernels.Label) bool {
		return func(l kernels.Label) bool {
			return l.Layer < 0 && l.Phase == p && l.Chunk != step.ChunkReplicas && l.Chunk != step.ChunkStages
		}
	}
	o.Forward, o.Backward, o.Optimizer = r.direction(in(kernels.Forward)), r.direction(in(kernels.Backward)), r.direction(in(kernels.Optimizer))
	o.Replicas = r.some(func(l kernels.Label) bool { return l.Chunk == step.ChunkReplicas })
	o.Stages = r.some(func(l kernels.Label) bool { return l.Chunk == step.ChunkStages })
}

// some is direction, or nil where nothing is communicated.
func (r *recording) some(keep func(kernels.Label) bool) *Direction {
	d := r.direction(keep)
	if len(d.Collectives) == 0 {
		return nil
	}
	return &d
}

// intensity is FLOPs per byte of the matrix products that keep accepts, of elements of so many bytes, each operand moved once (METHOD.md §3.10).
func (r *recording) intensity(element int64, keep func(kernels.Label) bool) float64 {
	var flops, elements float64
	for i := range r.dev.Calls() {
		c := &r.dev.Calls()[i]
		if c.Count == 0 || c.Label.Micro != 0 || !keep(c.Label) {
			continue
		}
		m, n, k, count := float64(c.M), float64(c.N), float64(c.K), float64(c.Count)
		flops += 2 * m * n * k * count
		elements += (m*k + k*n + m*n) * count
	}
	if elements == 0 {
		return 0
	}
	return flops / (elements * float64(element))
}

// statistic reports whether a part of a collective holds numbers per row (sums of squares, maxima), or one number:
// those travel in fp32 whatever the type of the activations (METHOD.md §3.5).
func statistic(p record.Part, rows int64) bool {
	return p.Kind == kernels.AllReduce && p.Elements <= 2*rows
}
