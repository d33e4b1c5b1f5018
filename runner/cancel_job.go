package runner

import (
	"context"
	"errors"
	"fmt"
	"io/fs"
	"strings"
	"time"

	"boost-tui/runner/slurm"
)

// cancelJob ends a run that is a job, after its end was asked for by file. Agents that are there get the time to end their ranks in
// order; a job that none has begun is taken back. Its end is written down by whoever comes first, which may be this process.
func cancelJob(ctx context.Context, s *Store, in Info, f jobFile) (Info, error) {
	client := &slurm.Client{}
	var ended bool
	end := func() error {
		ended = true
		defer theQueue().forget(f.Ref)
		return endJob(ctx, client, in.Dir, f)
	}
	if _, err := readAgent(in.Dir); errors.Is(err, fs.ErrNotExist) {
		if err := end(); err != nil {
			return in, fmt.Errorf("cancel run %s: %w", in.ID, err)
		}
	}
	asked := time.Now()
	tick := time.NewTicker(resultEvery)
	defer tick.Stop()
	for {
		in, err := Settle(ctx, s, in.ID)
		if err != nil {
			return in, err
		}
		if in.State.Over() && in.Result != nil {
			return in, leftQueue(ctx, client, in.Dir, f)
		}
		if late := time.Since(asked); !ended && late > killPatience && (!saving(in.Dir) || late > savePatience) {
			if err := end(); err != nil {
				return in, fmt.Errorf("cancel run %s: %w", in.ID, err)
			}
		}
		select {
		case <-ctx.Done():
			return in, fmt.Errorf("run %s was asked to end and has not yet: %w", in.ID, ctx.Err())
		case <-tick.C:
		}
	}
}

// comesBack reports that a run is over and its job waits to go on with another one.
func comesBack(in Info) bool {
	_, back := comingBack(in)
	return back
}

// comingBack is comesBack, with the job. What is known of the run alone is asked first: lists look at thousands of them.
func comingBack(in Info) (QueuedJob, bool) {
	if !in.State.Over() || in.Result != nil && in.Result.RestartedAs != "" {
		return QueuedJob{}, false
	}
	if in.State == Cancelled && in.Fault == UserFault && strings.HasPrefix(in.Cause, jobOver) {
		in.Fault = MachineFault // a job that its user cancelled is over, and does not come back
	}
	if !mayRestart(in) {
		return QueuedJob{}, false
	}
	f, own := ownJob(in.Dir)
	if !own {
		return QueuedJob{}, false
	}
	j, err := askJob(in.Dir, f)
	return j, err == nil && !j.Over()
}

// takeBack ends the job of a run that is over, which would go on with another one, or holds its nodes for nothing. dir is the run
// of the chain that the job was submitted for.
func takeBack(ctx context.Context, in Info, dir string, f jobFile, reason string) (Info, error) {
	c := &slurm.Client{}
	err := errors.Join(requestCancel(Last(in).Dir, reason), endJob(ctx, c, dir, f))
	if err == nil {
		err = leftQueue(ctx, c, dir, f)
	}
	theQueue().forget(f.Ref)
	if err != nil {
		return in, fmt.Errorf("cancel run %s: %w", in.ID, err)
	}
	return in, nil
}
