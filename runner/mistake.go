package runner

import (
	"strings"
	"syscall"
)

// Some of what a user asks for is known to be wrong only where the run was to be: on a host that lacks it. That is wrong input all
// the same, as it would have been here: nothing is tried again, and who waits for the run in front gets the exit code of it.

// Mistaken reports that a run failed because it asked a host for what is not there: an interface, its data, a setup that works, the
// folder of runs.
func (in *Info) Mistaken() bool { return in.State == Failed && mistaken(in.Cause) }

func mistaken(cause string) bool {
	says := func(begin, text string) bool { return strings.HasPrefix(cause, begin) && strings.Contains(cause, text) }
	return says("host ", noInterface) || says(jobOver, setupFailed) || says(jobOver, notThere) ||
		says("rank ", ": "+noData) && strings.Contains(cause, syscall.ENOENT.Error())
}

const (
	// setupFailed is in what the script of a job says whose setup failed.
	setupFailed = "the setup of the job failed"
	// notThere is in what it says of a node that does not share the folder of runs, or the program.
	notThere = ", is not there on "
	// noData begins what a rank says that cannot open its data.
	noData = "data: "
)
