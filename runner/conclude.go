package runner

import (
	"cmp"
	"errors"
	"slices"
	"time"

	"boost-tui/profiler/record"
	"boost-tui/runner/protocol"
)

// conclude works out the result after the last rank.
func (a *agent) conclude() error {
	if a.meter != nil {
		a.diskTrouble(a.meter.stop())
	}
	a.crew.close()
	state, cause := a.verdict()
	return a.finish(state, cause)
}

func (a *agent) verdict() (State, string) {
	switch {
	case a.ending.state != "" && a.ending.cause != "":
		return a.ending.state, a.ending.cause
	case len(a.ended) == 0:
		return Finished, ""
	case allCancelled(a.ended):
		return Cancelled, "its ranks were told to stop by a signal that was not their agent's"
	}
	return Failed, a.blame()
}

// blame names the rank that ended the run. When all who failed only answered to another's end, that
// one left without a failure of its own.
func (a *agent) blame() string {
	cause := describe(primary(a.ended))
	if a.diskFull && allSecondary(a.ended) {
		cause = fullDisk + "; " + cause
	}
	return cause
}

// finish writes the result, again and again for a while when the disk is full.
func (a *agent) finish(state State, cause string) error {
	a.note(record.EventState, string(state), cause, nil)
	if a.events != nil {
		a.diskTrouble(a.events.Close())
		a.events = nil
	}
	slices.SortFunc(a.results, func(x, y RankExit) int { return cmp.Compare(x.Rank, y.Rank) })
	r := Result{State: state, Cause: cause, Ranks: a.results, Started: a.started, Ended: time.Now().UTC()}
	for deadline := time.Now().Add(resultPatience); ; time.Sleep(watchEvery) {
		err := errors.Join(removeReserve(a.dir), a.saveAll(), writeResult(a.dir, r))
		if err == nil || time.Now().After(deadline) {
			return err
		}
	}
}

// saveAll tries again what could not be written.
func (a *agent) saveAll() error {
	var errs []error
	left := a.unsaved[:0]
	for _, rec := range a.unsaved {
		if err := protocol.WriteExit(a.dir, rec); err != nil {
			errs = append(errs, err)
			left = append(left, rec)
		}
	}
	a.unsaved = left
	return errors.Join(errs...)
}

// save writes a record now, or keeps it to try again.
func (a *agent) save(rec protocol.ExitRecord) {
	if err := protocol.WriteExit(a.dir, rec); err != nil {
		a.diskTrouble(err)
		a.unsaved = append(a.unsaved, rec)
	}
}
