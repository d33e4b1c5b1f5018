package main

import (
	"errors"
	"fmt"
	"io/fs"

	"github.com/spf13/cobra"
	"golang.org/x/sys/unix"

	"boost-tui/kernels/cpu"
	"boost-tui/profiler/sample/nvml"
	"boost-tui/runner"
	"boost-tui/runner/protocol"
	"boost-tui/trainer"
	"boost-tui/trainer/checkpoint"
	"boost-tui/trainer/devices"
)

// The roles that the program plays on the nodes of a job. Nobody types these commands: the runner starts
// agents, agents start ranks.

// play makes the process one of a role: it ends by itself in good order, and what it and the tools that it calls make,
// like the output files of Slurm, is its owner's alone whatever the user's umask is.
func (a *app) play() {
	a.orderly.Store(true)
	const private = 0o077
	unix.Umask(private)
}

func newAgent(a *app) *cobra.Command {
	var task bool
	o := runner.AgentOptions{Version: thisVersion().String(), NewSegment: cpu.NewSegment, Prepare: devices.Prepare, GPUs: nvml.OpenAny}
	cmd := &cobra.Command{
		Use: "agent", Short: "Look after the ranks of a run on this machine", Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			a.play()
			if task {
				var err error
				if o.Share, err = runner.SlurmShare(); err != nil {
					return err
				}
			}
			return runner.Agent(cmd.Context(), o)
		},
	}
	cmd.Flags().StringVar(&o.Dir, "run", "", "folder of the run")
	cmd.Flags().BoolVar(&o.Foreground, "foreground", false, "the end of stdin ends the run")
	cmd.Flags().IntVar(&o.Share.Host, "host", 0, "number of this host among those of the run")
	cmd.Flags().IntVar(&o.Share.Hosts, "hosts", 1, "how many hosts the run's ranks are on")
	cmd.Flags().StringVar(&o.Share.Address, "address", "", "IP address at which ranks of other hosts reach this one's; empty: it is found out")
	cmd.Flags().BoolVar(&task, "slurm", false, "this is a task of a step of Slurm's, which says all of that")
	cmd.Flags().StringVar(&o.Share.Name, "host-name", "", "what records call this host")
	cmd.Flags().StringVar(&o.Share.Peer, "peer", "", "name or address of another host of the run")
	return cmd
}

func newConduct(a *app) *cobra.Command {
	o := runner.ConductOptions{Checkpoint: latestCheckpoint, Join: checkpoint.Join}
	cmd := &cobra.Command{
		Use: "conduct", Short: "Stand over the agents of a run", Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			a.play()
			err := runner.Conduct(cmd.Context(), o)
			if errors.Is(err, runner.ErrRefused) {
				return &exitError{code: runner.CodeRefused, err: err}
			}
			if err == nil && o.Inside {
				return endOfJob(o.Dir)
			}
			return err
		},
	}
	cmd.Flags().StringVar(&o.Dir, "run", "", "folder of the run")
	cmd.Flags().BoolVar(&o.Foreground, "foreground", false, "the end of stdin ends the run")
	cmd.Flags().BoolVar(&o.Inside, "inside", false, "this is the job that was submitted for the run")
	return cmd
}

// endOfJob makes a job fail whose run did, for those who go by its exit code: dependent jobs, accounting.
func endOfJob(dir string) error {
	in, err := runner.Read(dir)
	if err != nil {
		return err
	}
	switch in = runner.Last(in); in.State {
	case runner.Failed, runner.Lost, runner.Cancelled:
		return silently(exitFailed, "run "+in.ID+" is "+string(in.State))
	}
	return nil
}

// latestCheckpoint is the last whole checkpoint of a run's folder; fs.ErrNotExist where there is none.
func latestCheckpoint(runDir string) (dir string, step int, err error) {
	if dir, _, err = checkpoint.Find(runDir); errors.Is(err, checkpoint.ErrNone) { // whatever is there can be read by nobody
		return "", 0, fmt.Errorf("%w: %w", fs.ErrNotExist, err)
	}
	if err != nil {
		return "", 0, err
	}
	c, err := checkpoint.Open(dir)
	if err != nil {
		return "", 0, err
	}
	return dir, c.Manifest.Step, c.Close()
}

func newRank(a *app) *cobra.Command {
	cmd := &cobra.Command{
		Use: "rank", Short: "Be one rank of a run", Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			a.play()
			spec, err := protocol.ReadSpec(a.in)
			if err != nil {
				return usage(err)
			}
			if own := thisVersion().String(); spec.Version != own {
				return fmt.Errorf("rank %d is %s, its agent %s: use one and the same binary on all nodes", spec.Rank, own, spec.Version)
			}
			err = trainer.Run(cmd.Context(), spec, a.in)
			if errors.Is(err, trainer.ErrCancelled) {
				return silently(exitInterrupted, "cancelled") // the rank's log says so, with the step
			}
			if err != nil {
				return &exitError{code: trainer.ExitCode(err), err: err}
			}
			return nil
		},
	}
	// What ps shows; the specification on stdin is what counts.
	cmd.Flags().String("run", "", "folder of the run")
	cmd.Flags().Int("rank", 0, "number of the rank")
	return cmd
}
