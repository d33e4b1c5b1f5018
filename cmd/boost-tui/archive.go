package main

import (
	"errors"

	"github.com/spf13/cobra"
)

// archived is the JSON of `archive`.
type archived struct {
	Runs     []string `json:"runs"`
	Archived bool     `json:"archived"`
}

func newArchive(a *app) *cobra.Command {
	var undo bool
	cmd := &cobra.Command{
		Use: "archive RUN...", Short: "Leave runs out of lists, or put them back", GroupID: groupStore,
		Long: `Leave runs out of the lists of runs. Nothing else changes: they can be shown, compared, exported and resumed as ever.
runs --archived lists them, and --undo puts them back.`,
		Args: cobra.MinimumNArgs(1), ValidArgsFunction: a.completeRuns,
		RunE: func(_ *cobra.Command, args []string) error {
			s, ids, err := a.findAll(args)
			if err != nil {
				return err
			}
			done := archived{Runs: []string{}, Archived: !undo}
			var errs []error
			for _, id := range ids {
				if err := s.Archive(id, !undo); err != nil {
					errs = append(errs, err)
					continue
				}
				done.Runs = append(done.Runs, id)
				if undo {
					a.note("listed again: %s", id)
				} else {
					a.note("archived %s", id)
				}
			}
			if a.json {
				errs = append(errs, a.printJSON(done))
			}
			return errors.Join(errs...)
		},
	}
	cmd.Flags().BoolVar(&undo, "undo", false, "put them back into the lists")
	return cmd
}
