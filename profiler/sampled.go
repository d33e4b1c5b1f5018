package profiler

import (
	"context"
	"errors"
	"io"
	"math"

	"boost-tui/profiler/record"
)

// EachSampled yields the sampled steps of a run in order, each with the spans of all ranks that have
// it. Only one step is held in memory. A run without timelines has none.
func EachSampled(ctx context.Context, dir string, yield func(step int, ranks []RankSpans) error) error {
	ids, err := record.TimelineRanks(dir)
	if err != nil {
		return err
	}
	var open []*cursor
	defer func() {
		for _, c := range open {
			_ = c.t.Close() // read only
		}
	}()
	for _, r := range ids {
		t, err := record.OpenTimeline(record.TimelinePath(dir, r))
		if err != nil {
			return err
		}
		c := &cursor{t: t, rank: r}
		open = append(open, c)
		if err := c.next(); err != nil {
			return err
		}
	}
	for {
		if err := ctx.Err(); err != nil {
			return err
		}
		step := math.MaxInt
		for _, c := range open {
			if !c.done {
				step = min(step, c.block.Step)
			}
		}
		if step == math.MaxInt {
			return nil
		}
		var ranks []RankSpans
		for _, c := range open {
			if c.done || c.block.Step != step {
				continue
			}
			ranks = append(ranks, RankSpans{Rank: c.rank, Step: step, ClockOffset: c.t.ClockOffset, Spans: c.block.Spans})
			if err := c.next(); err != nil {
				return err
			}
		}
		if err := yield(step, ranks); err != nil {
			return err
		}
	}
}

// cursor is the place in one rank's timeline.
type cursor struct {
	t     *record.Timeline
	rank  int
	block record.Block
	done  bool
}

func (c *cursor) next() error {
	var err error
	c.block, err = c.t.Next()
	if errors.Is(err, io.EOF) {
		c.done = true
		return nil
	}
	return err
}
