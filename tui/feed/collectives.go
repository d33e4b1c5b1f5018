package feed

import (
	"cmp"
	"errors"
	"io/fs"
	"os"
	"slices"
	"strings"

	"boost-tui/profiler"
	"boost-tui/profiler/record"
)

// timelineLimit bounds what is read of a run's timelines for a look at its
// collectives, in bytes; a longer run is left to the export.
const timelineLimit = 8 << 20

// Collective is one kind of communication of a run: what a mean sampled step
// spends in it, in seconds, as a mean over ranks. Waiting and transfer are as
// in PROFILING.md §5.
type Collective struct {
	Name           string // "forward all-reduce qkv"
	Calls          float64
	Wait, Transfer float64
}

// ShortName is the name with short phases: "fwd all-reduce qkv".
func (c *Collective) ShortName() string { return phases.Replace(c.Name) }

var phases = strings.NewReplacer("forward", "fwd", "backward", "bwd", "optimizer", "opt")

// Collectives is what the sampled steps of a run say of its communication.
type Collectives struct {
	Steps   int          // sampled steps that it rests on
	Kinds   []Collective // the longest first
	Matched []profiler.Collective
	TooLong bool // the timelines were not read
}

// TimelineBytes is the size of a run's timelines: it changes when there is
// something new to read.
func TimelineBytes(dir string) (sum int64, err error) {
	ranks, err := record.TimelineRanks(dir)
	if err != nil {
		return 0, err
	}
	for _, r := range ranks {
		switch info, err := os.Stat(record.TimelinePath(dir, r)); {
		case errors.Is(err, fs.ErrNotExist):
		case err != nil:
			return 0, err
		default:
			sum += info.Size()
		}
	}
	return sum, nil
}

// ReadCollectives reads the sampled steps of every rank. A run that has none
// has no kinds.
func ReadCollectives(dir string) (c Collectives, err error) {
	size, err := TimelineBytes(dir)
	if err != nil || size > timelineLimit {
		return Collectives{TooLong: err == nil}, err
	}
	ranks, err := record.TimelineRanks(dir)
	if err != nil {
		return c, err
	}
	var spans []profiler.RankSpans
	for _, r := range ranks {
		t, err := record.ReadTimeline(record.TimelinePath(dir, r))
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return c, err
		}
		for _, b := range t.Steps {
			spans = append(spans, profiler.RankSpans{Rank: r, Step: b.Step, ClockOffset: t.ClockOffset, Spans: b.Spans})
		}
	}
	c.Matched = profiler.Match(spans)
	c.sum()
	return c, nil
}

// sum makes the kinds from what was matched.
func (c *Collectives) sum() {
	at, steps := map[string]int{}, map[int]bool{}
	for i := range c.Matched {
		m := &c.Matched[i]
		steps[m.Step] = true
		name := m.Label.Phase.String() + " " + m.Op + " " + m.Label.Op
		k, ok := at[name]
		if !ok {
			k = len(c.Kinds)
			at[name] = k
			c.Kinds = append(c.Kinds, Collective{Name: name})
		}
		wait := 0.0
		for _, w := range m.WaitNanos {
			wait += float64(w) / float64(len(m.WaitNanos))
		}
		c.Kinds[k].Calls++
		c.Kinds[k].Wait += wait / 1e9
		c.Kinds[k].Transfer += float64(m.TransferNanos) / 1e9
	}
	c.Steps = len(steps)
	for i := range c.Kinds {
		k, n := &c.Kinds[i], float64(c.Steps)
		k.Calls, k.Wait, k.Transfer = k.Calls/n, k.Wait/n, k.Transfer/n
	}
	slices.SortStableFunc(c.Kinds, func(a, b Collective) int { return cmp.Compare(b.Wait+b.Transfer, a.Wait+a.Transfer) })
}
