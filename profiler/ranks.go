package profiler

import (
	"cmp"
	"math"
	"slices"

	"boost-tui/kernels"
	"boost-tui/profiler/record"
)

// RankSpans is what one rank's timeline holds of a step. ClockOffset is added to its times.
type RankSpans struct {
	Rank, Step  int
	ClockOffset int64
	Spans       []Span
}

// Collective is one communication group call, or one transfer, seen over its ranks (PROFILING.md §5).
type Collective struct {
	Step, Seq      int
	Group, Op      string // a transfer's are those of its first rank here
	Label          kernels.Label
	Bytes          int64 // payload per rank
	Ranks          []int
	StartNanos     []int64 // per rank, on rank 0's clock
	WaitNanos      []int64 // per rank: until the last rank arrived
	DeviceWait     []int64 // per rank: what its device measured; record.Unknown where it cannot
	DurNanos       []int64
	ArrivalNanos   int64 // when the last rank arrived
	TransferNanos  int64 // from then to the first rank's end
	BusBytesPerSec float64
}

// Match finds the collectives that every rank given took part in: those of the same step, group and number.
func Match(ranks []RankSpans) []Collective {
	type key struct {
		step, seq int
		group     string
	}
	found := map[key]*Collective{}
	var order []*Collective
	ends := map[*Collective]int64{}
	for i := range ranks {
		for j := range ranks[i].Spans {
			s := &ranks[i].Spans[j]
			if s.Class != kernels.Communication || s.Group == "" {
				continue
			}
			k := key{ranks[i].Step, s.Seq, s.Group}
			c := found[k]
			if c == nil {
				c = &Collective{Step: k.step, Seq: s.Seq, Group: s.Group, Op: s.Op, Label: s.Label, Bytes: s.Bytes,
					ArrivalNanos: math.MinInt64}
				found[k], ends[c] = c, math.MaxInt64
				order = append(order, c)
			}
			start := s.StartNanos + ranks[i].ClockOffset
			c.Ranks, c.StartNanos = append(c.Ranks, ranks[i].Rank), append(c.StartNanos, start)
			c.DeviceWait, c.DurNanos = append(c.DeviceWait, s.WaitNanos), append(c.DurNanos, s.DurNanos)
			c.ArrivalNanos = max(c.ArrivalNanos, start)
			ends[c] = min(ends[c], start+s.DurNanos)
		}
	}
	world := map[string]int{}
	for _, c := range order {
		world[c.Group] = max(world[c.Group], len(c.Ranks))
	}
	var out []Collective
	for _, c := range order {
		if len(c.Ranks) == world[c.Group] && len(c.Ranks) > 1 {
			c.finish(ends[c])
			out = append(out, *c)
		}
	}
	slices.SortStableFunc(out, func(a, b Collective) int { return cmp.Compare(a.ArrivalNanos, b.ArrivalNanos) })
	return out
}

// Sender is the place in Ranks of the rank that a transfer comes from; 0 for a collective. Ranks of a group are in
// the order of their numbers in the run.
func (c *Collective) Sender() int {
	if f := record.FlowOf(c.Group); f.From > f.To && len(c.Ranks) == 2 {
		return 1
	}
	return 0
}

// OpAt is what the rank at a place in Ranks does: the two ends of a transfer do different things.
func (c *Collective) OpAt(place int) string {
	switch {
	case !record.FlowOf(c.Group).Transfer():
		return c.Op
	case place == c.Sender():
		return (*kernels.Send)(nil).Name()
	default:
		return kernels.RecvName
	}
}

func (c *Collective) finish(firstEnd int64) {
	for _, s := range c.StartNanos {
		c.WaitNanos = append(c.WaitNanos, c.ArrivalNanos-s)
	}
	// Clocks that are not quite aligned can put the first end before the last arrival.
	c.TransferNanos = max(0, firstEnd-c.ArrivalNanos)
	c.BusBytesPerSec = math.NaN()
	if c.TransferNanos > 0 {
		c.BusBytesPerSec = BusFactor(c.Op, len(c.Ranks)) * float64(c.Bytes) / (float64(c.TransferNanos) / 1e9)
	}
}

// BusFactor turns payload over time into the bandwidth of the links, as nccl-tests counts it.
func BusFactor(op string, n int) float64 {
	share := float64(n-1) / float64(n)
	switch op {
	case kernels.AllReduce.String():
		return 2 * share
	case kernels.AllGather.String(), kernels.ReduceScatter.String():
		return share
	}
	return 1
}

// Straggler is how late a rank comes to its collectives.
type Straggler struct {
	Rank     int
	Lateness float64 // median lateness, as a share of the median step
	Share    float64 // share of the windows of 20 steps in which it was late
	Late     bool    // late in at least 60 % of the windows
}

const (
	stragglerWindow = 20
	stragglerShare  = 0.6
	stragglerMin    = 0.01
	stragglerMADs   = 5
)

// Stragglers scores the ranks by their collectives; that one end of a transfer waits for the other is how pipelines
// work. medianStepNanos is the run's median step time.
func Stragglers(list []Collective, medianStepNanos float64) []Straggler {
	late := map[int][]float64{} // rank → lateness of each collective
	windows := map[int]map[int][]float64{}
	steps := map[int]int{} // step → its number among the sampled steps
	for i := range list {
		c := &list[i]
		if record.FlowOf(c.Group).Transfer() {
			continue
		}
		if _, ok := steps[c.Step]; !ok {
			steps[c.Step] = len(steps)
		}
		w := steps[c.Step] / stragglerWindow
		if windows[w] == nil {
			windows[w] = map[int][]float64{}
		}
		starts := make([]float64, len(c.StartNanos))
		for j, s := range c.StartNanos {
			starts[j] = float64(s - c.ArrivalNanos)
		}
		mid := median(starts)
		for j, r := range c.Ranks {
			l := (float64(c.StartNanos[j]-c.ArrivalNanos) - mid) / medianStepNanos
			late[r] = append(late[r], l)
			windows[w][r] = append(windows[w][r], l)
		}
	}
	count := map[int]int{}
	for _, w := range windows {
		for _, r := range lateOnes(w) {
			count[r]++
		}
	}
	var out []Straggler
	for r, l := range late {
		share := float64(count[r]) / float64(len(windows))
		out = append(out, Straggler{Rank: r, Lateness: median(l), Share: share, Late: share >= stragglerShare})
	}
	slices.SortFunc(out, func(a, b Straggler) int { return cmp.Compare(a.Rank, b.Rank) })
	return out
}

// lateOnes are the ranks of a window whose lateness exceeds max(1 %, 5 median absolute deviations).
func lateOnes(window map[int][]float64) []int {
	var scores []float64
	by := map[int]float64{}
	for r, l := range window {
		by[r] = median(l)
		scores = append(scores, by[r])
	}
	mid := median(slices.Clone(scores))
	for i := range scores {
		scores[i] = math.Abs(scores[i] - mid)
	}
	limit := max(stragglerMin, stragglerMADs*median(scores))
	var out []int
	for r, s := range by {
		if s > limit {
			out = append(out, r)
		}
	}
	return out
}

// median sorts its argument.
func median(x []float64) float64 {
	if len(x) == 0 {
		return math.NaN()
	}
	slices.Sort(x)
	m := len(x) / 2
	if len(x)%2 == 1 {
		return x[m]
	}
	return (x[m-1] + x[m]) / 2
}
