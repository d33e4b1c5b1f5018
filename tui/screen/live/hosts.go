package live

import (
	"math"
	"os"
	"path/filepath"
	"slices"
	"time"

	"boost-tui/profiler/record"
	"boost-tui/runner"
)

// hostStat is what is known of one host of a run now. Shares are from 0 to 1; NaN and negative integers are unknown.
type hostStat struct {
	name    string
	ranks   []int // in order
	busy    float64
	memUsed int64
	nanos   int64
	tx, rx  float64 // bytes per second; NaN unknown

	gpu, work, wait float64 // means over its ranks; gpu is unknown where they have none
	step            int64   // of the rank that is least far
	// late is how much later, in seconds of a mean step, the host's ranks reach collectives than those of the host that is
	// there first: they wait so much less. It needs no clocks that agree.
	late float64
	// silent is how long the host has shown no sign of life.
	silent time.Duration
	seen   bool           // it has shown one
	clock  *time.Duration // how far its clock is ahead of the first host's; nil: unknown
}

func newHostStat(name string) hostStat {
	nan := math.NaN()
	return hostStat{name: name, busy: nan, memUsed: -1, nanos: -1, tx: nan, rx: nan, gpu: nan, work: nan, wait: nan, step: -1, late: nan}
}

// pulse is a host's sign of life: its samples, of which the agent there writes one each second. Clocks of two hosts are
// never compared: what counts is the file system's time against that of other hosts' samples, and how long nothing has
// changed by the own clock.
type pulse struct {
	size    int64
	mtime   time.Time
	changed time.Time // when the screen saw the last change
}

// feel looks at a host's sign of life. One that cannot be looked at is as it was.
func (f *follower) feel(host string, now time.Time) {
	info, err := os.Stat(record.HealthPath(f.dir, host))
	if err != nil {
		return
	}
	p := f.pulses[host]
	if p == nil {
		p = &pulse{}
		f.pulses[host] = p
	}
	if p.changed.IsZero() || p.size != info.Size() || !p.mtime.Equal(info.ModTime()) {
		p.size, p.mtime, p.changed = info.Size(), info.ModTime(), now
	}
}

// silence is how long a host has shown no sign of life: as far as its last one lies behind the newest of any host, or as
// long as none has come since, whichever is more.
func (f *follower) silence(host string, now time.Time) (time.Duration, bool) {
	p := f.pulses[host]
	if p == nil {
		return 0, false
	}
	newest := p.mtime
	for _, other := range f.pulses {
		if other.mtime.After(newest) {
			newest = other.mtime
		}
	}
	return max(newest.Sub(p.mtime), now.Sub(p.changed), 0), true
}

// hosts puts together what is known of the run's hosts, in the order of their ranks.
func (f *follower) hosts(a ask, ranks []rankStat) []hostStat {
	out := f.placed(a)
	for i := range out {
		h := &out[i]
		h.fromRanks(ranks)
		h.silent, h.seen = f.silence(fileName(h.name), a.now)
	}
	skew(out, f, a.depth())
	return out
}

// readHosts reads which hosts the run has, as long as that is not known; where it is, what is known of their clocks may
// change, and is read now and then.
func (f *follower) readHosts(now time.Time) {
	if !f.namedAt.IsZero() && now.Sub(f.namedAt) < hostsEvery {
		return
	}
	f.namedAt = now
	if named, err := runner.Hosts(f.dir); err == nil {
		f.named = named
	}
}

// hostsEvery is how often the hosts' clocks are read.
const hostsEvery = 10 * time.Second

// placed lists the hosts with their ranks: as the agents have said, else as the run's record names them, else as the samples
// do.
func (f *follower) placed(a ask) (out []hostStat) {
	if len(f.named) > 0 {
		for _, n := range f.named {
			h := f.sampledHost(n.Name)
			for r := n.First; r < n.First+n.Ranks && r < a.world; r++ {
				h.ranks = append(h.ranks, r)
			}
			if n.OffsetNanos != nil {
				d := time.Duration(*n.OffsetNanos)
				h.clock = &d
			}
			out = append(out, h)
		}
		return out
	}
	of := map[string][]int{}
	for rank, s := range f.cpu {
		of[s.host] = append(of[s.host], rank)
	}
	if n := len(a.hosts); n > 1 && n <= a.world && n >= len(f.health) {
		for i, name := range a.hosts {
			h := f.sampledHost(name)
			// As runner.Share deals them out.
			for rank := i * a.world / n; rank < (i+1)*a.world/n; rank++ {
				h.ranks = append(h.ranks, rank)
			}
			out = append(out, h)
		}
		return out
	}
	for name, t := range f.health {
		h := t.stat(name)
		h.ranks = of[name]
		slices.Sort(h.ranks)
		out = append(out, h)
	}
	slices.SortFunc(out, func(a, b hostStat) int { return compareHosts(&a, &b) })
	return out
}

