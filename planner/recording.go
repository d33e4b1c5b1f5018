package planner

import (
	"context"
	"strings"

	"boost-tui/kernels"
	"boost-tui/kernels/record"
	"boost-tui/model"
	"boost-tui/step"
)

// recording is one rank's step. Ranks do the same, so rank 0 stands for all.
type recording struct {
	dev        *record.Device
	memory     map[string]int64 // bytes in fp32 by use
	parameters int64
	rows       int64 // tokens of a micro-batch
	micros     int64 // of the step; two at most are recorded
	layer      int   // the block that stands for all: the last, which has crossings where there are any
	exact      Cycle // loro: what an exact step does more
}

// recordStep runs a step on the recorder. Micro-batches after the first are alike, so that the second stands for them.
func recordStep(cfg step.Config, tp int) (*recording, error) {
	r := &recording{rows: int64(cfg.Model.Rows()), micros: int64(cfg.Model.Micros), layer: cfg.Model.Layers - 1}
	cfg.Model.Micros = min(cfg.Model.Micros, 2)
	s, err := r.allocate(cfg, tp)
	if err != nil {
		return nil, err
	}
	tokens := make([]int32, cfg.Model.Micros*cfg.Model.Batch*(cfg.Model.Seq+1))
	if every := cfg.Cycles.Exact; every > 0 {
		if _, err := s.Run(context.Background(), step.Input{Tokens: tokens, LR: 1, Index: every}); err != nil {
			return nil, err
		}
		r.recordExact(every)
		r.dev.Reset()
	}
	if _, err := s.Run(context.Background(), step.Input{Tokens: tokens, LR: 1, Index: ordinary(cfg.Cycles)}); err != nil {
		return nil, err
	}
	return r, nil
}

// ordinary is the index of a step after which nothing is due, where there is one.
func ordinary(c step.Cycles) int { return max(1, c.Exact, c.Merge) + 1 }

// recordExact adds up what only an exact step communicates.
func (r *recording) recordExact(every int) {
	r.exact.Every = every
	for i := range r.dev.Calls() {
		if c := &r.dev.Calls()[i]; c.Class == kernels.Communication && c.Label.Phase == kernels.Optimizer && c.Label.Layer >= 0 {
			r.exact.Collectives++
			r.exact.Bytes += c.Payload
		}
	}
}

// allocate makes the step, which allocates all it ever needs.
func (r *recording) allocate(cfg step.Config, tp int) (*step.Step, error) {
	r.dev = record.New(record.Options{})
	var comm kernels.Comm
	if tp > 1 {
		var err error
		if comm, err = r.dev.Join(context.Background(), kernels.UID{}, tp, 0, "tp"); err != nil {
			return nil, err
		}
	}
	s, err := step.New(cfg, r.dev, step.Groups{TP: comm})
	if err != nil {
		return nil, err
	}
	r.memory = r.dev.Memory()
	for _, p := range s.Model().Params() {
		r.parameters += p.Weight.Len()
	}
	return s, nil
}

// times is how often a recorded call happens in the step.
func (r *recording) times(c *record.Call) int64 {
	if c.Label.Micro == 0 || onceAStep(c.Label) {
		return 1
	}
	return r.micros - 1
}

// onceAStep reports whether a call of the backward happens once, not for every micro-batch.
func onceAStep(l kernels.Label) bool {
	return l.Phase == kernels.Backward && l.Chunk == model.ChunkFactors
}

// totals adds the step up.
func (r *recording) totals(p *Plan, price price) {
	for i := range r.dev.Calls() {
		c := &r.dev.Calls()[i]
		n := r.times(c)
		p.RankFLOPs += n * c.FLOPs
		if c.Class != kernels.Communication {
			continue
		}
		p.Collectives += n
		payload := int64(0)
		for _, part := range c.Parts {
			payload += part.Elements * price.wireBytes(part, r.rows)
		}
		p.StepBytes += n * payload
		// Payload and wire bytes of a call are in one proportion, whatever the type.
		p.WireBytes += n * int64(float64(payload)*float64(c.WireBytes)/float64(max(c.Payload, 1)))
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
		if c.Class != kernels.Communication {
			continue
		}
		d.Collectives = append(d.Collectives, Collective{c.Op, c.Label.Op, c.Elements()})
		d.Elements += c.Elements()
		for _, part := range c.Parts {
			if statistic(part, r.rows) {
				d.Statistics += part.Elements
			}
		}
	}
	return d
}

// block describes one block, which stands for all.
func (r *recording) block(b *Block, price price) {
	in := func(p kernels.Phase) func(kernels.Label) bool {
		return func(l kernels.Label) bool { return l.Layer == r.layer && l.Phase == p }
	}
	b.Forward, b.Backward = r.direction(in(kernels.Forward)), r.direction(in(kernels.Backward))
	b.FLOPs = b.Forward.FLOPs + b.Backward.FLOPs
	b.ArithmeticIntensity = r.intensity(price, in(kernels.Forward))
	b.MLPArithmeticIntensity = r.intensity(price, func(l kernels.Label) bool {
		return in(kernels.Forward)(l) && strings.HasPrefix(l.Chunk, "mlp.")
	})
}

func (r *recording) outside(o *Outside) {
	in := func(p kernels.Phase) func(kernels.Label) bool {
		return func(l kernels.Label) bool { return l.Layer < 0 && l.Phase == p }
	}
	o.Forward, o.Backward, o.Optimizer = r.direction(in(kernels.Forward)), r.direction(in(kernels.Backward)), r.direction(in(kernels.Optimizer))
}

// intensity is FLOPs per byte of the matrix products that keep accepts, each operand moved once (METHOD.md §3.10).
func (r *recording) intensity(price price, keep func(kernels.Label) bool) float64 {
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
	return flops / (elements * float64(price.element))
}

// statistic reports whether a part of a collective holds numbers per row (sums of squares, maxima), or one number:
// those travel in fp32 whatever the type of the activations (METHOD.md §3.5).
func statistic(p record.Part, rows int64) bool { return p.Elements <= 2*rows }
