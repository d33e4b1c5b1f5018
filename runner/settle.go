package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"os"
	"path/filepath"
	"time"

	"boost-tui/runner/protocol"

	"golang.org/x/sys/unix"
)

// Await blocks until a run of the store is over, whoever launched it, and settles it. Of an agent on this machine it
// hears at once, of others within a second. When the context ends first, the run goes on.
func Await(ctx context.Context, s *Store, id string) (Info, error) {
	for {
		in, err := Settle(ctx, s, id)
		if err != nil || in.State.Over() {
			return in, err
		}
		if err := ctx.Err(); err != nil {
			return in, fmt.Errorf("wait for run %s: %w", in.ID, err)
		}
		agent, err := readAgent(in.Dir)
		if err == nil && agent.look(here()) == alive && agent.awaitEnd(awaitSlice) == nil {
			continue
		}
		limit, cancel := context.WithTimeout(ctx, awaitSlice)
		<-limit.Done()
		cancel()
	}
}

// awaitSlice is how long Await waits before it looks at the context and the directory again.
const awaitSlice = 100 * time.Millisecond

// awaitEnd blocks until the process ends or the time is up.
func (p Process) awaitEnd(limit time.Duration) error {
	fd, err := unix.PidfdOpen(p.PID, 0)
	if err != nil {
		return fmt.Errorf("process %d: %w", p.PID, err)
	}
	defer unix.Close(fd)
	if p.look(here()) != alive {
		return nil
	}
	_, err = unix.Poll([]unix.PollFd{{Fd: int32(fd), Events: unix.POLLIN}}, int(limit.Milliseconds()))
	if err != nil && !errors.Is(err, unix.EINTR) {
		return fmt.Errorf("wait for process %d: %w", p.PID, err)
	}
	return nil
}

// Settle makes the end of a run final that nobody looks after any more, and describes the run. A run that
// runs, waits, or has a result is left as it is.
//
// A run that no agent took on before its launcher died is claimed as an agent would claim it: of the two at
// most one succeeds, so a run that Settle calls lost can never start. Where the agent died on this machine its ranks
// get the time that they need to leave their records, and what they say is written down. Of an agent
// elsewhere nothing is known for sure, so its run is described as it looks and not written to.
func Settle(ctx context.Context, s *Store, id string) (Info, error) {
	for {
		in, err := s.Load(id)
		if err != nil {
			return Info{}, err
		}
		again, err := in.settle(ctx)
		if err != nil {
			return in, fmt.Errorf("settle run %s: %w", in.ID, err)
		}
		if !again {
			return in, nil
		}
	}
}

// settles reports whether the run has an end that nobody has written down.
func (in *Info) settles(me Process) bool {
	if in.Result != nil || !in.Mine() || errors.Is(in.Err, ErrNewerSchema) || errors.Is(in.Err, errNoRun) {
		return false
	}
	return in.State.Over() || claimedBy(in.Dir, me)
}

// settle takes a step towards a result; again says that the run is another one now.
func (in *Info) settle(ctx context.Context) (again bool, err error) {
	me, err := self()
	if err != nil || !in.settles(me) {
		return false, err
	}
	agent, err := readAgent(in.Dir)
	switch {
	case errors.Is(err, fs.ErrNotExist):
		_, err := claim(in.Dir, me)
		if err != nil && !errors.Is(err, fs.ErrExist) {
			return false, err
		}
		return true, nil // somebody has it now: see who
	case err != nil: // damaged: nobody will ever say more
	case agent == me && in.judgeQueued(time.Now()): // Slurm ended it before an agent was there
	case agent == me: // claimed above; there never were ranks
		in.State, in.Cause, in.Fault = Lost, "it was never started: the program that launched it is gone", MachineFault
	default:
		switch agent.look(me) {
		case alive: // it took the run on just after that was described as one which nobody did
			return true, nil
		case elsewhere: // the same may be, and more is not known
			*in = readInfo(in.Dir, me, time.Now())
			if !jobIsOver(in.Dir) {
				return false, nil
			}
		}
		if err := in.lastWords(ctx); err != nil {
			return false, err
		}
	}
	return in.conclude()
}

// lastWords gives ranks whose agent died the time that they take to leave, and reads what they wrote.
func (in *Info) lastWords(ctx context.Context) error {
	if in.HadRanks() {
		limit, cancel := context.WithTimeout(ctx, lastWords)
		waitExits(limit, in.Dir, in.Run.World())
		cancel()
	}
	if err := ctx.Err(); err != nil {
		return err
	}
	*in = readInfo(in.Dir, here(), time.Now())
	return nil
}

// conclude writes the result of a run whose agent cannot. Somebody else may be as fast.
func (in *Info) conclude() (bool, error) {
	if in.Result != nil || !in.State.Over() {
		return true, nil
	}
	exits, err := readExits(in.Dir)
	if err != nil {
		in.Err = join(in.Err, err)
	}
	r := Result{State: in.State, Cause: in.Cause, Fault: in.Fault, Started: begun(in.Dir, in.Run), Ended: in.lastSign()}
	for _, e := range exits {
		r.Ranks = append(r.Ranks, RankExit{Rank: e.Rank, Code: e.Code, Signal: e.Signal})
	}
	err = errors.Join(removeReserve(in.Dir), forgetMeeting(in.Dir), completeRollup(in.Dir, in.Run.World()))
	r.Summary = summarize(in.Dir, r)
	switch written := writeNewResult(in.Dir, r); {
	case errors.Is(written, fs.ErrExist): // somebody else's, or one that cannot be read
		return readInfo(in.Dir, here(), time.Now()).Result != nil, nil
	case written != nil:
		return false, errors.Join(written, err)
	}
	return true, nil
}

// lastSign is when the run was last known to go on: whoever settles it may come days later. What a scheduler says of its job is by
// another clock, and counts where there is no other sign.
func (in *Info) lastSign() time.Time {
	last := in.Run.Created
	for _, path := range []string{filepath.Join(in.Dir, protocol.HeartbeatFile), protocol.ExitDir(in.Dir)} {
		if st, err := os.Stat(path); err == nil && st.ModTime().After(last) {
			last = st.ModTime().UTC()
		}
	}
	_, own := ownJob(in.Dir)
	switch {
	case in.HadRanks() && last.After(in.Run.Created):
		return last
	case !in.Ended.IsZero():
		return in.Ended
	case own && !in.HadRanks(): // nobody knows when its job ended
		return storeNow(in.Dir)
	}
	return in.Run.Created
}
