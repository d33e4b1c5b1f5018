package tui

import (
	"context"
	"errors"

	"boost-tui/sweeps"
	"boost-tui/sweeps/queue"
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

// End takes what waits out of the queue, so that nothing new starts, and then
// cancels what runs.
func (s *sweepStore) End(ctx context.Context, id string, points []string) error {
	if points != nil && len(points) == 0 {
		return nil
	}
	return s.on(id, func(w *sweeps.Sweep) error { return queue.End(ctx, s.runs, w, points, "cancelled in the UI") })
}
