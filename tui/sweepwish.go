package tui

import (
	"context"
	"errors"
	"slices"
	"time"

	"boost-tui/runner"
	"boost-tui/sweeps"
)

// A sweep moves while somebody looks at it: between a key and what it asks for,
// a point that waited may have begun. Such points are left out, the rest is done.

// wishTries is how often a wish is made anew for a sweep that moves.
const wishTries = 5

// wish asks for something about the points that fit; nil points: all of the
// sweep. Where none fits any more, the last refusal is the error.
func (s *sweepStore) wish(ctx context.Context, id string, points []string, fits func(sweeps.Status) bool, ask func(*sweeps.Sweep, []string) error) error {
	sweep, err := s.folder.Find(id)
	if err != nil {
		return err
	}
	for range wishTries {
		st, lerr := sweep.Load(ctx)
		if lerr != nil {
			return lerr
		}
		wanted := fitting(st, points, fits)
		if len(wanted) == 0 {
			wanted = points // to be told why
		}
		if len(wanted) == 0 {
			return nil
		}
		if err = ask(sweep, wanted); !errors.Is(err, sweeps.ErrChanged) {
			return err
		}
	}
	return err
}

// fitting are the points with a status that fits, in the order asked for.
func fitting(st *sweeps.State, points []string, fits func(sweeps.Status) bool) (out []string) {
	if points == nil {
		for _, p := range st.Points {
			points = append(points, p.ID)
		}
	}
	status := make(map[string]sweeps.Status, len(st.Points))
	for _, p := range st.Points {
		status[p.ID] = p.Status
	}
	for _, id := range points {
		if now, there := status[id]; there && fits(now) {
			out = append(out, id)
		}
	}
	return out
}

func waits(s sweeps.Status) bool { return s == sweeps.Queued }

func (s *sweepStore) Front(ctx context.Context, id string, points []string) error {
	return s.wish(ctx, id, points, waits, (*sweeps.Sweep).Reorder)
}

func (s *sweepStore) Skip(ctx context.Context, id string, points []string) error {
	return s.wish(ctx, id, points, waits, (*sweeps.Sweep).Skip)
}

func (s *sweepStore) Retry(ctx context.Context, id string, points []string) error {
	again := func(p sweeps.Status) bool { return p.Over() && p != sweeps.Finished }
	return s.wish(ctx, id, points, again, (*sweeps.Sweep).Retry)
}

// endEvery is the time between two looks for the run of a point that has just begun.
const endEvery = 50 * time.Millisecond

// End takes what waits out of the queue, so that nothing new starts, and then
// cancels what runs.
func (s *sweepStore) End(ctx context.Context, id string, points []string) error {
	if points != nil && len(points) == 0 {
		return nil
	}
	sweep, err := s.folder.Find(id)
	if err != nil {
		return err
	}
	if st, err := sweep.Load(ctx); err != nil {
		return err
	} else if len(fitting(st, points, waits)) > 0 {
		if err := s.Skip(ctx, id, points); err != nil && !errors.Is(err, sweeps.ErrChanged) {
			return err
		}
	}
	cancelled := map[string]bool{}
	for {
		st, err := sweep.Load(ctx)
		if err != nil {
			return err
		}
		unborn := false
		for _, p := range st.Points {
			if p.Status != sweeps.Running || points != nil && !slices.Contains(points, p.ID) {
				continue
			}
			run := p.Attempts[len(p.Attempts)-1].Run
			if run == "" && st.Held {
				unborn = true
			}
			if run == "" || cancelled[run] {
				continue
			}
			if _, err := runner.Cancel(ctx, s.runs, run, "cancelled in the UI"); err != nil {
				return err
			}
			cancelled[run] = true
		}
		if !unborn {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(endEvery):
		}
	}
}
