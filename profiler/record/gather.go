package record

import (
	"context"
	"fmt"
	"math"
	"slices"
)

// gather follows the step files of several ranks and puts their lines together, step by step.
type gather struct {
	tails   []*Tailer
	ranks   []int
	seen    []int64 // per rank: the last step it reported
	last    int64   // last step given out; lines up to it are passed over
	pending map[int64]*pendingStep
	free    []*pendingStep
	order   []int64
	line    StepLine
	walls   []int64 // scratch of aggregate
	skipped int
	badErr  error
}

// pendingStep gathers the lines of a step.
type pendingStep struct {
	lines []StepLine
	ranks []int
}

const (
	// pendingMax bounds how far ranks may drift apart before the slowest is written off for a step.
	pendingMax = 4096
	// gatherChunk is read of one rank before the next has its turn.
	gatherChunk = 256 << 10
)

func newGather(dir string, ranks []int, last int64) *gather {
	g := &gather{ranks: ranks, last: last, pending: map[int64]*pendingStep{}}
	for _, r := range ranks {
		g.tails, g.seen = append(g.tails, NewTailer(StepsPath(dir, r))), append(g.seen, -1)
	}
	return g
}

// poll reads what there is and gives out the steps that are complete. Lines that cannot be read are
// passed over and counted.
func (g *gather) poll(ctx context.Context, emit func(*RollupStep) error) error {
	for more := true; more; {
		more = false
		for i, t := range g.tails {
			if err := ctx.Err(); err != nil {
				return err
			}
			m, err := t.Poll(gatherChunk, func(line []byte) { g.take(i, line) })
			if err != nil {
				return err
			}
			more = more || m
		}
		if err := g.flush(false, emit); err != nil {
			return err
		}
	}
	return nil
}

func (g *gather) take(i int, line []byte) {
	if err := g.line.Decode(line); err != nil || g.line.Step > math.MaxUint32 {
		g.skipped++
		if g.badErr == nil {
			g.badErr = fmt.Errorf("%s: %w", g.tails[i].Path(), err)
		}
		return
	}
	step := g.line.Step
	g.seen[i] = max(g.seen[i], step)
	if step <= g.last {
		return
	}
	p := g.pending[step]
	if p == nil {
		p = &pendingStep{}
		if n := len(g.free); n > 0 {
			p, g.free = g.free[n-1], g.free[:n-1]
		}
		p.lines, p.ranks = p.lines[:0], p.ranks[:0]
		g.pending[step] = p
	}
	if !slices.Contains(p.ranks, g.ranks[i]) {
		p.lines, p.ranks = append(p.lines, g.line), append(p.ranks, g.ranks[i])
	}
}

// flush gives out the pending steps in order, as long as they are complete, or have no hope to become
// so since every rank is past them. all gives out the rest too.
func (g *gather) flush(all bool, emit func(*RollupStep) error) error {
	g.order = g.order[:0]
	for s := range g.pending {
		g.order = append(g.order, s)
	}
	slices.Sort(g.order)
	past := int64(math.MaxInt64)
	for _, s := range g.seen {
		past = min(past, s)
	}
	for i, s := range g.order {
		p := g.pending[s]
		if !all && len(p.lines) < len(g.ranks) && s >= past && len(g.order)-i <= pendingMax {
			break
		}
		r := g.aggregate(p)
		delete(g.pending, s)
		g.free = append(g.free, p)
		g.last = s
		if err := emit(&r); err != nil {
			return err
		}
	}
	return nil
}

// EachStep puts the step lines of a run's ranks together and yields every step in order; those that
// some ranks never reported have fewer Ranks. It returns how many lines could not be read.
func EachStep(ctx context.Context, dir string, yield func(*RollupStep) error) (skipped int, err error) {
	ranks, err := StepRanks(dir)
	if err != nil {
		return 0, err
	}
	g := newGather(dir, ranks, -1)
	if err = g.poll(ctx, yield); err == nil {
		err = g.flush(true, yield)
	}
	return g.skipped, err
}

// aggregate makes one record of the ranks' lines of a step.
func (g *gather) aggregate(p *pendingStep) RollupStep {
	first := &p.lines[0]
	r := RollupStep{Step: first.Step, Ranks: len(p.lines), Slowest: p.ranks[0], TSNanos: Unknown,
		WallMinNanos: Unknown, WallP50Nanos: Unknown, WallP95Nanos: Unknown, WallMaxNanos: Unknown,
		Tokens: Unknown, CommBytes: Unknown, Collectives: Unknown, MemBytes: Unknown,
		Loss: math.NaN(), GradNorm: math.NaN(), LR: math.NaN()}
	walls := g.walls[:0]
	lossRank := math.MaxInt
	for i := range p.lines {
		l := &p.lines[i]
		r.Flags |= l.Flags
		r.TSNanos = max(r.TSNanos, l.TSNanos)
		r.Tokens, r.CommBytes = max(r.Tokens, l.Tokens), max(r.CommBytes, l.CommBytes)
		r.Collectives, r.MemBytes = max(r.Collectives, l.Collectives), max(r.MemBytes, l.MemAllocBytes)
		if l.WallNanos >= 0 {
			walls = append(walls, l.WallNanos)
			if l.WallNanos > r.WallMaxNanos {
				r.WallMaxNanos, r.Slowest = l.WallNanos, p.ranks[i]
			}
		}
		if p.ranks[i] < lossRank && !math.IsNaN(l.Loss) {
			lossRank = p.ranks[i]
			r.Loss, r.GradNorm, r.LR = l.Loss, l.GradNorm, l.LR
		}
	}
	if g.walls = walls; len(walls) > 0 {
		slices.Sort(walls)
		r.WallMinNanos, r.WallP50Nanos, r.WallP95Nanos = walls[0], walls[len(walls)/2], walls[(len(walls)*95)/100]
	}
	for i, m := range [...]*float64{&r.Compute, &r.Comm, &r.Exposed, &r.Overlap, &r.Wait, &r.Mem, &r.Idle, &r.Bubble} {
		*m = meanOf(p.lines, i)
	}
	return r
}

// meanOf is the mean of the i-th part over the lines that know it.
func meanOf(lines []StepLine, i int) float64 {
	sum, n := 0.0, 0
	for j := range lines {
		l := &lines[j]
		v := [...]int64{l.ComputeNanos, l.CommNanos, l.ExposedNanos, l.OverlapNanos, l.WaitNanos, l.MemNanos, l.IdleNanos, l.BubbleNanos}[i]
		if v >= 0 {
			sum += float64(v)
			n++
		}
	}
	if n == 0 {
		return math.NaN()
	}
	return sum / float64(n)
}
