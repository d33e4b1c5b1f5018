package runner

import (
	"errors"
	"os/exec"

	"boost-tui/runner/slurm"
)

// shell runs the script of a job where no job has to be submitted for it.
const shell = "/bin/bash"

// startWithin starts the run in the allocation that this process is in: the script that would be submitted elsewhere runs here,
// prepares the node, and becomes the program that starts the agents by srun.
func (c *slurmConductor) startWithin(j conductJob, a slurm.Allocation, script string) (Agents, error) {
	agents, err := startChild(j.Job, exec.Command(shell, script, j.Dir, j.Binary))
	if err != nil {
		return nil, err
	}
	f := jobFile{Kind: jobAllocation, Ref: a.Job, Submitted: wallNow(), Host: here().Host, Script: script}
	if err := writeJob(j.Dir, f); err != nil {
		return nil, errors.Join(err, agents.Kill(), agents.Wait())
	}
	return agents, nil
}
