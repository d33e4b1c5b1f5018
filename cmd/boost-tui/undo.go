package main

import (
	"context"
	"errors"
	"io/fs"

	"github.com/spf13/cobra"
)

// restored is the JSON of `runs undo` and `rm --undo`.
type restored struct {
	Restored []string `json:"restored"`
}

func newUndo(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "undo [RUN...]", Short: "Bring deleted runs back",
		Long: `Bring deleted runs back from the trash of the store; without RUN those that were deleted last, together. Tags, notes,
checkpoints and what a sweep knows of them are as before. runs --deleted lists what there is.`,
		ValidArgsFunction: a.completeDeleted,
		RunE:              func(cmd *cobra.Command, args []string) error { return a.undo(cmd.Context(), args) },
	}
}

func (a *app) undo(ctx context.Context, ids []string) error {
	s, err := a.store()
	if err != nil {
		return err
	}
	done, err := s.Undo(ctx, ids...)
	if errors.Is(err, fs.ErrNotExist) {
		return usage(err)
	}
	for _, id := range done {
		a.note("brought back %s", id)
	}
	if a.json {
		err = errors.Join(err, a.printJSON(restored{append([]string{}, done...)}))
	}
	return err
}

// completeDeleted offers the ids of deleted runs, the one that was deleted last first.
func (a *app) completeDeleted(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	s, err := a.store()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	deleted, _ := s.Deleted(cmd.Context())
	var ids []string
	for i := range deleted {
		ids = append(ids, cobra.CompletionWithDesc(deleted[i].ID, string(deleted[i].State)))
	}
	return ids, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}
