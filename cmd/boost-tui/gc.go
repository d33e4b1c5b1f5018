package main

import (
	"errors"
	"fmt"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"boost-tui/runner"
	"boost-tui/tui/format"
)

// freed is the JSON of `runs gc`.
type freed struct {
	Freed bool      `json:"freed"` // false: it was only found
	Bytes int64     `json:"bytes"`
	Items []garbage `json:"items"`
}

type garbage struct {
	Kind  string `json:"kind"` // trash, checkpoint or temporary
	Run   string `json:"run,omitempty"`
	Path  string `json:"path"` // in the folder of the runs; absolute: elsewhere on this machine
	Bytes int64  `json:"bytes"`
	Why   string `json:"why"`
}

func newGC(a *app) *cobra.Command {
	var yes, now bool
	days, keep := int(runner.TrashAge/(24*time.Hour)), -1
	cmd := &cobra.Command{
		Use: "gc", Short: "Say what can be freed, and free it with --yes", Args: cobra.NoArgs,
		Long: `Find what takes room in the store and is not needed: runs that were deleted some time ago, checkpoints beyond those that a
run keeps, and files and sockets of programs that were killed. Says what it would free, and frees it with --yes. Runs that go
on, checkpoints that such runs start from, and whatever belongs to another user are left alone.`,
		Example: "  boost-tui runs gc\n  boost-tui runs gc --now --keep-last 1 --yes",
		RunE: func(cmd *cobra.Command, _ []string) error {
			o := runner.CollectOptions{Delete: yes, TrashAge: time.Duration(days) * 24 * time.Hour, KeepLast: keep}
			switch {
			case days < 0 || days > maxTrashDays:
				return usagef("--trash-days %d: want a number of days up to %d", days, maxTrashDays)
			case cmd.Flags().Changed("keep-last") && keep < 0:
				return usagef("--keep-last %d: want a number of checkpoints", keep)
			case now && cmd.Flags().Changed("trash-days"):
				return usagef("--now is --trash-days 0: use one of them")
			case now:
				o.TrashAge = 0
			}
			s, err := a.store()
			if err != nil {
				return err
			}
			a.orderly.Store(true) // what was freed is said although it was interrupted
			found, errs := s.Collect(cmd.Context(), o)
			sockets, more := runner.CollectSockets(yes)
			found, errs = append(found, sockets...), append(errs, more...)
			return errors.Join(append(errs, a.printFreed(s, found, yes))...)
		},
	}
	cmd.Flags().BoolVarP(&yes, "yes", "y", false, "free it")
	cmd.Flags().BoolVar(&now, "now", false, "all that was deleted, however recently")
	cmd.Flags().IntVar(&days, "trash-days", days, "what was deleted so many days ago")
	cmd.Flags().IntVar(&keep, "keep-last", -1, "checkpoints that stay of each run that is over (default as many as the run was told to keep)")
	cmd.Flags().Lookup("keep-last").DefValue = ""
	return cmd
}

// maxTrashDays is a hundred years: what is larger overflows times.
const maxTrashDays = 36500

func (a *app) printFreed(s *runner.Store, found []runner.Garbage, done bool) error {
	v := freed{Freed: done, Items: []garbage{}}
	for _, g := range found {
		v.Items = append(v.Items, garbage{g.Kind, g.Run, g.Path, g.Bytes, g.Why})
		v.Bytes += g.Bytes
	}
	if a.json {
		return a.printJSON(v)
	}
	if len(found) == 0 {
		a.note("nothing in %s can be freed", s.Root)
		return nil
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "WHAT\tSIZE\tPATH\tWHY")
	for _, g := range found {
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\n", g.Kind, format.Bytes(g.Bytes), runner.Clean(g.Path), runner.Clean(g.Why))
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if done {
		a.note("freed %s", format.Bytes(v.Bytes))
	} else {
		a.note("%s can be freed: --yes does it", format.Bytes(v.Bytes))
	}
	return nil
}
