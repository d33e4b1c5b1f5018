package main

import (
	"path/filepath"

	"github.com/spf13/cobra"

	"boost-tui/runner"
	"boost-tui/sweeps"
	"boost-tui/sweeps/queue"
)

// newSweeper is the program that looks after a detached sweep. Nobody types it: `sweep --detach` and the UI start it.
func newSweeper(a *app) *cobra.Command {
	var dir string
	cmd := &cobra.Command{
		Use: queue.Role, Short: "Look after a sweep", Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			a.orderly.Store(true)
			sw, err := sweeps.Open(dir)
			if err != nil {
				return usage(err)
			}
			folder := filepath.Dir(sw.Dir)
			if filepath.Base(folder) != sweeps.FolderName {
				return usagef("%s does not lie in the folder %s of a store: a sweep is run beside its runs", sw.Dir, sweeps.FolderName)
			}
			o, err := queueOptions(runner.NewStore(filepath.Dir(folder)), queue.Leave)
			if err != nil {
				return err
			}
			return queue.Run(cmd.Context(), sw, o)
		},
	}
	cmd.Flags().StringVar(&dir, "sweep", "", "folder of the sweep")
	return cmd
}
