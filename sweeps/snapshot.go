package sweeps

import (
	"fmt"
	"path/filepath"
	"slices"
	"strings"
	"time"

	"boost-tui/runner"
)

// snapshot is the state that the lines so far make, seen at a time beside who looks after the sweep.
func (r *replay) snapshot(dir string, p presence, now time.Time) *State {
	r.now++ // whatever the snapshot holds is copied before it changes
	st := &State{
		ID: filepath.Base(dir), Dir: dir, Name: r.name, Created: r.created, Base: r.base, Axes: slices.Clip(r.axes),
		Points: slices.Clone(r.points), Pruned: slices.Clip(r.pruned), Options: r.options, Queue: r.queued(),
		DeviceHours: r.deviceHours, Failures: r.failures, BadLines: r.badLines, Pace: slices.Clip(r.pace),
		Argv: r.argv, Keys: slices.Clip(r.keys), TOML: r.newest.TOML, Raw: r.newest.Raw, Excluded: r.newest.Excluded, Merged: r.newest.Merged,
		Updated: r.updated, Notes: slices.Clip(r.notes),
	}
	r.presence(st, p, now)
	return st
}

// GoOn says to people how the sweep goes on, as "boost-tui sweep resume ID runs what waits"; empty where nothing needs to be
// done: it runs, or all is over.
func (st *State) GoOn() string { return goOn(st.Phase, st.ID) }

// GoOn is State.GoOn.
func (in *Info) GoOn() string { return goOn(in.Phase, in.ID) }

func goOn(p Phase, id string) string {
	switch p {
	case PhaseWaiting:
		return "boost-tui sweep resume " + id + " runs what waits"
	case PhaseInterrupted, PhasePaused:
		return "boost-tui sweep resume " + id + " goes on"
	case PhaseStopped:
		return "boost-tui sweep resume " + id + " goes on, with a higher limit where one was reached"
	}
	return ""
}

// Point finds a point by its id; nil: there is none.
func (st *State) Point(id string) *PointState {
	for _, p := range st.Points {
		if p.ID == id {
			return p
		}
	}
	return nil
}

// FindPoint finds a point as people name it: by its id or the start of it, by its label, or by one of its runs or the
// ending of that run's id. The error lists what fits when several do.
func (st *State) FindPoint(word string) (*PointState, error) {
	if p := st.Point(word); p != nil {
		return p, nil
	}
	var fit []*PointState
	for _, p := range st.Points {
		if word != "" && p.named(word) {
			fit = append(fit, p)
		}
	}
	switch {
	case len(fit) == 1:
		return fit[0], nil
	case len(fit) == 0:
		return nil, fmt.Errorf("sweep %s has no point %q; `boost-tui sweep status %s` lists them", st.ID, runner.CleanTo(word, 60), st.ID)
	}
	var ids []string
	for _, p := range fit[:min(len(fit), 3)] {
		ids = append(ids, fmt.Sprintf("%s (%s)", p.ID, p.Label))
	}
	return nil, fmt.Errorf("%q fits %d points of sweep %s: %s; say more of the id", runner.CleanTo(word, 60), len(fit), st.ID, joinComma(ids))
}

// named reports whether people may call the point so, short of its whole id.
func (p *PointState) named(word string) bool {
	if strings.HasPrefix(p.ID, word) || p.Label == word {
		return true
	}
	return slices.ContainsFunc(p.Attempts, func(a Attempt) bool { return a.Run == word || strings.HasSuffix(a.Run, "-"+word) })
}

// Count is how many points have a status.
func (st *State) Count(s Status) int {
	n := 0
	for _, p := range st.Points {
		if p.Status == s {
			n++
		}
	}
	return n
}
