package sweeps

import (
	"errors"
	"fmt"
	"math"

	"boost-tui/runner"
)

// CheckLegal says what is impossible about a state: whatever bytes a journal holds, replaying it must not give such a
// one. Tests and the queue's own checks call it.
func CheckLegal(st *State) error {
	var errs []error
	bad := func(format string, args ...any) { errs = append(errs, fmt.Errorf(format, args...)) }
	ids, runs := map[string]bool{}, map[string]string{}
	queued, over, hours := map[*PointState]bool{}, 0, 0.0
	for _, p := range st.Points {
		if ids[p.ID] {
			bad("point %s is there twice", p.ID)
		}
		ids[p.ID] = true
		if err := p.checkLegal(); err != nil {
			bad("point %s: %w", p.ID, err)
		}
		for _, a := range p.Attempts {
			if other, twice := runs[a.Run]; twice && a.Run != "" {
				bad("run %s is that of %s and of %s", a.Run, other, p.ID)
			}
			runs[a.Run] = p.ID
			hours += float64(p.Ranks) * a.Seconds / 3600
		}
		if p.Status == Queued {
			queued[p] = true
		}
		if p.Status.Over() {
			over++
		}
	}
	for _, p := range st.Queue {
		if !queued[p] {
			bad("point %s is in the queue twice, or is not queued (%s)", p.ID, p.Status)
		}
		delete(queued, p)
	}
	if len(queued) > 0 {
		bad("%d queued points are not in the queue", len(queued))
	}
	if finished := len(st.Points) > 0 && over == len(st.Points); finished != (st.Phase == PhaseFinished) {
		bad("%d of %d points are over and the sweep is %s", over, len(st.Points), st.Phase)
	}
	if math.Abs(hours-st.DeviceHours) > 1e-9*math.Max(1, hours) {
		bad("its attempts took %g device hours, it says %g", hours, st.DeviceHours)
	}
	if st.Failures < 0 || st.Worked < 0 || st.PauseNow && st.Phase == PhaseRunning {
		bad("%d failures in a row, %s worked, pause now %v while %s", st.Failures, st.Worked, st.PauseNow, st.Phase)
	}
	if err := st.Options.Check(); err != nil {
		bad("options: %w", err)
	}
	return errors.Join(errs...)
}

// checkLegal says what is impossible about a point.
func (p *PointState) checkLegal() error {
	goes := false // an attempt of which no end is known
	for i, a := range p.Attempts {
		last := i == len(p.Attempts)-1
		goes = a.Ended.IsZero()
		switch {
		case a.N != i+1:
			return fmt.Errorf("attempt %d has number %d", i+1, a.N)
		case goes && !last:
			return fmt.Errorf("attempt %d goes on beside a later one", a.N)
		case goes && a.State != "" || !goes && !runner.State(a.State).Over():
			return fmt.Errorf("attempt %d is %q, ended %v", a.N, a.State, !goes)
		case !goes && a.Ended.Before(a.Begun):
			return fmt.Errorf("attempt %d ended before it began", a.N)
		case runner.State(a.State) == runner.Finished && a.Replaced == (last && p.Status == Finished):
			return fmt.Errorf("attempt %d of %d finished, replaced %v, and the point is %s", a.N, len(p.Attempts), a.Replaced, p.Status)
		case runner.State(a.State) == runner.Finished && last && p.Status != Finished && p.Status != Queued:
			return fmt.Errorf("it is %s although attempt %d finished", p.Status, a.N)
		case a.Replaced && runner.State(a.State) != runner.Finished:
			return fmt.Errorf("attempt %d was replaced and is %q", a.N, a.State)
		case !(a.Seconds >= 0 && a.Seconds <= maxSeconds):
			return fmt.Errorf("attempt %d took %g s", a.N, a.Seconds)
		}
	}
	if goes != (p.Status == Running) {
		return fmt.Errorf("it is %s, an attempt goes on: %v", p.Status, goes)
	}
	var end Attempt
	if n := len(p.Attempts); n > 0 {
		end = p.Attempts[n-1]
	}
	ok := true
	switch p.Status {
	case Finished:
		ok = runner.State(end.State) == runner.Finished
	case Failed:
		ok = end.State != "" && !end.Again
	case Stopped:
		ok = end.Rule != ""
	case Cancelled:
		ok = runner.State(end.State) == runner.Cancelled
	case Queued, Running, Skipped:
	default:
		ok = false
	}
	if !ok {
		return fmt.Errorf("it is %s after an attempt that ended %q", p.Status, end.State)
	}
	return nil
}
