package main

import (
	"bufio"
	"errors"
	"strings"

	"github.com/spf13/cobra"
)

// removed is the JSON of `rm`.
type removed struct {
	Removed []string `json:"removed"`
}

func newRm(a *app) *cobra.Command {
	var yes bool
	cmd := &cobra.Command{
		Use: "rm RUN...", Short: "Delete runs for good", GroupID: groupStore,
		Long: `Delete runs and everything in their folders. Asks first, unless --yes is given. Only folders of this user
that lie directly in the store and hold a run are touched; a run that is still going is refused, and so is one of a sweep
that a program looks after.`,
		Args: cobra.MinimumNArgs(1), ValidArgsFunction: a.completeRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, ids, err := a.findAll(args)
			if err != nil {
				return err
			}
			if !yes {
				if err := a.confirm(ids); err != nil {
					return err
				}
			}
			done := removed{Removed: []string{}}
			var errs []error
			for _, id := range ids {
				note, err := sweepOf(cmd.Context(), s, id)
				if err == nil {
					err = s.Remove(id)
				}
				if err != nil {
					errs = append(errs, err)
					continue
				}
				done.Removed = append(done.Removed, id)
				a.note("deleted %s", id)
				if note != "" {
					a.note("note: %s", note)
				}
			}
			if a.json {
				errs = append(errs, a.printJSON(done))
			}
			return errors.Join(errs...)
		},
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	return cmd
}

// confirm asks on the terminal. Without one there is nobody to ask.
func (a *app) confirm(ids []string) error {
	if !isTerminal(a.in) {
		return usagef("deleting %d run(s) needs --yes where there is no terminal to ask on", len(ids))
	}
	a.note("delete for good: %s", strings.Join(ids, " "))
	a.note("type yes to go on:")
	answer, err := bufio.NewReader(a.in).ReadString('\n')
	if err != nil {
		return err
	}
	if strings.TrimSpace(answer) != "yes" {
		return usagef("nothing was deleted")
	}
	return nil
}
