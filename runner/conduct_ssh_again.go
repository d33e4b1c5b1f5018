package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"time"

	"boost-tui/experiment"
	"boost-tui/runner/mirror"
	"boost-tui/runner/protocol"
)

// The conductor of a run on hosts that do not see its folder can be gone while its agents go on: it was killed, or the machine that
// it was on went down. They keep everything. (Where they see it, only restarts need a conductor.) Whoever looks at the run next starts a conductor again (revive), which goes on where
// the last one was. And a run that ended while a host could not be reached leaves a conductor behind, which makes sure that nothing
// goes on there, and brings home what is there (gather).

const (
	// reviveEvery is how often a program tries to start a conductor for the same run.
	reviveEvery = 30 * time.Second
	// againPatience is how long a conductor that comes back tries to reach any host at all.
	againPatience = 20 * time.Second
	// gatherPatience is how long hosts are waited for that could not be reached at a run's end; gatherEvery how often they are tried.
	gatherPatience = time.Hour
	gatherEvery    = 10 * time.Second
)

// revive starts a conductor for a run that needs one and has none. Until that one has found out more, the run counts as running. It
// is no one's errand: what fails is tried at a later look.
func (s *Store) revive(in *Info) {
	if !in.needsConductor() {
		return
	}
	again := filepath.Join(in.Dir, reviveFile)
	last, err := os.Stat(again)
	recent := err == nil && time.Since(last.ModTime()) < reviveEvery
	if recent || s.startAgain(in, again) == nil {
		if in.Result == nil && in.State == Lost {
			in.State, in.Fault, in.Cause = Running, NoFault, "its hosts have not been heard for a while, and are being reached again"
		}
	}
}

// needsConductor reports whether somebody should bring home what hosts of the run have, and nobody does.
func (in *Info) needsConductor() bool {
	if in.Run.Experiment.Where.Where != experiment.WhereSSH || in.Err != nil || in.Archived || ownerOf(in.Dir) != os.Geteuid() {
		return false
	}
	was, err := readSSH(in.Dir)
	if err != nil || in.Result != nil && len(was.Left) == 0 {
		return false
	}
	if !was.Scattered && in.Run.Experiment.Where.MaxRestarts == 0 {
		return false // its agents write everything themselves
	}
	if in.Run.Launcher.look(here()) == alive && time.Since(in.Run.Created) < conductPatience {
		return false // it is being started
	}
	return !stoodOver(in.Dir, here())
}

// startAgain starts a conductor, where this is the program that the run is of: hosts refuse another version.
func (s *Store) startAgain(in *Info, mark string) error {
	binary, err := Binary()
	if err != nil {
		return err
	}
	sum, err := s.program.hash(binary)
	if err != nil || sum != in.Run.Versions.Binary {
		return errors.Join(err, errors.New("another version of the program"))
	}
	if err := writeInPlace(mark, ""); err != nil {
		return err
	}
	_ = os.Chtimes(mark, time.Time{}, time.Now()) // at worst it is tried sooner
	return startConductor(in.Dir, binary)
}

// reviveFile says by its time when a conductor was started again last.
const reviveFile = ".revived"

// startConductor starts a conductor that outlives this process.
func startConductor(dir, binary string) error {
	a, err := startRole("conduct", Job{Dir: dir, Binary: binary}, nil)
	if err != nil {
		return err
	}
	return a.cmd.Process.Release()
}

// resume goes on where a conductor was that is gone. It is false when no host can be reached now: then nothing is known, and a later
// look tries again.
func (r *sshRun) resume(ctx context.Context) bool {
	limit, cancel := context.WithTimeout(ctx, againPatience)
	defer cancel()
	for limit.Err() == nil {
		_ = r.each(limit, func(h *sshHost, ctx context.Context) error {
			if h.current() == nil && (h.connect(ctx) != nil || h.open(ctx) != nil) {
				h.hangUp()
			}
			return nil
		})
		if slices.ContainsFunc(r.hosts, func(h *sshHost) bool { return h.current() != nil }) {
			for _, h := range r.hosts {
				h.hear()
			}
			return true
		}
		waitTick(limit, time.After(time.Second))
	}
	return false
}

// gather brings home what hosts have that could not be reached when the run ended, and ends what still runs there.
func (r *sshRun) gather(ctx context.Context, left []string) error {
	limit, cancel := context.WithTimeout(ctx, gatherPatience)
	defer cancel()
	var missing []string
	for _, h := range r.hosts {
		if !slices.Contains(left, h.name) {
			h.finish("", false)
			continue
		}
		for n := 1; limit.Err() == nil && !h.done(); n++ {
			if _, err := os.Lstat(filepath.Join(r.job.Dir, protocol.RunFile)); err != nil {
				return nil // it was deleted: nobody wants it
			}
			patience := redialPatience // an attempt that began while the host was away hears nothing once it is back
			if n%3 == 0 {
				patience = startPatience
			}
			ctx, stop := context.WithTimeout(limit, patience)
			err := h.connect(ctx)
			if err == nil {
				err = h.open(ctx)
			}
			stop()
			if err == nil {
				h.gather(limit)
			}
			h.bye()
			if !h.done() {
				waitTick(limit, time.After(gatherEvery))
			}
		}
		if !h.done() {
			missing = append(missing, h.name)
		}
	}
	err := r.home.conclude()
	return errors.Join(err, r.record(missing).write(r.job.Dir))
}

// gather ends the host's agent, where it still runs, and fetches what is there.
func (h *sshHost) gather(ctx context.Context) {
	t := h.current()
	began := time.Now()
	tick := time.NewTicker(watchEvery)
	defer tick.Stop()
	for t != nil {
		select {
		case <-t.ended:
			return
		case <-ctx.Done():
			return
		case <-tick.C:
		}
		switch s, since := h.status(), time.Since(began); {
		case s.Ended:
			if t.keeper.Finish(h.run.ctx, t.ended) == nil && h.files.sync() == nil {
				h.finish("", false)
			}
			return
		case since > 3*othersPatience:
			return // it cannot be ended now; it is tried again
		case since > othersPatience:
			h.send(mirror.Message{Kind: mirror.Cancel, Name: cancelKill})
		default:
			h.send(mirror.Message{Kind: mirror.Cancel, Data: []byte("the run is over already")})
		}
	}
}

// bye takes leave of the host, which removes what came home.
func (h *sshHost) bye() {
	ctx, cancel := context.WithTimeout(context.Background(), farewell)
	defer cancel()
	if h.done() {
		h.leave(ctx)
	}
	h.hangUp()
}

// goOn is the way of a conductor that comes back to a run. agents are nil where there is nothing to wait for.
func (r *sshRun) goOn(ctx context.Context, was sshRecord) (agents Agents, err error) {
	if !resultThere(r.job.Dir) {
		if r.resume(ctx) {
			return r, nil
		}
		return nil, nil
	}
	if len(was.Left) == 0 || r.home == nil {
		return nil, nil
	}
	if err := r.gather(ctx, was.Left); err != nil {
		return nil, fmt.Errorf("bring home what hosts have left: %w", err)
	}
	return nil, nil
}
