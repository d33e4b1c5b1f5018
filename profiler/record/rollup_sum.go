package record

import (
	"math"
	"slices"
)

// aggregate makes one record of the ranks' lines of a step.
func aggregate(p *pendingStep) RollupStep {
	first := &p.lines[0]
	r := RollupStep{Step: first.Step, Ranks: len(p.lines), Slowest: p.ranks[0], TSNanos: Unknown,
		WallMinNanos: Unknown, WallP50Nanos: Unknown, WallP95Nanos: Unknown, WallMaxNanos: Unknown,
		Tokens: Unknown, CommBytes: Unknown, Collectives: Unknown, MemBytes: Unknown,
		Loss: math.NaN(), GradNorm: float32(math.NaN()), LR: float32(math.NaN())}
	var walls []int64
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
			r.Loss, r.GradNorm, r.LR = l.Loss, float32(l.GradNorm), float32(l.LR)
		}
	}
	if len(walls) > 0 {
		slices.Sort(walls)
		r.WallMinNanos, r.WallP50Nanos, r.WallP95Nanos = walls[0], walls[len(walls)/2], walls[(len(walls)*95)/100]
	}
	for i, m := range [...]*float32{&r.Compute, &r.Comm, &r.Exposed, &r.Overlap, &r.Wait, &r.Mem, &r.Idle} {
		*m = meanOf(p.lines, i)
	}
	return r
}

// meanOf is the mean of the i-th part over the lines that know it.
func meanOf(lines []StepLine, i int) float32 {
	sum, n := 0.0, 0
	for j := range lines {
		l := &lines[j]
		v := [...]int64{l.ComputeNanos, l.CommNanos, l.ExposedNanos, l.OverlapNanos, l.WaitNanos, l.MemNanos, l.IdleNanos}[i]
		if v >= 0 {
			sum += float64(v)
			n++
		}
	}
	if n == 0 {
		return float32(math.NaN())
	}
	return float32(sum / float64(n))
}
