package main

import (
	"strings"

	"github.com/spf13/cobra"

	"boost-tui/runner"
)

func newTag(a *app) *cobra.Command {
	var remove []string
	var note string
	cmd := &cobra.Command{
		Use: "tag RUN [TAG...]", Short: "Add tags to a run, remove them, write a note", GroupID: groupStore,
		Example: "  boost-tui tag k3fz keep paper\n  boost-tui tag k3fz --remove keep --note 'other jobs on the node'",
		Args:    cobra.MinimumNArgs(1), ValidArgsFunction: a.completeOneRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := runner.CheckTags(args[1:]); err != nil {
				return usage(err)
			}
			s, in, err := a.findReadable(args[0])
			if err != nil {
				return err
			}
			if cmd.Flags().Changed("note") {
				if err := s.Note(in.ID, note); err != nil {
					return usage(err)
				}
			}
			if len(args) > 1 || len(remove) > 0 {
				if err := s.Tag(in.ID, args[1:], remove); err != nil {
					return err
				}
			}
			if in, err = s.Load(in.ID); err != nil {
				return err
			}
			if a.json {
				return a.printJSON(viewOf(in))
			}
			return a.print("%s: %s\n", in.ID, strings.Join(in.Tags, " "))
		},
	}
	cmd.Flags().StringSliceVar(&remove, "remove", nil, "tags to take away")
	cmd.Flags().StringVar(&note, "note", "", "text kept with the run; empty takes it away")
	return cmd
}
