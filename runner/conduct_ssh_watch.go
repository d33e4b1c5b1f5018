package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"slices"
	"time"

	"boost-tui/runner/mirror"
	"boost-tui/runner/protocol"
)

// Wait implements Agents.
func (r *sshRun) Wait() error {
	if r.watch(); r.place.superseded() {
		r.close()
		return errSuperseded // whoever has come looks after everything
	}
	lost, err := r.outcome()
	if r.home != nil {
		err = errors.Join(err, r.home.conclude())
	}
	if len(lost) > 0 {
		err = errors.Join(err, r.writeLost(lost))
	}
	r.part()
	again := r.leaveBehind()
	r.close()
	if again {
		err = errors.Join(err, startConductor(r.job.Dir, r.job.Binary))
	}
	return err
}

// leaveBehind writes down which hosts may hold files of the run, and reports whether there are any.
func (r *sshRun) leaveBehind() bool {
	if r.home == nil {
		return false
	}
	var left []string
	for _, h := range r.hosts {
		h.mu.Lock()
		if h.left {
			left = append(left, h.name)
		}
		h.mu.Unlock()
	}
	return len(left) > 0 && r.record(left).write(r.job.Dir) == nil
}

// watch waits until the agent of every host has ended, or the host is given up.
func (r *sshRun) watch() {
	tick := time.NewTicker(beatHosts)
	defer tick.Stop()
	var closing time.Time // since when the run is over, as far as anybody can tell
	for n := 1; ; n++ {
		left := slices.DeleteFunc(slices.Clone(r.hosts), (*sshHost).done)
		if len(left) == 0 {
			return
		}
		select {
		case <-tick.C:
		case <-r.place.lost:
			return
		case <-left[0].settled:
			continue
		}
		now := time.Now()
		for _, h := range left {
			h.send(mirror.Message{Kind: mirror.Beat})
		}
		r.passCancel()
		if r.unmet() {
			_ = r.Kill()
		}
		if closing.IsZero() && r.closing() {
			closing = now
		}
		if !closing.IsZero() && r.home != nil { // agents that wait for the first one do not see that it has ended
			for _, h := range left {
				h.send(mirror.Message{Kind: mirror.Cancel, Data: []byte(firstEnded)})
			}
		}
		r.giveUp(left, now, closing)
	}
}

// passCancel hands on what somebody asks for in the run's folder, which the hosts do not see.
func (r *sshRun) passCancel() {
	if r.home == nil || r.ending() != "" {
		return
	}
	if reason, ok := cancelRequest(r.job.Dir); ok {
		_ = r.Cancel(reason) // hosts that do not hear it now are told when they are back
	}
}

// unmet reports whether agents wait for one that never comes: it could not be started, or ended before the others knew where to
// meet it.
func (r *sshRun) unmet() bool {
	if slices.ContainsFunc(r.hosts, (*sshHost).stillborn) {
		return true
	}
	if first := r.hosts[0]; r.home != nil || !first.done() || first.status().Error == "" {
		return false
	}
	_, err := os.Lstat(filepath.Join(r.job.Dir, protocol.MeetFile))
	return errors.Is(err, fs.ErrNotExist) && !resultThere(r.job.Dir)
}

// closing reports whether the run is about to end: it has a result, a host was lost, or the agent that leads has ended.
func (r *sshRun) closing() bool {
	if resultThere(r.job.Dir) || r.home != nil && r.home.hasResult() {
		return true
	}
	return slices.ContainsFunc(r.hosts, func(h *sshHost) bool { return h.lost() != "" }) || r.hosts[0].done()
}

// giveUp stops waiting for hosts that are silent for too long, and ends the agents of others that wait for them.
func (r *sshRun) giveUp(left []*sshHost, now, closing time.Time) {
	r.mu.Lock()
	killed := r.killed
	r.mu.Unlock()
	for _, h := range left {
		silent := h.silence(now)
		switch {
		case !killed.IsZero() && now.Sub(killed) > killHosts && silent > beatHosts:
			h.giveUp("")
		case !closing.IsZero() && silent > 2*beatHosts && r.over():
			h.giveUp("")
		case silent > r.patience && !r.beats(now):
			h.giveUp(fmt.Sprintf("it has not answered for %d s", int(silent.Seconds())))
		}
	}
	if !closing.IsZero() && now.Sub(closing) > othersPatience && killed.IsZero() {
		_ = r.Kill()
	}
}

// over reports whether it is known how the run ended.
func (r *sshRun) over() bool {
	return resultThere(r.job.Dir) || r.home != nil && r.home.hasResult()
}

// beats reports whether the run shows a sign of life in its folder, where the hosts write to it themselves.
func (r *sshRun) beats(now time.Time) bool {
	if r.home != nil {
		return false
	}
	st, err := os.Stat(filepath.Join(r.job.Dir, protocol.HeartbeatFile))
	if err != nil {
		return false
	}
	if !st.ModTime().Equal(r.pulse.was) { // that it changes is seen here: no two clocks are compared
		r.pulse = pulse{st.ModTime(), now}
	}
	return now.Sub(r.pulse.seen) < r.patience
}

// pulse is when a heartbeat was seen to change.
type pulse struct{ was, seen time.Time }

// outcome says which hosts were lost, and what went wrong with the agents of others.
func (r *sshRun) outcome() (lost []*sshHost, err error) {
	var bad []error
	for _, h := range r.hosts {
		if h.lost() != "" {
			lost = append(lost, h)
		} else if why := h.status().Error; why != "" && (h.stillborn() || !slices.ContainsFunc(r.hosts, (*sshHost).stillborn)) {
			bad = append(bad, fmt.Errorf("host %s: %s", h.name, why))
		}
	}
	return lost, sayHosts(bad)
}

// writeLost writes the result of a run whose agents could not, because their hosts were lost.
func (r *sshRun) writeLost(lost []*sshHost) error {
	if resultThere(r.job.Dir) {
		return nil
	}
	exits, err := readExits(r.job.Dir)
	res := Result{State: Failed, Fault: MachineFault, Cause: "host " + lost[0].name + hostLost + lost[0].lost(), Started: begun(r.job.Dir, r.job.Run), Ended: storeNow(r.job.Dir)}
	for _, h := range lost {
		res.Lost = append(res.Lost, h.name)
	}
	if more := len(lost) - 1; more > 0 {
		res.Cause += fmt.Sprintf("; and %d more hosts", more)
	}
	for _, e := range exits {
		res.Ranks = append(res.Ranks, RankExit{Rank: e.Rank, Code: e.Code, Signal: e.Signal})
	}
	if reason := r.ending(); reason != "" && nobodysWish(reason) {
		res.Cause = reason + "; " + res.Cause
	} else if reason != "" {
		res.State, res.Cause, res.Fault = Cancelled, reason+"; "+res.Cause, ""
	}
	err = errors.Join(err, removeReserve(r.job.Dir), forgetMeeting(r.job.Dir), completeRollup(r.job.Dir, r.job.Run.World()))
	res.Summary = summarize(r.job.Dir, res)
	if written := writeNewResult(r.job.Dir, res); !errors.Is(written, fs.ErrExist) {
		err = errors.Join(err, written)
	}
	return err
}

// part takes leave of the hosts.
func (r *sshRun) part() {
	ctx, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	_ = r.each(ctx, func(h *sshHost, ctx context.Context) error { h.leave(ctx); return nil }) // nothing fails in it
}
