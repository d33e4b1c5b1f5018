package runner

import (
	"context"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"slices"
	"time"
	"unicode/utf8"

	"boost-tui/internal/regular"
	"boost-tui/profiler/record"
)

const (
	// followEvery is how often a file that grows is looked at.
	followEvery = 100 * time.Millisecond
	// stateEvery is how often the state of a run that is followed is worked out anew.
	stateEvery = 250 * time.Millisecond
	pollBudget = 1 << 20 // bytes per look
)

// Attach hands the step lines of rank 0 to follow, from the first on, until the run is over and all
// are read, or the context ends. It returns how the run ended. Lines that cannot be read are left out.
func Attach(ctx context.Context, dir string, follow func(record.StepLine)) (Info, error) {
	return followRun(ctx, dir, stepReader(dir, follow))
}

// stepReader hands out what came since the last call.
func stepReader(dir string, follow func(record.StepLine)) func() error {
	tail := record.NewTailer(record.StepsPath(dir, 0))
	return func() error {
		var line record.StepLine
		return drain(tail, func(b []byte) {
			if line.Decode(b) == nil {
				follow(line)
			}
		})
	}
}

// LogOptions say what of a run's logs is wanted.
type LogOptions struct {
	Ranks  []int // nil: every rank's
	Tail   int   // lines of what is there already; negative: all
	Follow bool  // go on until the run is over
	Whole  bool  // lines are not cut, however long
}

// Logs hands out lines of the ranks' logs, safe for a terminal.
func Logs(ctx context.Context, dir string, o LogOptions, line func(rank int, text string)) error {
	in, err := Read(dir)
	if err != nil {
		return err
	}
	if o.Ranks == nil {
		for r := range in.Run.World() {
			o.Ranks = append(o.Ranks, r)
		}
	}
	tails := make([]*record.Tailer, len(o.Ranks))
	for i, r := range o.Ranks {
		if r < 0 || r >= in.Run.World() {
			return fmt.Errorf("run %s has no rank %d: it has %d", in.ID, r, in.Run.World())
		}
		tails[i] = record.NewTailer(record.LogPath(dir, r))
		if err := showTail(tails[i], o, func(s string) { line(r, s) }); err != nil {
			return err
		}
	}
	if !o.Follow {
		return showUnfinished(tails, o, line)
	}
	_, err = followRun(ctx, dir, func() error {
		for i, t := range tails {
			if err := drain(t, func(b []byte) { line(o.Ranks[i], o.text(b)) }); err != nil {
				return err
			}
		}
		return nil
	})
	if err != nil {
		return err
	}
	return showUnfinished(tails, o, line)
}

// text is a line safe for a terminal. One that is cut says by how much.
func (o LogOptions) text(line []byte) string {
	whole := clean(string(line), len(line))
	if o.Whole {
		return whole
	}
	n := utf8.RuneCountInString(whole)
	if n <= maxLineRunes {
		return whole
	}
	return fmt.Sprintf("%s (%d characters more)", clean(whole, maxLineRunes), n-maxLineRunes)
}

// showUnfinished hands out last lines that have no newline: a rank that dies may leave one.
func showUnfinished(tails []*record.Tailer, o LogOptions, line func(int, string)) error {
	for i, t := range tails {
		f, err := regular.Open(t.Path())
		if errors.Is(err, fs.ErrNotExist) {
			continue
		}
		if err != nil {
			return fmt.Errorf("open %s: %w", t.Path(), err)
		}
		data, err := io.ReadAll(io.NewSectionReader(f, t.Offset(), tailBytes))
		if err = errors.Join(err, f.Close()); err != nil {
			return fmt.Errorf("read %s: %w", t.Path(), err)
		}
		if s := o.text([]byte(firstLine(data))); s != "" {
			line(o.Ranks[i], s)
		}
	}
	return nil
}

// showTail hands out the last lines that are there and leaves the tailer behind them.
func showTail(t *record.Tailer, o LogOptions, line func(string)) error {
	n := o.Tail
	if n < 0 {
		return drain(t, func(b []byte) { line(o.text(b)) })
	}
	// Lines of a log are short as a rule; ones that are not show as fewer lines.
	least := int64(64 << 10)
	if o.Whole {
		least = 1 << 20 // the longest line that is read
	}
	if err := t.SkipToLast(max(int64(n)*maxLineRunes, least)); err != nil {
		return err
	}
	var last []string
	err := drain(t, func(b []byte) {
		last = append(last, o.text(b))
		if len(last) > 2*n+64 {
			last = slices.Delete(last, 0, len(last)-n)
		}
	})
	for _, s := range last[max(0, len(last)-n):] {
		line(s)
	}
	return err
}

// drain reads what is there.
func drain(t *record.Tailer, line func([]byte)) error {
	for more := true; more; {
		var err error
		if more, err = t.Poll(pollBudget, line); err != nil {
			return err
		}
	}
	return nil
}

// followRun calls read again and again until the run is over, and once more then.
func followRun(ctx context.Context, dir string, read func() error) (Info, error) {
	tick := time.NewTicker(followEvery)
	defer tick.Stop()
	in := readInfo(dir, here(), time.Now())
	looked := time.Now()
	for {
		if time.Since(looked) >= stateEvery {
			in, looked = readInfo(dir, here(), time.Now()), time.Now()
		}
		// Read after the state: what was written before the end is there now.
		if err := read(); err != nil {
			return in, err
		}
		if in.State.Over() {
			return in, nil
		}
		if errors.Is(in.Err, errNoRun) {
			return in, fmt.Errorf("run %s was deleted: %w", in.ID, in.Err)
		}
		select {
		case <-ctx.Done():
			return in, ctx.Err()
		case <-tick.C:
		}
	}
}
