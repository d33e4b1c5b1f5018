package queue

import (
	"math"
	"runtime"
	"time"

	"boost-tui/profiler/record"
	"boost-tui/runner"
	"boost-tui/sweeps"
)

// disturbed reports whether any other run of the store went on beside this one. It is asked only of one that is about to
// be ended: a store may hold thousands.
func (e *engine) disturbed(a *attempt) bool {
	infos, _ := e.o.Runs.List(e.work) // what cannot be read proves nothing
	for _, in := range infos {
		switch {
		case in.ID == a.run:
		case in.State == runner.Running:
			return true
		case in.Result != nil && in.HadRanks() && in.Result.Ended.After(a.created):
			return true
		}
	}
	return false
}

// beside reports whether another run of the sweep went on beside the one that counts of a finished point.
func (e *engine) beside(p *sweeps.PointState) bool {
	mine := p.Attempts[len(p.Attempts)-1]
	for _, q := range e.st.Points {
		for _, a := range q.Attempts {
			if q.ID != p.ID && a.Run != "" && a.Begun.Before(mine.Ended) && (a.Ended.IsZero() || a.Ended.After(mine.Begun)) {
				return true
			}
		}
	}
	return false
}

const (
	// sampled is how old a run is that must have samples of what its machine does.
	sampled = 3 * time.Second
	// samplesRead is how many bytes of samples are looked at, from the end: some ten minutes of a few ranks.
	samplesRead = 256 << 10
)

// excuse is by how many times other programs may have slowed a run down: where they take a share u of the machine's
// cores, 1/(1-u). known is false as long as there is no sample of it that there will be.
func (e *engine) excuse(a *attempt) (times float64, known bool) {
	ask := e.o.others
	if ask == nil {
		ask = othersShare
	}
	share, known := ask(e.o.Runs.Dir(a.run))
	if !known {
		return 1, time.Since(a.began) > sampled
	}
	return 1 / (1 - min(share, 0.99)), true
}

// othersShare is the share of this machine's cores that others than the ranks of a run take, by the samples of its agent.
func othersShare(dir string) (share float64, known bool) {
	in, err := runner.Read(dir)
	if err != nil || len(in.Run.Hosts) != 1 {
		return 0, false
	}
	lines, err := record.LastHealth(record.HealthPath(dir, in.Run.Hosts[0]), samplesRead)
	if err != nil {
		return 0, false
	}
	samples, all, ranks := 0, 0.0, 0.0
	for _, l := range lines {
		switch {
		case math.IsNaN(l.CPUPercent): // the first of all: what it is the share of is not known
		case l.Kind == record.KindHost:
			samples++
			all += l.CPUPercent / 100
		case l.Kind == record.KindCPU:
			ranks += l.CPUPercent / 100 / float64(runtime.NumCPU())
		}
	}
	if samples == 0 {
		return 0, false
	}
	return max(0, (all-ranks)/float64(samples)), true
}
