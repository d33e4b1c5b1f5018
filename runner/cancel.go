package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"syscall"
	"time"

	"boost-tui/runner/protocol"
	"boost-tui/runner/slurm"
)

// killPatience is how long an agent on this machine may take to end a run before it is killed itself.
const killPatience = cancelPatience

// Cancel ends a run, wherever it runs, and waits until it is over or the context ends. It leaves a
// request in the run's directory, which its agent finds within a second. An agent of this machine that is stopped
// is woken, and one that does not end the run in time is killed; its ranks then leave by themselves.
func Cancel(ctx context.Context, s *Store, id, reason string) (Info, error) {
	in, err := s.Load(id)
	if err != nil {
		return Info{}, err
	}
	if in.State.Over() && in.Mine() {
		if dir, f, there := lingering(in); there {
			return takeBack(ctx, in, dir, f, reason)
		}
	}
	if in.State.Over() {
		return in, fmt.Errorf("run %s is not running: it is %s", in.ID, in.State)
	}
	if !in.Mine() {
		return in, fmt.Errorf("run %s belongs to %s, who alone can end it", in.ID, in.Owner())
	}
	asked := requestCancel(in.Dir, reason)
	in.wakeConductor(here())
	agent, err := readAgent(in.Dir)
	local := err == nil && agent.look(here()) == alive
	if local {
		// The request alone would do, unless it could not be written.
		if err := agent.wake(syscall.SIGTERM); err != nil && asked != nil {
			return in, fmt.Errorf("cancel run %s: %w", in.ID, errors.Join(asked, err))
		}
	} else if asked != nil {
		return in, fmt.Errorf("cancel run %s: %w", in.ID, asked)
	}
	f, own := ownJob(in.Dir)
	if own && !local {
		return cancelJob(ctx, s, in, f)
	}
	var kill <-chan time.Time
	if local {
		limit := time.NewTimer(killPatience)
		defer limit.Stop()
		kill = limit.C
	}
	in, err = awaitEnd(ctx, in, kill, func() error { return agent.wake(syscall.SIGKILL) })
	if err == nil && own {
		err = leftQueue(ctx, &slurm.Client{}, in.Dir, f)
	}
	return in, err
}

// awaitEnd blocks until the run is over; when the time to kill comes first, it kills.
func awaitEnd(ctx context.Context, in Info, kill <-chan time.Time, end func() error) (Info, error) {
	tick := time.NewTicker(pollEvery)
	defer tick.Stop()
	asked := time.Now()
	for {
		if in = readInfo(in.Dir, here(), time.Now()); in.State.Over() {
			return in, nil
		}
		select {
		case <-ctx.Done():
			return in, fmt.Errorf("run %s was asked to end and has not yet: %w", in.ID, ctx.Err())
		case <-kill:
			if kill = nil; saving(in.Dir) && time.Since(asked) < savePatience {
				kill = time.After(watchEvery) // its agent gives it this time too
				continue
			}
			if err := end(); err != nil && !errors.Is(err, os.ErrProcessDone) {
				return in, fmt.Errorf("kill the agent of run %s: %w", in.ID, err)
			}
			limit, cancel := context.WithTimeout(ctx, lastWords)
			waitExits(limit, in.Dir, in.Run.World())
			cancel()
		case <-tick.C:
		}
	}
}

func requestCancel(dir, reason string) error {
	return writeIn(dir, protocol.CancelFile, []byte(clean(reason, 200)+"\n"))
}

// cancelRequest is the reason of a request to end the run, where there is one.
func cancelRequest(dir string) (string, bool) {
	data, err := protocol.ReadFile(filepath.Join(dir, protocol.CancelFile), 4096)
	if err != nil {
		return "", false
	}
	if reason := clean(firstLine(data), 200); reason != "" {
		return reason, true
	}
	return "cancelled", true
}
