package runner

import (
	"context"
	"fmt"
	"path/filepath"
	"time"

	"boost-tui/runner/slurm"
)

const (
	// leavePatience is how long the job of a run that has ended may take to end by itself: what looks after its agents does so a
	// while after them (stepLate).
	leavePatience = stepLate + 5*time.Second
	// leaveEvery is how often Slurm is asked whether it has.
	leaveEvery = time.Second
)

// leftQueue waits until the job of a run that has ended has let go of its nodes, and has Slurm end it where it does not by itself:
// what runs in it may stand still. An error says that it is still there, or that nobody knows.
func leftQueue(ctx context.Context, c *slurm.Client, dir string, f jobFile) error {
	if !f.own() {
		return nil
	}
	defer theQueue().forget(f.Ref)
	tick := time.NewTicker(leaveEvery)
	defer tick.Stop()
	ended := false
	for asked := time.Now(); ; {
		j, err := c.Past(ctx, f.Ref)
		switch late := time.Since(asked); {
		case err != nil:
			return fmt.Errorf("the run has ended, and nobody knows whether its Slurm job %s has: %w", f.ID, err)
		case j.Over() || j.State == slurm.Completing || !belongs(dir, f, j): // Slurm ends what is left of one that completes
			return nil
		case !ended && late >= leavePatience:
			ended = true
			if err := endJob(ctx, c, dir, f); err != nil {
				return fmt.Errorf("the run has ended, and its Slurm job %s has not: %w", f.ID, err)
			}
		case late >= jobSilence:
			return fmt.Errorf("the run has ended, and its Slurm job %s is still there (%s): scancel %s", f.ID, clean(string(j.State), 40), f.ID)
		}
		select {
		case <-ctx.Done():
			return fmt.Errorf("the run has ended, and its Slurm job %s has not yet: %w", f.ID, ctx.Err())
		case <-tick.C:
		}
	}
}

// lingering is the job of a chain of runs that is over which is still there: to go on with another run, or because what runs in it
// stands still. dir is the run of the chain that it was submitted for.
func lingering(in Info) (dir string, f jobFile, there bool) {
	last := Last(in)
	if !last.State.Over() || last.State == Finished && last.Result != nil && storeNow(last.Dir).Sub(last.Result.Ended) < leavePatience {
		return "", jobFile{}, false
	}
	dir = last.Dir
	for range maxRestarts {
		if f, own := ownJob(dir); own {
			if j, err := askJob(dir, f); err == nil && !j.Over() && j.State != slurm.Completing {
				return dir, f, true
			}
		}
		run, err := readRun(dir)
		if err != nil || run.Restart.check() != nil || run.Restart == nil {
			break
		}
		dir = filepath.Join(filepath.Dir(dir), run.Restart.Of)
	}
	return "", jobFile{}, false
}
