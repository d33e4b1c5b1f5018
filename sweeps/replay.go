package sweeps

import (
	"cmp"
	"errors"
	"fmt"
	"slices"
	"time"

	"boost-tui/experiment"
	"boost-tui/runner"
	"boost-tui/sweeps/space"
)

// replay is a sweep as the lines of its journal make it, one after the other. A line that does not fit what stands
// before it (a point begun twice, an end of what was never begun) changes nothing and is counted: whatever the bytes,
// the state stays legal (CheckLegal).
//
// Snapshots share the points with it; gen says which a snapshot may hold, so that those are copied before they change.
type replay struct {
	readPlan func(n int) (plan, error)

	created time.Time
	name    string
	argv    []string
	base    experiment.Experiment
	axes    []string
	keys    []string // of the plans' spaces
	newest  plan     // without its points
	options Options
	points  []*PointState
	gen     []uint32 // of each point: the generation that made this copy
	now     uint32
	index   map[string]int // of points by their ids
	faults  []int          // of each point: attempts that the machine ended since somebody last queued it
	runs    map[string]struct{}
	pruned  []space.Pruned
	moved   []int // points that somebody moved to the front, the first first
	queue   queue

	deviceHours float64
	failures    int
	pace        []Pace
	notes       []Note
	badLines    int
	updated     time.Time

	standing
}

func newReplay(readPlan func(n int) (plan, error)) *replay {
	return &replay{readPlan: readPlan, now: 1, index: map[string]int{}, runs: map[string]struct{}{}, options: DefaultOptions()}
}

// errBad is a line that does not fit.
var errBad = errors.New("the line does not fit what stands before it")

// feed applies a line. Only what makes the whole sweep unreadable is an error: a newer schema, a plan that is missing.
func (r *replay) feed(data []byte, l *line) error {
	err := parseLine(data, l)
	if err == nil {
		err = r.apply(l)
	}
	switch {
	case err == nil:
		r.updated = later(r.updated, l.at())
	case errors.Is(err, runner.ErrNewerSchema), errors.Is(err, errPlan):
		return err
	default:
		r.badLines++
	}
	return nil
}

func (l *line) at() time.Time { return time.Unix(0, l.T).UTC() }

func later(a, b time.Time) time.Time {
	if b.After(a) {
		return b
	}
	return a
}

func (r *replay) apply(l *line) error {
	switch l.K {
	case kindCreate:
		return r.create(l)
	case kindPlan:
		return r.plan(l)
	case kindOptions:
		if l.Options == nil || l.Options.Check() != nil {
			return errBad
		}
		r.options = *l.Options
		r.queue.stale = true
	case kindPause:
		r.paused, r.pauseNow, r.pausedBy = true, l.Now || r.paused && r.pauseNow, text(l.Who)
	case kindResume:
		r.paused, r.pauseNow, r.stopped, r.failures = false, false, false, 0
		r.pausedBy, r.stopCause = "", ""
	case kindFirst:
		r.first(l.IDs)
	case kindSkip:
		r.each(l.IDs, func(i int) { r.skip(i, l) })
	case kindRetry:
		r.more(retried, func() { r.each(l.IDs, func(i int) { r.retry(i, l.Again) }) })
	case kindHold:
		return r.take(l)
	case kindRelease, kindBegin, kindRun, kindAdopt, kindEnd, kindStop, kindNote:
		return r.held(l)
	}
	return nil
}

func (r *replay) create(l *line) error {
	if !r.created.IsZero() {
		return errBad
	}
	r.created, r.name, r.argv = l.at(), text(l.Name), texts(l.Argv)
	return nil
}

// errPlan is in the error about a plan that the journal names and that cannot be read.
var errPlan = errors.New("its plan cannot be read")

