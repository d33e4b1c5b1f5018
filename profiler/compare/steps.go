package compare

import (
	"context"
	"fmt"
	"math"
	"os"
	"path/filepath"

	"boost-tui/profiler/record"
	"boost-tui/profiler/stats"
)

// notCounted are the steps that measure something else than training.
const notCounted = record.Deep | record.Checkpoint | record.Eval

// rollupFrom is the size of step files, in bytes, from which on the rollup is read instead: it has
// 24 bits of the means, and reads twenty times faster.
const rollupFrom = 64 << 20

// measured is what the steps of a run add up to.
type measured struct {
	steps      int // that every rank reported
	ranks      int
	skip       stats.Skipped
	kept       []float64 // seconds of each kept step, slowest rank
	keptSteps  []int64   // their numbers
	lossFirst  float64   // NaN: unknown, or not finite
	losses     []float64 // the last 20; NaN: not finite
	leftOut    int       // steps whose update was not made
	sums       parts     // over the kept steps
	mean       parts
	wallMean   float64 // over kept steps and ranks, seconds
	keptWall   float64 // sum of kept
	tokens     float64 // over the kept steps, one data-parallel rank
	commBytes  float64 // mean per kept step; NaN unknown
	calls      float64
	peakBytes  int64
	badLines   int
	lastStep   int64
	haveTokens bool
	from, to   int64 // Unix nanoseconds in which its steps ran; 0: unknown
}

// parts of a step, in nanoseconds while they are summed.
type parts struct{ compute, comm, exposed, overlap, wait, bubble, mem, idle float64 }

// measure reads a run's steps twice: once for which of them count, once for what those took.
func measure(ctx context.Context, dir string) (*measured, error) {
	each, err := source(ctx, dir)
	if err != nil {
		return nil, err
	}
	m := &measured{lossFirst: math.NaN(), peakBytes: record.Unknown}
	var walls []float64
	var flags []record.Flags
	m.badLines, err = each(func(r *record.RollupStep) error {
		m.look(r, &walls, &flags)
		return nil
	})
	if err != nil {
		return nil, err
	}
	m.skip = stats.Skip(walls)
	excluded := exclusion(flags[m.skip.Steps:])
	var c counts
	i := -1
	_, err = each(func(r *record.RollupStep) error {
		if r.Ranks < m.ranks || r.WallMaxNanos < 0 {
			return nil
		}
		// A run that goes on may have grown since the first reading.
		if i++; i < m.skip.Steps || i >= len(walls) || r.Flags&excluded != 0 {
			return nil
		}
		m.keep(r, &c)
		return nil
	})
	if err != nil {
		return nil, err
	}
	m.finish(&c)
	return m, nil
}

// KeptSteps are the numbers of the steps that a run's figures rest on, in ascending order: not those that
// the skip rule leaves out at the start, nor those that measure something else than training.
func KeptSteps(ctx context.Context, dir string) ([]int64, error) {
	m, err := measure(ctx, dir)
	if err != nil {
		return nil, err
	}
	return m.keptSteps, nil
}

// exclusion is which flags keep a step out, unless that leaves nothing.
func exclusion(flags []record.Flags) record.Flags {
	for _, f := range flags {
		if f&notCounted == 0 {
			return notCounted
		}
	}
	return 0
}

// source is the rollup where it is whole and the step files are large, else the step files.
func source(ctx context.Context, dir string) (func(func(*record.RollupStep) error) (int, error), error) {
	ranks, err := record.StepRanks(dir)
	if err != nil {
		return nil, err
	}
	var bytes int64
	for _, r := range ranks {
		if info, err := os.Stat(record.StepsPath(dir, r)); err == nil {
			bytes += info.Size()
		}
	}
	whole, err := rollupIsWhole(dir, ranks)
	if err != nil {
		return nil, err
	}
	if whole && (bytes >= rollupFrom || len(ranks) == 0) {
		return func(yield func(*record.RollupStep) error) (int, error) { return 0, record.EachRollup(ctx, dir, yield) }, nil
	}
	return func(yield func(*record.RollupStep) error) (int, error) { return record.EachStep(ctx, dir, yield) }, nil
}

