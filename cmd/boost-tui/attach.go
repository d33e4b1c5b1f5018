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
		Long: "Follow a run until it is over, then summarise it. Ctrl-C stops following; the run goes on.",
		Args: cobra.ExactArgs(1), ValidArgsFunction: a.completeOneRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, in, err := a.findReadable(args[0])
			if err != nil {
				return err
			}
			bar := a.progress(in.ID, in.Run.Experiment.StepsToRun())
			_, err = runner.Attach(cmd.Context(), in.Dir, bar.step)
			bar.clear()
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
