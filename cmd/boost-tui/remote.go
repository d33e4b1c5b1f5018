package main

import (
	"github.com/spf13/cobra"

	"boost-tui/runner"
)

// newRemote is the role of who speaks for a host of a run that ssh started there, or, with --guard, of who stands over its agent.
func newRemote(a *app) *cobra.Command {
	var guard bool
	cmd := &cobra.Command{
		Use: "remote", Short: "Speak for this host with a run elsewhere", Hidden: true, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			a.play()
			if guard {
				return runner.Guard(a.in, a.out)
			}
			return runner.Remote(cmd.Context(), runner.RemoteOptions{In: a.in, Out: a.out, Version: thisVersion().String()})
		},
	}
	cmd.Flags().BoolVar(&guard, "guard", false, "start the host's agent and stand over it")
	return cmd
}
