package runner

import (
	"cmp"
	"fmt"
	"os"
	"path/filepath"
	"strings"
	"time"

	"boost-tui/runner/protocol"
	"boost-tui/runner/slurm"
)

// jobOver begins the cause of a run that ended with its job.
const jobOver = "its Slurm job "

// judgeQueued is about a run that no agent has taken on, where a job was submitted for it: Slurm knows. False: none was.
func (in *Info) judgeQueued(now time.Time) bool {
	f, err := readJob(in.Dir)
	if err != nil || !f.own() || in.Mine() && !ownFile(filepath.Join(in.Dir, protocol.JobFile)) {
		return false
	}
	j, err := askJob(in.Dir, f)
	switch {
	case err != nil:
		in.State, in.Cause = Pending, clean(fmt.Sprintf("Slurm job %s: %v", f.ID, err), maxLineRunes)
	case j.Over():
		in.judgeJobOver(j)
	case j.Waits():
		in.State, in.Cause = Pending, j.Waiting(now)
	case j.State == slurm.Completing:
		in.State, in.Cause = Pending, "Slurm job "+j.ID+" is ending"
	default:
		in.State, in.Cause = Pending, clean(fmt.Sprintf("Slurm job %s has %s and starts the agents there", f.ID, cmp.Or(j.Nodes, "nodes")), maxLineRunes)
	}
	return true
}

// judgeJobOver is about a run whose job is over, and that left no result.
func (in *Info) judgeJobOver(j QueuedJob) {
	in.State, in.Cause = Failed, jobSays(j.Job)
	reason, asked := cancelRequest(in.Dir)
	in.Ended = in.endOfJob(j.Job, asked)
	switch {
	case asked:
		in.State, in.Cause = stateFor(reason), reason
	case j.State == slurm.Cancelled:
		in.State = Cancelled
	case j.Vanished:
		in.State = Lost
	case j.State == slurm.Failed || j.State == slurm.Completed:
		if said := lastLine(filepath.Join(in.Dir, jobLogFile)); said != "" {
			in.Cause = clean(in.Cause+": "+said, maxLineRunes)
		}
	}
}

// endOfJob is when a run ended with its job: when Slurm says, or when its end was asked for; zero: nobody knows. What lies before
// the run or after this moment is somebody else's clock, and says nothing.
func (in *Info) endOfJob(j slurm.Job, asked bool) time.Time {
	ends := []time.Time{j.End}
	if asked {
		if st, err := os.Stat(filepath.Join(in.Dir, protocol.CancelFile)); err == nil {
			ends = append(ends, st.ModTime())
		}
	}
	now := storeNow(in.Dir)
	for _, end := range ends {
		if end.After(in.Run.Created) && end.Before(now.Add(staleAfter)) {
			return end.UTC()
		}
	}
	return time.Time{}
}

// judgeJob is about a run whose agent shows no sign of life, where it is a job: why is what is to be said of the agent. True: that
// settles it.
func (in *Info) judgeJob(why *string, now time.Time) bool {
	f, err := readJob(in.Dir)
	if err != nil {
		return false
	}
	j, err := askJob(in.Dir, f)
	switch {
	case err != nil:
		*why += clean(fmt.Sprintf(" (job %s: %v)", f.ID, err), maxLineRunes)
		return false
	case j.Over():
		if exits, _ := readExits(in.Dir); len(exits) == 0 || j.State == slurm.Cancelled {
			in.judgeJobOver(j)
			return true
		}
		*why = jobSays(j.Job)
		return false
	case !f.own():
		return false
	case j.Waits():
		in.State, in.Cause = Pending, "to be started again: "+j.Waiting(now)
		return true
	}
	in.State, in.Cause = Running, clean(fmt.Sprintf("%s; Slurm job %s still has %s", *why, f.ID, cmp.Or(j.Nodes, "its nodes")), maxLineRunes)
	return true
}

// jobIsOver reports that the job that the run is, or is in, has ended: nobody there will write anything any more.
func jobIsOver(dir string) bool {
	f, err := readJob(dir)
	if err != nil {
		return false
	}
	j, err := askJob(dir, f)
	return err == nil && j.Over()
}

// ofJob reports that a run was cancelled because of its job, and not by its user.
func ofJob(cause string) bool {
	return strings.HasPrefix(cause, limitNear) || strings.HasPrefix(cause, jobOver) && !strings.Contains(cause, "was cancelled")
}

// faultOfJob judges a run that ended with its job by what was written down about it; NoFault: it did not.
func faultOfJob(state State, cause string) Fault {
	switch {
	case state == Failed && strings.HasPrefix(cause, jobOver) && strings.Contains(cause, "exit code"):
		return ConfigurationFault // its script, which the user's lines are in
	case state == Failed && strings.HasPrefix(cause, jobOver) && strings.Contains(cause, "more memory than it had asked for"):
		return ConfigurationFault
	}
	return NoFault
}