// rollupIsWhole compares its end with the ends of the step files.
func rollupIsWhole(dir string, ranks []int) (bool, error) {
	last, err := record.LastRollup(dir, 1)
	if err != nil || len(last) == 0 {
		return false, err
	}
	for _, r := range ranks {
		lines, err := record.LastSteps(record.StepsPath(dir, r), 1)
		if err != nil {
			return false, err
		}
		if len(lines) == 1 && lines[0].Step > last[0].Step+1 {
			return false, nil
		}
	}
	return true, nil
}

// look is the first reading: step times, losses, peaks. Only steps that every rank reported count;
// a step with more ranks than any before shows that the earlier ones were not complete.
func (m *measured) look(r *record.RollupStep, walls *[]float64, flags *[]record.Flags) {
	if r.Ranks > m.ranks {
		m.ranks = r.Ranks
		*walls, *flags, m.steps, m.leftOut, m.losses, m.lossFirst = (*walls)[:0], (*flags)[:0], 0, 0, m.losses[:0], math.NaN()
	}
	m.peakBytes = max(m.peakBytes, r.MemBytes)
	if r.TSNanos > 0 {
		if m.from == 0 {
			m.from = r.TSNanos - max(0, r.WallMaxNanos)
		}
		m.to = max(m.to, r.TSNanos)
	}
	if r.Ranks < m.ranks {
		return
	}
	m.steps++
	m.lastStep = r.Step
	if r.WallMaxNanos >= 0 {
		*walls, *flags = append(*walls, float64(r.WallMaxNanos)/1e9), append(*flags, r.Flags)
	}
	broken := r.Flags&record.NonFinite != 0
	if broken {
		m.leftOut++
	}
	if math.IsNaN(r.Loss) && !broken {
		return
	}
	if len(m.losses) == 0 {
		m.lossFirst = r.Loss
	}
	const last = 20
	if m.losses = append(m.losses, r.Loss); len(m.losses) > last {
		copy(m.losses, m.losses[1:])
		m.losses = m.losses[:last]
	}
}

// counts are how many kept steps knew what.
type counts struct{ parts, wait, bubble, comm, calls, tokens int }

func (m *measured) keep(r *record.RollupStep, c *counts) {
	m.kept, m.keptSteps = append(m.kept, float64(r.WallMaxNanos)/1e9), append(m.keptSteps, r.Step)
	m.keptWall += float64(r.WallMaxNanos) / 1e9
	if !math.IsNaN(r.Compute) && !math.IsNaN(r.Exposed) && !math.IsNaN(r.Mem) && !math.IsNaN(r.Idle) {
		c.parts++
		m.sums.compute += r.Compute
		m.sums.exposed += r.Exposed
		m.sums.mem += r.Mem
		m.sums.idle += r.Idle
		m.sums.comm += r.Comm
		m.sums.overlap += r.Overlap
		if !math.IsNaN(r.Wait) {
			c.wait++
			m.sums.wait += r.Wait
		}
		if !math.IsNaN(r.Bubble) {
			c.bubble++
			m.sums.bubble += r.Bubble
		}
	}
	if r.CommBytes >= 0 {
		c.comm++
		m.commBytes += float64(r.CommBytes)
	}
	if r.Collectives >= 0 {
		c.calls++
		m.calls += float64(r.Collectives)
	}
	if r.Tokens >= 0 {
		c.tokens++
		m.tokens += float64(r.Tokens)
	}
}

func (m *measured) finish(c *counts) {
	n := float64(c.parts) * 1e9
	m.mean = parts{m.sums.compute / n, m.sums.comm / n, m.sums.exposed / n, m.sums.overlap / n, math.NaN(), math.NaN(), m.sums.mem / n, m.sums.idle / n}
	if c.wait == c.parts {
		m.mean.wait = m.sums.wait / n
	}
	if c.bubble == c.parts {
		m.mean.bubble = m.sums.bubble / n
	}
	m.wallMean = m.mean.compute + m.mean.exposed + m.mean.mem + m.mean.idle
	m.commBytes /= float64(c.comm) // NaN where nothing is known
	m.calls /= float64(c.calls)
	m.haveTokens = c.tokens > 0 && c.tokens == len(m.kept)
}

// checkDir says in plain words when a directory is no run.
func checkDir(dir string) error {
	info, err := os.Stat(dir)
	if err != nil {
		return fmt.Errorf("no run there: %w", err)
	}
	if !info.IsDir() {
		return fmt.Errorf("%s is no run: a run is a directory", filepath.Clean(dir))
	}
	return nil
}
