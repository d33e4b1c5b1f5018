package main

import (
	"context"
	"errors"
	"time"

	"github.com/spf13/cobra"

	"boost-tui/runner"
)

// cancelWait is how long `cancel` waits for each run to be over; agents need a second or two.
const cancelWait = 20 * time.Second

func newCancel(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "cancel RUN...", Short: "End runs, and wait until they are over", GroupID: groupStore,
		Args: cobra.MinimumNArgs(1), ValidArgsFunction: a.completeRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, ids, err := a.findAll(args)
			if err != nil {
				return err
			}
			views := []runView{}
			var errs []error
			for _, id := range ids {
				in, err := a.cancelOne(cmd.Context(), s, id)
				if err != nil {
					errs = append(errs, err)
				} else {
					a.note("%s is %s", in.ID, in.State)
				}
				views = append(views, viewOf(in))
			}
			if a.json {
				errs = append(errs, a.printJSON(views))
			}
			return errors.Join(errs...)
		},
	}
}

func (a *app) cancelOne(ctx context.Context, s *runner.Store, id string) (runner.Info, error) {
	ctx, stop := context.WithTimeout(ctx, cancelWait)
	defer stop()
	return runner.Cancel(ctx, s, id, "cancelled by its user")
}
