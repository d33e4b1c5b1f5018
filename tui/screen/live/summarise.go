package live

import (
	"math"

	"boost-tui/profiler/record"
)

// summarise works out ranks, breakdown and hosts from what is held.
func (f *follower) summarise(a ask, s *snapshot) {
	from, to := a.wanted()
	var lines [][]record.StepLine
	all := map[int][]record.StepLine{}
	s.ranks = make([]rankStat, max(0, a.world))
	s.newest = record.NewStepLine(-1)
	for r := range s.ranks {
		s.ranks[r] = newRankStat(r)
		if t := f.tails[r]; t != nil && r >= from && r < to {
			s.ranks[r].fromSteps(t.last())
			lines = append(lines, t.last())
			all[r] = t.lines
			s.takeNewest(t.lines)
		}
		if h, ok := f.cpu[r]; ok {
			s.ranks[r].fromHealth(&h.line, h.host, a.cores)
			if s.ranks[r].gpu < 0 && a.memoryBytes > 0 {
				s.ranks[r].memOf = a.memoryBytes
			}
		}
	}
	s.parts, s.steps = partsOf(lines)
	s.period = pace(lines)
	s.comm, s.slow = f.comm, straggler{rank: -1}
	if a.world <= followWhole {
		s.slow = findStraggler(all)
		s.slow.fromTimelines(f.comm.Matched)
	}
	s.evals = f.evals.all
	s.healthNanos = healthNanos(s.ranks)
	for _, c := range s.cols {
		s.nonFinites += c.NonFinites
		if c.NonFinite >= 0 && (s.nonFinite < 0 || c.NonFinite < s.nonFinite) {
			s.nonFinite = c.NonFinite
		}
	}
	s.hosts, s.slowHost = f.hosts(a, s.ranks), straggler{rank: -1}
	if len(s.hosts) > 1 && a.world <= followWhole {
		s.slowHost = findStraggler(f.hostLines(s.hosts))
	}
}

// takeNewest keeps the newest line; the lowest rank that knows it gives the loss.
func (s *snapshot) takeNewest(lines []record.StepLine) {
	if n := len(lines); n > 0 {
		l := lines[n-1]
		s.stepNanos = max(s.stepNanos, l.TSNanos)
		if l.Step > s.newest.Step || l.Step == s.newest.Step && math.IsNaN(s.newest.Loss) {
			s.newest = l
		}
	}
}

// pace is the mean step time in seconds of the held steps of the first rank
// that has any.
func pace(ranks [][]record.StepLine) float64 {
	for _, lines := range ranks {
		var wall mean
		for i := range lines {
			if lines[i].WallNanos > 0 {
				wall.add(float64(lines[i].WallNanos) / 1e9)
			}
		}
		if wall.n > 0 {
			return wall.value()
		}
	}
	return math.NaN()
}