// plan adds the points of a plan. Points that are there already stay as they are.
func (r *replay) plan(l *line) error {
	if l.N != len(r.keys) || l.N >= maxPlans {
		return errBad
	}
	p, err := r.readPlan(l.N)
	if errors.Is(err, runner.ErrNewerSchema) {
		return err
	}
	if err == nil && len(r.points)+len(p.Points) > maxPoints {
		err = fmt.Errorf("it has more than %d points", maxPoints)
	}
	if err != nil {
		return fmt.Errorf("%w: %w", errPlan, err)
	}
	if l.N == 0 {
		r.base = p.Base
	}
	r.keys = append(r.keys, p.Key)
	for _, key := range p.Keys {
		if !slices.Contains(r.axes, key) {
			r.axes = append(r.axes, key)
		}
	}
	r.more(grown, func() { r.add(l.N, p.Points) })
	for _, q := range p.Pruned {
		if _, there := r.index[q.ID]; !there {
			r.pruned = append(r.pruned, q)
		}
	}
	for _, k := range p.Links {
		if i, there := r.index[k.Point]; there {
			q := r.edit(i)
			q.Full, q.Vanilla = cmp.Or(q.Full, k.Full), cmp.Or(q.Vanilla, k.Vanilla)
		}
	}
	p.Points, p.Pruned, p.Links = nil, nil, nil
	r.newest, r.queue.stale = p, true
	return nil
}

func (r *replay) add(n int, points []space.Point) {
	states := make([]PointState, len(points))
	if len(r.index) == 0 {
		r.index = make(map[string]int, len(points))
	}
	r.points, r.gen, r.faults = slices.Grow(r.points, len(points)), slices.Grow(r.gen, len(points)), slices.Grow(r.faults, len(points))
	for i, p := range points {
		if _, there := r.index[p.ID]; there {
			continue
		}
		states[i] = PointState{Point: p, Plan: n, Status: Queued}
		r.index[p.ID] = len(r.points)
		r.points, r.gen, r.faults = append(r.points, &states[i]), append(r.gen, r.now), append(r.faults, 0)
	}
	r.total = len(r.points)
}

// edit is a point that may be changed: no snapshot holds this copy of it.
func (r *replay) edit(i int) *PointState {
	if r.gen[i] != r.now {
		p := *r.points[i]
		p.Attempts = slices.Clone(p.Attempts)
		r.points[i], r.gen[i] = &p, r.now
	}
	return r.points[i]
}

func (r *replay) set(p *PointState, s Status, cause string) {
	if p.Status.Over() {
		r.over--
	}
	if s.Over() {
		r.over++
	}
	p.Status, p.Cause = s, cause
}

func (r *replay) each(ids []string, f func(i int)) {
	for _, id := range ids {
		if i, ok := r.index[id]; ok {
			f(i)
		}
	}
}

func (r *replay) skip(i int, l *line) {
	if r.points[i].Status != Queued {
		return
	}
	p := r.edit(i)
	if n := len(p.Attempts); n > 0 && p.Attempts[n-1].Replaced { // nothing came of the wish to do its work again
		p.Attempts[n-1].Replaced = false
		r.set(p, Finished, "")
		return
	}
	cause := "taken out of the queue"
	if l.Who != "" {
		cause += " by " + text(l.Who)
	}
	r.set(p, Skipped, cause)
}

// retry queues a point that is over again; one whose work is done only where that is what somebody wants.
func (r *replay) retry(i int, again bool) {
	s := r.points[i].Status
	if !s.Over() || s == Finished && !again {
		return
	}
	p := r.edit(i)
	if s == Finished {
		p.Attempts[len(p.Attempts)-1].Replaced = true
	}
	r.set(p, Queued, "")
	r.faults[i] = 0
}

// take begins a sitting.
func (r *replay) take(l *line) error {
	err := r.hold(l)
	if err == nil {
		r.news = 0
	}
	return err
}

// first moves points to the front, those that were moved before behind them.
func (r *replay) first(ids []string) {
	r.queue.stale = true
	if len(ids) == 0 {
		r.moved = nil
		return
	}
	moved := make([]int, 0, len(ids)+len(r.moved))
	there := make(map[int]bool, cap(moved))
	put := func(i int) {
		if !there[i] {
			there[i] = true
			moved = append(moved, i)
		}
	}
	r.each(ids, put)
	for _, i := range r.moved {
		put(i)
	}
	r.moved = moved
}
