package sweeps

import (
	"bytes"
	"context"
	"errors"
	"fmt"
	"path/filepath"
	"slices"
	"strings"

	"boost-tui/experiment"
	"boost-tui/runner/protocol"
	"boost-tui/sweeps/space"
)

// request replays the sweep, asks what to write, and writes it, while nobody else can. No line: there is nothing to do.
func (s *Sweep) request(what string, ask func(r *replay) (*line, error)) error {
	err := s.asked(func(r *replay, j *journal) error {
		l, err := ask(r)
		if l == nil || err != nil {
			return err
		}
		return j.append(l)
	})
	if err != nil {
		return fmt.Errorf("%s sweep %s: %w", what, s.ID, err)
	}
	return nil
}

func (s *Sweep) asked(do func(r *replay, j *journal) error) error {
	var t tail
	if _, err := t.read(context.Background(), s.Dir); err != nil { // the long part, without the lock
		return err
	}
	return s.locked(&t, func(j *journal) error { return do(t.replay, j) })
}

// Pause asks that no further run is started; with now, the runs that go on are ended, and run again when the sweep is
// resumed. who is named as the cause.
func (s *Sweep) Pause(who string, now bool) error {
	return s.request("pause", func(r *replay) (*line, error) {
		if r.finished() {
			return nil, unfit("every point of it is over, so there is nothing to pause")
		}
		if r.paused && (r.pauseNow || !now) {
			return nil, nil
		}
		return &line{K: kindPause, Who: text(who), Now: now}, nil
	})
}

// Resume takes back a pause and a stop; failures are counted anew. It starts no program.
func (s *Sweep) Resume(who string) error {
	return s.request("resume", func(r *replay) (*line, error) {
		if !r.paused && !r.stopped {
			return nil, nil
		}
		return &line{K: kindResume, Who: text(who)}, nil
	})
}

// SetOptions replaces the options of the queue. It resumes nothing.
func (s *Sweep) SetOptions(o Options) error {
	return s.request("set the options of", func(r *replay) (*line, error) {
		if err := o.Check(); err != nil {
			return nil, err
		}
		if o == r.options {
			return nil, nil
		}
		return &line{K: kindOptions, Options: &o}, nil
	})
}

// Reorder moves points to the front of the queue, in the order given. They stay in front of all that were not moved,
// whatever order the options say later. No points: what was ever moved goes back to where the order puts it.
func (s *Sweep) Reorder(ids []string) error {
	return s.request("reorder", func(r *replay) (*line, error) {
		if len(ids) == 0 && len(r.moved) == 0 {
			return nil, nil
		}
		return r.wish(kindFirst, ids, "only queued points can be moved", func(p *PointState) bool { return p.Status == Queued })
	})
}

// Skip takes queued points out of the queue. One that had finished and was to run again (RetryAgain) is finished then.
func (s *Sweep) Skip(ids []string) error {
	return s.request("skip points of", func(r *replay) (*line, error) {
		return r.wish(kindSkip, ids, "only queued points can be skipped", func(p *PointState) bool { return p.Status == Queued })
	})
}

// Retry queues points again that are over and did not finish.
func (s *Sweep) Retry(ids []string) error {
	return s.request("retry points of", func(r *replay) (*line, error) {
		return r.wish(kindRetry, ids, "points that are over can be queued again, those that finished only with --again",
			func(p *PointState) bool { return p.Status.Over() && p.Status != Finished })
	})
}

// RetryAgain is Retry for points that finished as well: their work is done again. From then on the new attempt counts,
// whatever becomes of it; those before it stay in the journal, and their runs in the store.
func (s *Sweep) RetryAgain(ids []string) error {
	return s.request("retry points of", func(r *replay) (*line, error) {
		l, err := r.wish(kindRetry, ids, "only points that are over run again", func(p *PointState) bool { return p.Status.Over() })
		if l != nil {
			l.Again = true
		}
		return l, err
	})
}

// unfit is why a wish does not fit the sweep, in words for people; errors.Is(err, ErrChanged) holds.
type unfit string

func (e unfit) Error() string        { return string(e) }
func (e unfit) Is(target error) bool { return target == ErrChanged }

// wish is a line about points, all of which must be there and fit; rule says in words what fits.
func (r *replay) wish(kind string, ids []string, rule string, fits func(*PointState) bool) (*line, error) {
	var bad []string
	why := ""
	for _, id := range ids {
		i, ok := r.index[id]
		switch {
		case !ok:
			bad = append(bad, fmt.Sprintf("there is no point %q", text(id)))
		case !fits(r.points[i]):
			bad = append(bad, fmt.Sprintf("point %s (%s) is %s", id, r.points[i].Label, r.points[i].Status))
			why = "; " + rule
		}
	}
	if len(bad) > 0 {
		more := ""
		if len(bad) > 5 {
			more = fmt.Sprintf(", and %d more", len(bad)-5)
		}
		return nil, unfit(joinComma(bad[:min(len(bad), 5)]) + more + why)
	}
	if len(ids) == 0 && kind != kindFirst {
		return nil, nil
	}
	return &line{K: kind, IDs: slices.Clone(ids)}, nil
}

// Grow adds a plan: the points of x that the sweep does not have yet, whether or not x holds those that it has
// (ErrNothingNew: none is left). The plan is on the disk before the journal says that it belongs to the sweep.
func (s *Sweep) Grow(file space.File, x *space.Expansion) error {
	err := s.asked(func(r *replay, j *journal) error {
		if len(r.keys) >= maxPlans {
			return fmt.Errorf("it has %d plans, and no more fit", len(r.keys))
		}
		if !sameBase(r.base, x.Base) {
			return errors.New("its points would start from other values than those that are there: keep [set] as it is, and make what is new an axis")
		}
		rest := x.Beyond(r.planned(), r.pruned)
		rest.Links = append(rest.Links, x.Links...)
		if len(rest.Points) == 0 {
			return ErrNothingNew
		}
		if len(r.points)+len(rest.Points) > maxPoints {
			return fmt.Errorf("it would have %d points, more than %d", len(r.points)+len(rest.Points), maxPoints)
		}
		return s.commit(newPlan(file, rest), len(r.keys), j)
	})
	if err != nil {
		return fmt.Errorf("grow sweep %s: %w", s.ID, err)
	}
	return nil
}

// planned are the points of all plans.
func (r *replay) planned() []space.Point {
	points := make([]space.Point, len(r.points))
	for i, p := range r.points {
		points[i] = p.Point
	}
	return points
}

// commit writes a plan down. A file of its number that is there already was never committed: its program was killed.
func (s *Sweep) commit(p plan, n int, j *journal) error {
	data, err := p.encode()
	if err != nil {
		return err
	}
	if err := protocol.WriteFile(filepath.Join(s.Dir, planFile(n)), data); err != nil {
		return full(err)
	}
	if err := syncFolder(s.Dir); err != nil {
		return full(err)
	}
	if err := j.append(&line{K: kindPlan, N: n, Key: p.Key}); err != nil {
		return err
	}
	// For people only: the plan holds the file, so one that cannot be written is no reason to fail.
	_ = protocol.WriteFile(filepath.Join(s.Dir, TOMLFile), []byte(p.TOML))
	return nil
}

// sameBase reports whether two experiments are the same but for their names and tags.
func sameBase(a, b experiment.Experiment) bool {
	a.Name, b.Name, a.Tags, b.Tags = "", "", nil, nil
	return bytes.Equal(a.TOML(), b.TOML())
}

func joinComma(list []string) string { return strings.Join(list, ", ") }
