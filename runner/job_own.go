package runner

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"slices"
	"strconv"

	"boost-tui/runner/slurm"
)

// The number of a job in a file is no proof: Slurm gives numbers again, folders are copied, and files can be forged. A job is a
// run's if it is called after it, and is this user's.

// errOthersJob is why nothing is said of the job of somebody else's run: a look at one starts no program.
var errOthersJob = errors.New("only its owner asks Slurm about it")

// askJob is what Slurm says of the job of a run. Where the number is another job's by now, the run's has vanished.
func askJob(dir string, f jobFile) (QueuedJob, error) {
	if ownerOf(dir) != os.Geteuid() {
		return QueuedJob{}, errOthersJob
	}
	j, err := theQueue().Job(f.Ref)
	if err == nil && !belongs(dir, f, j.Job) {
		j = QueuedJob{Job: slurm.Job{Ref: f.Ref, Vanished: true}}
	}
	return j, err
}

// belongs reports that nothing speaks against a job's being a run's. What Slurm does not say of a job speaks for nothing.
func belongs(dir string, f jobFile, j slurm.Job) bool {
	switch {
	case j.Vanished:
		return true
	case j.UserID != "" && j.UserID != strconv.Itoa(os.Geteuid()):
		return false
	}
	return !f.own() || j.Name == "" || slices.Contains(jobNames(dir), j.Name)
}

// jobNames are what the job of a run may be called: after the run, or after one before it in its chain, whose job it goes on in.
func jobNames(dir string) (names []string) {
	for range maxRestarts {
		run, err := readRun(dir)
		if err != nil || run.ID != filepath.Base(dir) {
			break
		}
		names = append(names, jobName(run))
		if run.Restart == nil {
			break
		}
		dir = filepath.Join(filepath.Dir(dir), run.Restart.Of)
	}
	return names
}

// endJob has Slurm end the job of a run, once Slurm has said that it is the run's.
func endJob(ctx context.Context, c *slurm.Client, dir string, f jobFile) error {
	if !f.own() {
		return nil
	}
	j, err := c.Past(ctx, f.Ref) // it has a deadline of its own
	switch {
	case err != nil:
		return err
	case j.Over():
		return nil
	case j.Name == "" || !belongs(dir, f, j):
		return fmt.Errorf("job %s is called %s and is of user %s: it is not the run's, and goes on", f.ID, clean(j.Name, 80), clean(j.User, 64))
	}
	return c.Cancel(ctx, f.Ref)
}

// ownFile reports that it is a file of this user's: what it says may have programs started.
func ownFile(path string) bool {
	st, err := os.Lstat(path)
	return err == nil && st.Mode().IsRegular() && owned(st)
}