// sampledHost is a host with what its samples say.
func (f *follower) sampledHost(name string) hostStat {
	if t := f.health[fileName(name)]; t != nil {
		return t.stat(name)
	}
	return newHostStat(name)
}

// fileName is a host's name as files have it.
func fileName(host string) string {
	base := filepath.Base(record.HealthPath("", host))
	return base[len("h") : len(base)-len(".jsonl")]
}

// compareHosts orders hosts by their first rank, those without any by name behind the others.
func compareHosts(a, b *hostStat) int {
	switch {
	case len(a.ranks) > 0 && len(b.ranks) > 0:
		return a.ranks[0] - b.ranks[0]
	case len(a.ranks) != len(b.ranks):
		return len(b.ranks) - len(a.ranks)
	case a.name < b.name:
		return -1
	case a.name > b.name:
		return 1
	}
	return 0
}

// fromRanks fills in what the host's ranks say.
func (h *hostStat) fromRanks(ranks []rankStat) {
	var gpu, work, wait mean
	for _, r := range h.ranks {
		if r >= len(ranks) {
			continue
		}
		s := &ranks[r]
		work.add(s.work)
		wait.add(s.wait)
		if s.gpu >= 0 {
			gpu.add(s.busy)
		}
		if s.last >= 0 && (h.step < 0 || s.last < h.step) {
			h.step = s.last
		}
	}
	h.gpu, h.work, h.wait = gpu.value(), work.value(), wait.value()
}

// hostLines are the steps of hosts as those of ranks: the means over a host's ranks, of the steps that all of these have.
func (f *follower) hostLines(hosts []hostStat) map[int][]record.StepLine {
	out := map[int][]record.StepLine{}
	for i := range hosts {
		var wait, wall [held]int64
		var have [held]int
		first, ranks := int64(-1), 0
		for _, r := range hosts[i].ranks {
			t := f.tails[r]
			if t == nil || len(t.lines) == 0 {
				continue
			}
			if first < 0 {
				first = t.lines[0].Step
			}
			ranks++
			for j := range t.lines {
				l := &t.lines[j]
				if at := l.Step - first; at >= 0 && at < held && l.WaitNanos >= 0 && l.WallNanos > 0 {
					wait[at], wall[at], have[at] = wait[at]+l.WaitNanos, wall[at]+l.WallNanos, have[at]+1
				}
			}
		}
		for at := range have {
			if have[at] == ranks && ranks == len(hosts[i].ranks) && ranks > 0 {
				l := record.NewStepLine(int(first) + at)
				l.WaitNanos, l.WallNanos = wait[at]/int64(ranks), wall[at]/int64(ranks)
				out[i] = append(out[i], l)
			}
		}
	}
	return out
}

// skew works out how late the hosts are, by the waits of their ranks in the steps that are held of all of them.
func skew(hosts []hostStat, f *follower, depth int) {
	if len(hosts) < 2 {
		return
	}
	waits, most := make([]float64, len(hosts)), math.NaN()
	for i := range hosts {
		var w mean
		for _, r := range hosts[i].ranks {
			t := f.tails[r]
			if t == nil {
				continue
			}
			lines := t.lines[max(0, len(t.lines)-min(window, depth)):]
			for j := range lines {
				if lines[j].WaitNanos >= 0 {
					w.add(float64(lines[j].WaitNanos) / 1e9)
				}
			}
		}
		waits[i] = w.value()
		if !(waits[i] <= most) && !math.IsNaN(waits[i]) {
			most = waits[i]
		}
	}
	for i := range hosts {
		hosts[i].late = most - waits[i]
	}
}
