package live

import (
	"math"

	"boost-tui/profiler/record"
	"boost-tui/tui/chart"
	"boost-tui/tui/widget/stepbar"
)

// window is how many steps the breakdown and the ranks' shares rest on.
const window = 32

// rankStat is what is known of one rank now. Shares are of the step, from 0 to
// 1; NaN is unknown, so is a negative integer.
type rankStat struct {
	rank                   int
	host                   string
	busy, work, comm, wait float64
	memBytes, memOf        int64
	gpu                    int64   // index on its host; negative: a CPU rank
	powerW, limitW         float64 // of a GPU
	tempC                  int64
	steps                  int // that the shares rest on
	last                   int64
	seenNanos              int64 // of the newest step line or sample
}

func newRankStat(rank int) rankStat {
	nan := math.NaN()
	return rankStat{rank: rank, busy: nan, work: nan, comm: nan, wait: nan, memBytes: -1, memOf: -1, gpu: -1, powerW: nan, limitW: nan, tempC: -1, last: -1, seenNanos: -1}
}

// share is part of whole, NaN when either is unknown.
func share(part, whole int64) float64 {
	if part < 0 || whole <= 0 {
		return math.NaN()
	}
	return float64(part) / float64(whole)
}

// mean ignores what is not known.
type mean struct {
	sum float64
	n   int
}

func (m *mean) add(v float64) {
	if chart.Finite(v) {
		m.sum += v
		m.n++
	}
}

func (m *mean) value() float64 {
	if m.n == 0 {
		return math.NaN()
	}
	return m.sum / float64(m.n)
}

// fromSteps fills in the shares from a rank's last steps.
func (r *rankStat) fromSteps(lines []record.StepLine) {
	var work, comm, wait mean
	for i := range lines {
		l := &lines[i]
		work.add(share(l.ComputeNanos, l.WallNanos))
		comm.add(share(l.CommNanos, l.WallNanos)) // all of it, of which wait is a part
		wait.add(share(l.WaitNanos, l.WallNanos))
		r.last = max(r.last, l.Step)
		r.seenNanos = max(r.seenNanos, l.TSNanos)
		if l.MemAllocBytes >= 0 {
			r.memBytes = l.MemAllocBytes
		}
	}
	r.work, r.comm, r.wait, r.steps = work.value(), comm.value(), wait.value(), len(lines)
}

// fromHealth fills in what a sample says. cores is the number of cores that a
// CPU rank has for itself.
func (r *rankStat) fromHealth(l *record.HealthLine, host string, cores float64) {
	r.host = host
	r.seenNanos = max(r.seenNanos, l.TSNanos)
	switch l.Kind {
	case record.KindCPU:
		if cores > 0 {
			r.busy = l.CPUPercent / 100 / cores
		}
		if l.RSSBytes > 0 { // a process that is just over has none
			r.memBytes = l.RSSBytes
		}
	case record.KindGPU:
		r.busy = l.GPUPercent / 100
		r.gpu, r.tempC = l.Device, l.TempC
		if l.MemUsedBytes >= 0 {
			r.memBytes = l.MemUsedBytes
		}
		if l.PowerMilliW >= 0 {
			r.powerW = float64(l.PowerMilliW) / 1000
		}
	}
}

// partsOf is the mean step of several ranks' last steps. Its parts sum to the
// mean step time exactly as those of every line do.
func partsOf(ranks [][]record.StepLine) (p stepbar.Parts, steps int) {
	var compute, hidden, exposed, memory, idle, comm, wait mean
	known := true // of every line, what its communication consists of
	for _, lines := range ranks {
		steps = max(steps, len(lines))
		for i := range lines {
			l := &lines[i]
			if l.ComputeNanos < 0 || l.ExposedNanos < 0 || l.IdleNanos < 0 {
				continue
			}
			overlap := max(0, l.OverlapNanos)
			compute.add(float64(l.ComputeNanos - overlap))
			hidden.add(float64(overlap))
			exposed.add(float64(l.ExposedNanos))
			memory.add(float64(max(0, l.MemNanos)))
			idle.add(float64(l.IdleNanos))
			known = known && l.CommNanos >= 0 && l.WaitNanos >= 0
			comm.add(float64(l.CommNanos))
			wait.add(float64(l.WaitNanos))
		}
	}
	const second = 1e9
	p = stepbar.Unknown()
	p.Compute, p.Hidden, p.Exposed = compute.value()/second, hidden.value()/second, exposed.value()/second
	p.Memory, p.Idle = memory.value()/second, idle.value()/second
	if known {
		p.Comm, p.Wait, p.Transfer = comm.value()/second, wait.value()/second, (comm.value()-wait.value())/second
	}
	return p, steps
}
