package main

import (
	"errors"

	"github.com/spf13/cobra"

	"boost-tui/profiler/export"
)

// exported is the JSON of `export`.
type exported struct {
	Files []string `json:"files"`
}

func newExport(a *app) *cobra.Command {
	var to string
	var force bool
	cmd := &cobra.Command{
		Use: "export RUN... --to DIR", Short: "Write runs as CSV files and as a trace", GroupID: groupStore,
		Long: `Write steps.csv, collectives.csv, ranks.csv, gpus.csv, compare.csv and trace.json (for Perfetto or chrome://tracing)
of one or more runs into a folder.`,
		Args: cobra.MinimumNArgs(1), ValidArgsFunction: a.completeRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			if to == "" {
				return usagef("export needs --to DIR, the folder to write into")
			}
			dirs, err := a.dirs(args)
			if err != nil {
				return err
			}
			files, err := export.Export(cmd.Context(), dirs, to, force)
			if errors.Is(err, export.ErrExists) {
				return usage(err)
			}
			if err != nil {
				return err
			}
			if a.json {
				return a.printJSON(exported{files})
			}
			for _, f := range files {
				if err := a.print("%s\n", f); err != nil {
					return err
				}
			}
			return nil
		},
	}
	cmd.Flags().StringVar(&to, "to", "", "`DIR` to write into; made when it is not there")
	cmd.Flags().BoolVar(&force, "force", false, "replace files that are there")
	return cmd
}
