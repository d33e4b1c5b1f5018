package runner

import (
	"context"
	"crypto/rand"
	"encoding/hex"
	"errors"
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
	// returnPatience is how long a host that was lost may take to come back for a run that goes on.
	returnPatience = time.Minute
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
	place     *post        // over the run

	ctx    context.Context // ends when nobody needs to reach the hosts any more
	cancel context.CancelFunc
	wg     sync.WaitGroup

	mu     sync.Mutex
	reason string // for which somebody ends the run; empty: nobody does
	killed time.Time
}

// start implements conductor.
func (c sshConductor) start(ctx context.Context, j conductJob) (Agents, error) {
	place, busy, err := standOver(j.Dir)
	if err != nil || busy { // who is busy looks after it
		return nil, err
	}
	r, err := newSSHRun(c.without(j.Lost), j)
	if err != nil {
		place.leave()
		return nil, err
	}
	r.place = place
	begun := make(chan struct{})
	defer close(begun)
	r.wg.Go(func() { r.beatUntil(begun) })
	if r.again {
		was, _ := readSSH(j.Dir) // it could be read a moment ago
		if agents, err := r.goOn(ctx, was); agents == nil {
			r.close()
			return nil, err
		}
	} else if err := r.beginSoon(ctx); err != nil {
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
	was, before := readSSH(j.Dir)
	if before == nil { // a conductor was here already
		r.again, names = true, was.Hosts
	}
	r.ctx, r.cancel = context.WithCancel(context.Background())
	r.config.Old = r.config.IsOld(r.ctx)
	r.config.Control, r.removeDir = ssh.ControlFolder()
	for i, name := range names {
		r.hosts = append(r.hosts, newSSHHost(r, i, name, len(names)))
	}
	if r.again && was.Scattered {
		r.home = newHome(r)
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
	r.place.leave()
}

// record is what a conductor that comes back must know. left are hosts that may hold files of the run when it is over.
func (r *sshRun) record(left []string) sshRecord {
	was := sshRecord{Scattered: r.home != nil, Left: left}
	for _, h := range r.hosts {
		was.Hosts = append(was.Hosts, h.name)
	}
	return was
}

// beginSoon is begin for a run that may go on where another one lost a host: that has some time to come back.
func (r *sshRun) beginSoon(ctx context.Context) error {
	deadline := time.Now().Add(returnPatience)
	for {
		err := r.begin(ctx)
		var passing *ssh.Error
		if err == nil || r.job.Run.Restart == nil || !errors.As(err, &passing) || !passing.Passing() || time.Now().After(deadline) || ctx.Err() != nil {
			return err
		}
		for _, h := range r.hosts {
			h.hangUp()
		}
		waitTick(ctx, time.After(redialMost))
	}
}

// beatUntil tells the hosts that are reached already that their conductor lives, while others still are not.
func (r *sshRun) beatUntil(begun <-chan struct{}) {
	tick := time.NewTicker(beatHosts)
	defer tick.Stop()
	for {
		select {
		case <-begun:
			return
		case <-r.ctx.Done():
			return
		case <-tick.C:
		}
		for _, h := range r.hosts {
			h.send(mirror.Message{Kind: mirror.Beat})
		}
	}
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
	if err := r.record(nil).write(r.job.Dir); err != nil {
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
	return sayHosts(bad)
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
			r.home = newHome(r)
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
