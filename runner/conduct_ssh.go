package runner

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
	"fmt"
	"io/fs"
	"maps"
	"os"
	"path/filepath"
	"slices"
	"sync"
	"time"

	"boost-tui/profiler/record"
	"boost-tui/runner/mirror"
	"boost-tui/runner/protocol"
	"boost-tui/runner/ssh"
)

const (
	// sshAtOnce is how many hosts are connected to at once: a jump host takes only so many new connections.
	sshAtOnce = 8
	// beatHosts is how often hosts are told that their conductor lives, and looked at.
	beatHosts = time.Second
	// othersPatience is how long after the loss of a host, or a result, the agents of the others may take to end by themselves:
	// the first host waits for the accounts of all others.
	othersPatience = partPatience + killAfter + 2*time.Second
	// killHosts is how long a host may take to end an agent that was killed.
	killHosts = 3 * time.Second
	// farewell is how long the last words to a host may take.
	farewell = 2 * time.Second
)

// sshRun is the agents of a run on hosts that ssh leads to. Its folder is either seen by all hosts, or none of them is trusted to
// see it and every host keeps its part by itself until it has come home.
type sshRun struct {
	job       conductJob
	config    ssh.Config
	hosts     []*sshHost
	home      *home // of a scattered run; nil: all hosts see the folder
	lines     []string
	env       []string
	sum       string // sha256 of the program
	nonce     string
	patience  time.Duration // for which a host may be silent
	again     bool          // the agents were started by a conductor that is gone
	pulse     pulse
	removeDir func() error // of the shared connections
	release   func()       // lets another process stand over the run

	ctx    context.Context // ends when nobody needs to reach the hosts any more
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu     sync.Mutex
	reason string // for which somebody ends the run; empty: nobody does
	killed time.Time
}

// start implements conductor.
func (c sshConductor) start(ctx context.Context, j conductJob) (Agents, error) {
	release, busy, err := standOver(j.Dir)
	if err != nil || busy { // who is busy looks after it
		return nil, record.Explain(err)
	}
	r, err := newSSHRun(c.hosts, j)
	if err != nil {
		release()
		return nil, err
	}
	r.release = release
	if r.again {
		was, _ := readSSH(j.Dir) // it could be read a moment ago
		if agents, err := r.goOn(ctx, was); agents == nil {
			r.close()
			return nil, err
		}
	} else if err := r.begin(ctx); err != nil {
		r.close()
		return nil, err
	}
	r.wg.Add(len(r.hosts))
	for _, h := range r.hosts {
		go func() {
			defer r.wg.Done()
			h.look()
		}()
	}
	return r, nil
}

func newSSHRun(names []string, j conductJob) (*sshRun, error) {
	config, user, err := reach()
	if err != nil {
		return nil, err
	}
	setup, err := user.Named(j.Run.Experiment.Where.Setup)
	if err != nil {
		return nil, err
	}
	r := &sshRun{job: j, config: config, lines: setup.Lines, patience: time.Duration(j.Run.Experiment.Where.HeartbeatTimeout) * time.Second}
	for _, name := range slices.Sorted(maps.Keys(setup.Env)) {
		r.env = append(r.env, name+"="+setup.Env[name])
	}
	if r.patience <= 0 {
		r.patience = staleAfter
	}
	if r.sum, err = hashFile(j.Binary); err != nil {
		return nil, err
	}
	if was, err := readSSH(j.Dir); err == nil { // a conductor was here before
		r.again = true
		if was.Scattered {
			if r.home, err = newHome(r); err != nil {
				return nil, err
			}
		}
	}
	r.config.Control, r.removeDir = ssh.ControlFolder()
	r.ctx, r.cancel = context.WithCancel(context.Background())
	for i, name := range names {
		r.hosts = append(r.hosts, newSSHHost(r, i, name, len(names)))
	}
	return r, nil
}

// close lets go of everything; no agent is ended by it.
func (r *sshRun) close() {
	r.cancel()
	for _, h := range r.hosts {
		h.hangUp()
	}
	r.wg.Wait()
	_ = r.removeDir() // what stays is removed another day
	if r.home != nil {
		r.home.close()
	}
	r.release()
}

// begin reaches every host before anything starts on one, and then starts the agents.
func (r *sshRun) begin(ctx context.Context) error {
	if err := r.each(ctx, (*sshHost).connect); err != nil {
		return err
	}
	if err := r.look(ctx); err != nil {
		return err
	}
	if err := r.each(ctx, (*sshHost).open); err != nil {
		return err
	}
	// From here on there may be something to come back to.
	if err := (sshRecord{Scattered: r.home != nil}).write(r.job.Dir); err != nil {
		return err
	}
	if r.home != nil {
		if err := r.home.prepare(ctx); err != nil {
			return err
		}
	}
	return r.each(ctx, (*sshHost).start)
}

