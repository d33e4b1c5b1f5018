package main

import (
	"context"
	"errors"

	"github.com/spf13/cobra"

	"boost-tui/runner"
)

func newAttach(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "attach RUN", Short: "Follow a run until it is over", GroupID: groupStore,
		Long: `Follow a run until it is over, then summarise it. Where it goes on as another run (--max-restarts), that one is followed.
Ctrl-C stops following; the run goes on.`,
		Args: cobra.ExactArgs(1), ValidArgsFunction: a.completeOneRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, in, err := a.findReadable(args[0])
			if err != nil {
				return err
			}
			in, err = a.followChain(cmd.Context(), in)
			if errors.Is(err, context.Canceled) {
				a.note("run %s goes on; boost-tui cancel %s ends it", in.ID, in.ID)
				return silently(exitInterrupted, "interrupted")
			}
			if err != nil {
				return err
			}
			if in, err = s.Load(in.ID); err != nil {
				return err
			}
			return a.finish(cmd.Context(), in)
		},
	}
}

// followChain follows a run to its end, and the runs that it goes on as.
func (a *app) followChain(ctx context.Context, in runner.Info) (runner.Info, error) {
	for {
		bar := a.progress(in.ID, in.Run.Experiment.StepsToRun())
		told := a.tellWaiting(ctx, in.Dir)
		over, err := runner.Attach(ctx, in.Dir, bar.step)
		told()
		bar.clear()
		if err != nil {
			return in, err
		}
		next, ok, err := runner.Next(ctx, over, func(why string) { a.note("run %s is %s: %s; it %s", over.ID, over.State, over.Cause, why) })
		if err != nil || !ok {
			return in, err
		}
		a.note("run %s is %s: %s; it goes on as run %s", over.ID, over.State, over.Cause, next.ID)
		in = next
	}
}
