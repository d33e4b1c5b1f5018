package testkit

import (
	"context"
	"errors"
	"fmt"
	"slices"

	"boost-tui/sweeps"
	"boost-tui/sweeps/results"
	"boost-tui/sweeps/space"
	"boost-tui/tui/screen"
)

// Sweeps are sweeps in memory that note what happens to them. Spaces are
// spelled out for the machine of tests.
type Sweeps struct {
	Views map[string]*screen.SweepView
	Infos []screen.SweepInfo
	Fail  error      // of every change
	Did   []string   // "create 10", "start id", "skip id a,b"
	Asked int        // how often a sweep was read
	Spec  space.Spec // spelled out last
}

func (s *Sweeps) did(format string, args ...any) error {
	s.Did = append(s.Did, fmt.Sprintf(format, args...))
	return s.Fail
}

// Expand spells a space out.
func (s *Sweeps) Expand(ctx context.Context, spec space.Spec) (*space.Expansion, error) {
	s.Spec = spec
	return space.Expand(ctx, spec, machine)
}

// Cost knows of no runs.
func (s *Sweeps) Cost(_ context.Context, x *space.Expansion, o sweeps.Options) (results.Estimate, error) {
	return results.EstimatePoints(x.Base, x.Points, o, results.History{}), nil
}

// List gives Infos.
func (s *Sweeps) List(context.Context) ([]screen.SweepInfo, []error) { return s.Infos, nil }

// Read gives the view of a sweep.
func (s *Sweeps) Read(_ context.Context, id string) (*screen.SweepView, error) {
	s.Asked++
	if v := s.Views[id]; v != nil {
		return v, nil
	}
	return nil, errors.New("no sweep " + id)
}

// Same finds a kept view of the same space.
func (s *Sweeps) Same(_ context.Context, spec space.Spec) (in screen.SweepInfo, ok bool, err error) {
	for _, info := range slices.Backward(s.Infos) {
		v := s.Views[info.ID]
		if v == nil || v.File.Key() != spec.Key() {
			continue
		}
		over := len(v.State.Points) - v.State.Count(sweeps.Queued) - v.State.Count(sweeps.Running)
		found := screen.SweepInfo{ID: info.ID, Name: info.Name, Created: info.Created, Phase: v.State.Phase, Over: over, Total: len(v.State.Points)}
		if found.Phase != sweeps.PhaseFinished {
			return found, true, nil
		}
		if !ok {
			in, ok = found, true
		}
	}
	return in, ok, nil
}

// Create keeps a sweep with all points queued, unless there is one of the same
// space that is not finished.
func (s *Sweeps) Create(ctx context.Context, f space.File, x *space.Expansion, o sweeps.Options) (id string, made bool, err error) {
	if in, ok, _ := s.Same(ctx, f.Spec); ok && in.Phase != sweeps.PhaseFinished {
		return in.ID, false, s.did("same %s", in.ID)
	}
	if err := s.did("create %d", len(x.Points)); err != nil {
		return "", false, err
	}
	id = fmt.Sprintf("20261129-152000-sweep-s%03d", len(s.Views)+1)
	st := &sweeps.State{ID: id, Name: f.Name, Created: Start, Base: x.Base, Axes: x.Keys, Pruned: x.Pruned, Options: o, Phase: sweeps.PhaseInterrupted}
	for _, p := range x.Points {
		q := &sweeps.PointState{Point: p, Status: sweeps.Queued}
		st.Points, st.Queue = append(st.Points, q), append(st.Queue, q)
	}
	s.Put(&screen.SweepView{State: st, File: f})
	return id, true, nil
}

// Put keeps a view, in the list too.
func (s *Sweeps) Put(v *screen.SweepView) {
	if s.Views == nil {
		s.Views = map[string]*screen.SweepView{}
	}
	id := v.State.ID
	s.Views[id] = v
	s.Infos = slices.DeleteFunc(s.Infos, func(in screen.SweepInfo) bool { return in.ID == id })
	s.Infos = append(s.Infos, screen.SweepInfo{ID: id, Name: v.State.Name, Created: v.State.Created, Phase: v.State.Phase, Total: len(v.State.Points)})
}

// change gives a sweep another state.
func (s *Sweeps) change(id string, f func(*sweeps.State)) {
	if old := s.Views[id]; old != nil {
		view, st := *old, *old.State
		f(&st)
		view.State = &st
		s.Views[id] = &view
	}
}

// Start lets a sweep run.
func (s *Sweeps) Start(_ context.Context, id string) error {
	s.change(id, func(st *sweeps.State) { st.Phase = sweeps.PhaseRunning })
	return s.did("start %s", id)
}

// Grow adds the points that are new.
func (s *Sweeps) Grow(_ context.Context, id string, f space.File, x *space.Expansion) (int, error) {
	v := s.Views[id]
	if v == nil {
		return 0, errors.New("no sweep " + id)
	}
	added := 0
	st := *v.State
	for _, p := range x.Points {
		if st.Point(p.ID) == nil {
			q := &sweeps.PointState{Point: p, Status: sweeps.Queued}
			st.Points, st.Queue = append(st.Points[:len(st.Points):len(st.Points)], q), append(st.Queue[:len(st.Queue):len(st.Queue)], q)
			added++
		}
	}
	s.Views[id] = &screen.SweepView{State: &st, File: f, Table: v.Table, Steps: v.Steps}
	return added, s.did("grow %s %d", id, added)
}

// Pause pauses a sweep.
func (s *Sweeps) Pause(_ context.Context, id string, now bool) error {
	s.change(id, func(st *sweeps.State) { st.Phase = sweeps.PhasePaused })
	return s.did("pause %s %v", id, now)
}

// Change replaces the options.
func (s *Sweeps) Change(_ context.Context, id string, o sweeps.Options) error {
	s.change(id, func(st *sweeps.State) { st.Options = o })
	return s.did("change %s %s", id, o.Order)
}

// Front notes the points.
func (s *Sweeps) Front(_ context.Context, id string, points []string) error {
	return s.did("front %s %d", id, len(points))
}

// Skip notes the points.
func (s *Sweeps) Skip(_ context.Context, id string, points []string) error {
	return s.did("skip %s %d", id, len(points))
}

// Retry notes the points.
func (s *Sweeps) Retry(_ context.Context, id string, points []string) error {
	return s.did("retry %s %d", id, len(points))
}

// End notes the points.
func (s *Sweeps) End(_ context.Context, id string, points []string) error {
	return s.did("end %s %d", id, len(points))
}

// Export notes the folder.
func (s *Sweeps) Export(_ context.Context, id, to string) ([]string, error) {
	return []string{to + "/sweep.csv", to + "/sweep.md"}, s.did("export %s", id)
}