// each does something with every host, several at once. The error of the first that fails comes first; a few others follow.
func (r *sshRun) each(ctx context.Context, do func(*sshHost, context.Context) error) error {
	errs := make([]error, len(r.hosts))
	var wg sync.WaitGroup
	free := make(chan struct{}, sshAtOnce)
	for i, h := range r.hosts {
		free <- struct{}{}
		wg.Go(func() {
			errs[i] = do(h, ctx)
			<-free
		})
	}
	wg.Wait()
	var bad []error
	for _, err := range errs {
		if err != nil {
			bad = append(bad, err)
		}
	}
	const shown = 3
	if more := len(bad) - shown; more > 0 {
		bad = append(bad[:shown:shown], fmt.Errorf("and %d more hosts", more))
	}
	return errors.Join(bad...)
}

// look finds out whether the hosts see the run's folder, and brings this program to those that lack it. A shared file system is not
// assumed: a file with a random content is looked for.
func (r *sshRun) look(ctx context.Context) error {
	var b [16]byte
	if _, err := rand.Read(b[:]); err != nil {
		return err
	}
	r.nonce = hex.EncodeToString(b[:])
	path := filepath.Join(r.job.Dir, nonceName)
	if err := protocol.WriteFile(path, []byte(r.nonce+"\n")); err != nil {
		return record.Explain(err)
	}
	err := r.each(ctx, (*sshHost).prepare)
	if err = errors.Join(err, os.Remove(path)); err != nil {
		return err
	}
	for _, h := range r.hosts {
		if !h.shares && r.home == nil {
			if r.home, err = newHome(r); err != nil {
				return err
			}
		}
	}
	return nil
}

// nonceName is the file that hosts are asked for.
const nonceName = ".nonce"

// Cancel implements Agents.
func (r *sshRun) Cancel(reason string) error {
	r.mu.Lock()
	r.reason = reason
	r.mu.Unlock()
	var err error
	if r.home == nil {
		err = requestCancel(r.job.Dir, reason) // hosts that cannot be reached just now may see it all the same
	}
	heard := false
	for _, h := range r.hosts {
		heard = h.send(mirror.Message{Kind: mirror.Cancel, Data: []byte(clean(reason, 200))}) || heard
	}
	if heard {
		return nil
	}
	return err
}

// ending is the reason to end the run; empty: there is none.
func (r *sshRun) ending() string {
	r.mu.Lock()
	defer r.mu.Unlock()
	return r.reason
}

// Kill implements Agents.
func (r *sshRun) Kill() error {
	r.mu.Lock()
	if r.killed.IsZero() {
		r.killed = time.Now()
	}
	r.mu.Unlock()
	for _, h := range r.hosts {
		h.send(mirror.Message{Kind: mirror.Cancel, Name: cancelKill})
	}
	return nil
}

// Wait implements Agents.
func (r *sshRun) Wait() error {
	r.watch()
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
	was := sshRecord{Scattered: true}
	for _, h := range r.hosts {
		h.mu.Lock()
		if h.left {
			was.Left = append(was.Left, h.name)
		}
		h.mu.Unlock()
	}
	return len(was.Left) > 0 && was.write(r.job.Dir) == nil
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
		case <-left[0].settled:
			continue
		}
		now := time.Now()
		for _, h := range left {
			h.send(mirror.Message{Kind: mirror.Beat})
		}
		r.passCancel()
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
		} else if why := h.status().Error; why != "" {
			bad = append(bad, fmt.Errorf("host %s: %s", h.name, why))
		}
	}
	return lost, errors.Join(bad...)
}

// writeLost writes the result of a run whose agents could not, because their hosts were lost.
func (r *sshRun) writeLost(lost []*sshHost) error {
	if resultThere(r.job.Dir) {
		return nil
	}
	exits, err := readExits(r.job.Dir)
	res := Result{State: Failed, Fault: MachineFault, Cause: "host " + lost[0].name + hostLost + lost[0].lost(), Started: r.job.Run.Created, Ended: wallNow()}
	for _, h := range lost {
		res.Lost = append(res.Lost, h.name)
	}
	if more := len(lost) - 1; more > 0 {
		res.Cause += fmt.Sprintf("; and %d more hosts", more)
	}
	for _, e := range exits {
		res.Ranks = append(res.Ranks, RankExit{Rank: e.Rank, Code: e.Code, Signal: e.Signal})
	}
	if reason := r.ending(); reason != "" {
		res.State, res.Cause, res.Fault = Cancelled, reason+"; "+res.Cause, ""
	}
	err = errors.Join(err, removeReserve(r.job.Dir), completeRollup(r.job.Dir, r.job.Run.World()))
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
