package runner

import (
	"cmp"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io/fs"
	"slices"
	"strings"
	"syscall"
	"time"

	"boost-tui/profiler/compare"
	"boost-tui/profiler/record"
	"boost-tui/runner/protocol"
)

// summaryPatience bounds the reading of a long run's steps at its end: `compare` can do it again.
const summaryPatience = 2 * time.Second

// conclude works out the result after the last rank.
func (a *agent) conclude() error {
	a.diskTrouble(a.settled())
	a.leaveCards()
	if a.meter != nil {
		a.diskTrouble(a.meter.stop())
	}
	a.crew.close()
	a.dropAside()
	a.forgetHalt()
	state, cause := a.verdict()
	err := a.finish(state, cause)
	if a.others != nil { // they stay until it is written
		err = errors.Join(err, a.others.server.Close())
	}
	return err
}

func (a *agent) verdict() (State, string) {
	if cause, _ := a.lostHosts(); cause != "" && a.ending.state == Failed {
		return Failed, cause
	}
	switch {
	case a.ending.state != "" && a.ending.cause != "":
		return a.ending.state, a.ending.cause
	case len(a.ended) == 0:
		return Finished, ""
	}
	return Failed, a.blame()
}

// blame names the rank that ended the run. Where all only answered to somebody's end, a full disk is the
// better guess than the first of them.
func (a *agent) blame() string {
	first := primary(a.ended)
	if said := a.fencedElsewhere(); said != "" && (first.Secondary || first.Code == protocol.CodeCancelled) {
		return said
	}
	cause := describe(first)
	if a.absent != "" && strings.Contains(cause, peersAbsent) {
		cause = a.absent + ": " + cause
	}
	if a.diskFull && allSecondary(a.ended) && !strings.Contains(cause, syscall.ENOSPC.Error()) {
		cause = fullDisk + "; " + cause
	}
	return cause + a.whichHost(cause)
}

// finish writes the result, again and again for a while when the disk is full.
func (a *agent) finish(state State, cause string) error {
	state, cause = a.whoTold(state, cause)
	a.note(record.EventState, string(state), cause, nil)
	if a.events != nil {
		a.diskTrouble(a.events.Close())
		a.events = nil
	}
	if a.gone {
		return fmt.Errorf("run %s: %s: %s", a.run.ID, state, cause)
	}
	slices.SortFunc(a.results, func(x, y RankExit) int { return cmp.Compare(x.Rank, y.Rank) })
	r := Result{State: state, Cause: cause, Fault: faultOf(a.run, state, cause, a.ended), Ranks: a.results, Started: a.started, Ended: a.over()}
	_, r.Lost = a.lostHosts()
	r.Summary = summarize(a.dir, r)
	write := writeResult
	if a.o.Share.several() {
		write = writeFirstResult
	}
	for deadline := time.Now().Add(resultPatience); ; time.Sleep(watchEvery) {
		err := errors.Join(removeReserve(a.dir), a.saveAll(), write(a.dir, r))
		// A directory that somebody deleted under the run does not come back.
		if err == nil || errors.Is(err, fs.ErrNotExist) || time.Now().After(deadline) {
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
	if a.gone {
		return
	}
	if err := protocol.WriteExit(a.dir, rec); err != nil {
		a.diskTrouble(err)
		a.unsaved = append(a.unsaved, rec)
	}
}

// summarize is the run's figures as they stand in its result. A run that has none, or too damaged ones, goes without.
func summarize(dir string, r Result) json.RawMessage {
	ctx, cancel := context.WithTimeout(context.Background(), summaryPatience)
	defer cancel()
	sum, err := compare.SummarizeContext(ctx, dir)
	if err != nil {
		return nil
	}
	sum.State, sum.Cause = string(r.State), clean(r.Cause, maxLineRunes)
	data, err := json.Marshal(sum)
	if err != nil {
		return nil
	}
	return data
}
