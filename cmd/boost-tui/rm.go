package main

import (
	"bufio"
	"context"
	"errors"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"boost-tui/runner"
)

// removed is the JSON of `rm`.
type removed struct {
	Removed []string `json:"removed"`
	Undo    bool     `json:"undo"` // they can be brought back
}

func newRm(a *app) *cobra.Command {
	var yes, now, undo bool
	cmd := &cobra.Command{
		Use: "rm RUN...", Short: "Delete runs, so that they can be brought back", GroupID: groupStore,
		Long: `Move runs into the trash of the store, RUNS/.trash. rm --undo (or runs undo) brings them back until runs gc empties
it; that frees the disk. --now deletes for good at once. Asks first, unless --yes is given. Only folders of this user
that lie directly in the store and hold a run are touched; a run that is still going is refused, and so is one of a
sweep that a program looks after.`,
		Example: "  boost-tui rm k3fz\n  boost-tui rm --undo k3fz",
		Args: func(cmd *cobra.Command, args []string) error {
			if undo {
				return nil
			}
			return cobra.MinimumNArgs(1)(cmd, args)
		},
		ValidArgsFunction: a.completeRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			switch {
			case undo && now:
				return usagef("what was deleted for good (--now) cannot be brought back (--undo): use one of them")
			case undo:
				return a.undo(cmd.Context(), args)
			}
			s, ids, err := a.findAll(args)
			if err != nil {
				return err
			}
			if !yes {
				if err := a.confirm(ids, now); err != nil {
					return err
				}
			}
			return a.remove(cmd.Context(), s, ids, now)
		},
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "do not ask")
	cmd.Flags().BoolVar(&now, "now", false, "delete for good")
	cmd.Flags().BoolVar(&undo, "undo", false, "bring back deleted runs; without RUN those that were deleted last")
	return cmd
}

// remove deletes runs, one after the other, and says what that does to their sweeps.
func (a *app) remove(ctx context.Context, s *runner.Store, ids []string, now bool) error {
	done := removed{Removed: []string{}, Undo: !now}
	notes := map[string]string{}
	var errs []error
	var free []string
	for _, id := range ids {
		note, err := sweepOf(ctx, s, id)
		if err != nil {
			errs = append(errs, err)
			continue
		}
		notes[id], free = note, append(free, id)
	}
	if now {
		for _, id := range free {
			if err := s.Remove(id); err != nil {
				errs = append(errs, err)
				continue
			}
			done.Removed = append(done.Removed, id)
		}
	} else if len(free) > 0 {
		moved, err := s.Trash(free...)
		done.Removed = append(done.Removed, moved...)
		if err != nil {
			errs = append(errs, err)
		}
	}
	for _, id := range done.Removed {
		a.note("deleted %s", id)
		if notes[id] != "" {
			a.note("note: %s", notes[id])
		}
	}
	if !now && len(done.Removed) > 0 {
		a.note("`boost-tui runs undo` brings back what was deleted last; `boost-tui runs gc --yes` frees the disk after %d days, `boost-tui runs gc --now --yes` at once",
			int(runner.TrashAge/(24*time.Hour)))
	}
	if a.json {
		errs = append(errs, a.printJSON(done))
	}
	return errors.Join(errs...)
}

// confirm asks on the terminal. Without one there is nobody to ask.
func (a *app) confirm(ids []string, now bool) error {
	if !isTerminal(a.in) {
		return usagef("deleting %d run(s) needs --yes where there is no terminal to ask on", len(ids))
	}
	what := "delete"
	if now {
		what = "delete for good"
	}
	a.note("%s: %s", what, strings.Join(ids, " "))
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
