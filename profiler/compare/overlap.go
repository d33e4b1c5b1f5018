package compare

import (
	"cmp"
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"boost-tui/profiler/record"
)

// overlapShare is the share of a run's time above which another run beside it counts: less cannot move
// a median or a mean by more than its interval.
const overlapShare = 0.01

// span is when the steps of a run ran, Unix nanoseconds.
type span struct{ from, to int64 }

func (s span) shared(o span) int64 { return max(0, min(s.to, o.to)-max(s.from, o.from)) }

// findOverlaps notes which runs ran beside each other on one host, and which of the same store ran beside
// them: they shared cores and memory, and their times say little.
func findOverlaps(ctx context.Context, runs []*loaded, look looker) error {
	besideEachOther(runs)
	given := map[string]bool{}
	stores := map[string]bool{}
	for _, r := range runs {
		dir, err := filepath.Abs(r.run.Dir)
		if err != nil {
			return fmt.Errorf("folder of run %s: %w", r.run.ID, err)
		}
		given[dir], stores[filepath.Dir(dir)] = true, true
	}
	for store := range stores {
		if err := others(ctx, store, given, runs, look); err != nil {
			return err
		}
	}
	for _, r := range runs {
		slices.Sort(r.overlapped)
		slices.Sort(r.unseen)
	}
	return nil
}

// besideEachOther goes through the runs by their starts, so that each meets only those that began while it ran.
func besideEachOther(runs []*loaded) {
	order := slices.DeleteFunc(slices.Clone(runs), func(r *loaded) bool { return r.m.from <= 0 })
	slices.SortStableFunc(order, func(a, b *loaded) int { return cmp.Compare(a.m.from, b.m.from) })
	for i, a := range order {
		for _, b := range order[i+1:] {
			if b.m.from >= a.m.to {
				break
			}
			if sameHost(&a.run, &b.run) {
				a.beside(b.run.ID, span{b.m.from, b.m.to})
				b.beside(a.run.ID, span{a.m.from, a.m.to})
			}
		}
	}
}

// looker finds out when the steps of a run ran that is not compared; an error: nobody can tell.
type looker func(ctx context.Context, dir string) (Run, span, error)

// lookAt reads it from the run's files.
func lookAt(ctx context.Context, dir string) (Run, span, error) {
	run, err := ReadRun(dir)
	if err != nil {
		return Run{}, span{}, err
	}
	at, err := stepsOf(ctx, dir)
	return run, at, err
}

// beside notes a run that ran at the times given, where that was a share of the run's time that counts.
func (l *loaded) beside(id string, at span) {
	own := span{l.m.from, l.m.to}
	if n := own.shared(at); own.from > 0 && at.from > 0 && float64(n) > overlapShare*float64(own.to-own.from) {
		l.overlapped = append(l.overlapped, id)
	}
}

// sameHost reports whether two runs, not one and its copy, had a host in common.
func sameHost(a, b *Run) bool {
	return !(a.written() == b.written() && a.Created.Equal(b.Created)) && slices.ContainsFunc(a.Hosts, func(h string) bool { return slices.Contains(b.Hosts, h) })
}

// written is the id that run.json gives.
func (r *Run) written() string {
	if r.Claimed != "" {
		return r.Claimed
	}
	return r.ID
}

// others looks through a store for runs that are not compared and ran meanwhile. The times of the files
// sort out nearly all without opening them. What cannot be read did not disturb anybody; where its steps are no lines, that
// is told.
func others(ctx context.Context, store string, given map[string]bool, runs []*loaded, look looker) error {
	entries, err := os.ReadDir(store)
	if errors.Is(err, fs.ErrPermission) {
		return nil
	}
	if err != nil {
		return fmt.Errorf("look for runs beside those compared: %w", err)
	}
	lives := make([]span, 0, 2*len(runs))
	for _, r := range runs {
		lives = append(lives, r.lives()...)
	}
	for _, e := range entries {
		if err := ctx.Err(); err != nil {
			return err
		}
		dir := filepath.Join(store, e.Name())
		if given[dir] || !e.IsDir() {
			continue
		}
		maybe, ok := lifetime(dir)
		if !ok || !slices.ContainsFunc(lives, func(s span) bool { return maybe.shared(s) > 0 }) {
			continue
		}
		run, at, err := look(ctx, dir)
		if err != nil && !errors.Is(err, record.ErrNoLines) {
			continue
		}
		for _, r := range runs {
			switch {
			case !sameHost(&r.run, &run):
			case err == nil:
				r.beside(run.ID, at)
			case slices.ContainsFunc(r.lives(), func(s span) bool { return maybe.shared(s) > 0 }):
				r.unseen = append(r.unseen, run.ID)
			}
		}
	}
	return ctx.Err()
}

// lives is when the run ran by the clock of its hosts, and by that of its store, which others' lifetimes go by: they may be minutes
// apart.
func (l *loaded) lives() []span {
	out := []span{{l.m.from, l.m.to}}
	if files, ok := lifetime(l.run.Dir); ok && l.m.from > 0 {
		out = append(out, files)
	}
	return out
}

// lifetime is from the writing of run.json to that of result.json, or till now.
func lifetime(dir string) (span, bool) {
	began, err := os.Lstat(filepath.Join(dir, "run.json"))
	if err != nil {
		return span{}, false
	}
	s := span{from: began.ModTime().UnixNano(), to: time.Now().UnixNano()}
	if ended, err := os.Lstat(filepath.Join(dir, "result.json")); err == nil {
		s.to = ended.ModTime().UnixNano()
	}
	return s, true
}

// errNoSteps is the error about a run that has none.
var errNoSteps = errors.New("no steps")

// errFirst ends a reading at the first line.
var errFirst = errors.New("first line")

// stepsOf is when a run's steps ran, by the first and the last line of its lowest rank.
func stepsOf(ctx context.Context, dir string) (span, error) {
	ranks, err := record.StepRanks(dir)
	if err != nil || len(ranks) == 0 {
		return span{}, cmp.Or(err, errNoSteps)
	}
	var s span
	path := record.StepsPath(dir, ranks[0])
	if _, err := record.EachStepLine(ctx, path, func(l *record.StepLine) error {
		s.from = l.TSNanos - max(0, l.WallNanos)
		return errFirst
	}); !errors.Is(err, errFirst) {
		return span{}, cmp.Or(err, errNoSteps)
	}
	last, err := record.LastSteps(path, 1)
	if err != nil || len(last) == 0 || s.from <= 0 {
		return span{}, cmp.Or(err, errNoSteps)
	}
	s.to = last[0].TSNanos
	return s, nil
}
