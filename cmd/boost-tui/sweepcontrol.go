package main

import (
	"context"
	"errors"
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"

	"boost-tui/experiment"
	"boost-tui/runner"
	"boost-tui/sweeps"
	"boost-tui/sweeps/queue"
	"boost-tui/sweeps/space"
)

// Commands that ask something of a sweep, whoever looks after it. Each is a line of its journal.

func newSweepPause(a *app) *cobra.Command {
	var now bool
	cmd := &cobra.Command{
		Use: "pause [ID]", Short: "Start no more runs of a sweep", Args: cobra.MaximumNArgs(1), ValidArgsFunction: a.completeSweeps,
		Long: "Start no more runs of a sweep (the latest, where none is named). What runs goes on to its end, unless --now is given.",
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.ask(cmd, args, func(sw *sweeps.Sweep, _ *sweeps.State) error { return sw.Pause(who(), now) })
		},
	}
	cmd.Flags().BoolVar(&now, "now", false, "end what runs, and queue it again")
	return cmd
}

func newSweepOrder(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "order [ID] given|cheapest|random", Short: "Order the queue of a sweep anew", Args: cobra.RangeArgs(1, 2),
		ValidArgsFunction: func(cmd *cobra.Command, given []string, prefix string) ([]string, cobra.ShellCompDirective) {
			if len(given) == 0 {
				ids, how := a.completeSweeps(cmd, given, prefix)
				return append(ids, space.Orders()...), how
			}
			return space.Orders(), cobra.ShellCompDirectiveNoFileComp
		},
		RunE: func(cmd *cobra.Command, args []string) error {
			order := args[len(args)-1]
			if !slices.Contains(space.Orders(), order) {
				return usagef("order %q: want %s; nearest: %s", order, strings.Join(space.Orders(), ", "), experiment.Closest(order, space.Orders()))
			}
			return a.ask(cmd, args[:len(args)-1], func(sw *sweeps.Sweep, st *sweeps.State) error {
				o := st.Options
				o.Order = order
				return sw.SetOptions(o)
			})
		},
	}
}

func newSweepFirst(a *app) *cobra.Command {
	return a.onPoints("first ID POINT...", "Put queued points of a sweep in front", "", 2,
		func(sw *sweeps.Sweep, _ *sweeps.State, ids []string) error { return sw.Reorder(ids) })
}

func newSweepSkip(a *app) *cobra.Command {
	return a.onPoints("skip ID POINT...", "Take queued points out of a sweep", "", 2,
		func(sw *sweeps.Sweep, _ *sweeps.State, ids []string) error { return sw.Skip(ids) })
}

func newSweepRetry(a *app) *cobra.Command {
	var again bool
	cmd := a.onPoints("retry ID [POINT...]", "Queue points of a sweep again", `Queue points again that failed, were stopped, cancelled or skipped. Without names: all that failed or were cancelled.
The sweep goes on with the next boost-tui sweep resume, or at once where it is running.`, 1,
		func(sw *sweeps.Sweep, st *sweeps.State, ids []string) error {
			switch {
			case again && len(ids) == 0:
				return usagef("--again: name the points whose work is to be done again")
			case again:
				return sw.RetryAgain(ids)
			case len(ids) == 0:
				ids = unfinished(st)
			}
			if len(ids) == 0 {
				a.note("no point of sweep %s failed or was cancelled", st.ID)
				return nil
			}
			return sw.Retry(ids)
		})
	cmd.Flags().BoolVar(&again, "again", false, "run points that are named again, also those that finished; the new run counts from then on")
	return cmd
}

func newSweepCancel(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "cancel ID [POINT...]", Short: "End a sweep, or points of it", Args: cobra.MinimumNArgs(1), ValidArgsFunction: a.completePoints,
		Long: `End a sweep, or the points that are named, whoever looks after it: what waits is skipped, so that nothing new starts, then
what runs is cancelled. It asks nothing, and returns when all of that is over. What was measured stays, and boost-tui sweep
retry queues points again.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, sw, st, err := a.loadSweep(cmd.Context(), args[:1])
			if err != nil {
				return err
			}
			ids, err := endable(st, args[1:])
			if err != nil {
				return err
			}
			ctx, stop := context.WithTimeout(cmd.Context(), cancelWait)
			defer stop()
			if err := queue.End(ctx, s, sw, ids, "cancelled by its user"); err != nil {
				return err
			}
			return a.tellSweep(cmd.Context(), s, sw)
		},
	}
}

// endable gives the ids of the points that the user named, nil for all, where one of them at least is not over.
func endable(st *sweeps.State, names []string) ([]string, error) {
	ids, err := findPoints(st, names)
	if err != nil {
		return nil, err
	}
	var over []string
	for _, id := range ids {
		p := st.Point(id)
		if !p.Status.Over() {
			return ids, nil
		}
		over = append(over, fmt.Sprintf("point %s (%s) is %s", p.ID, runner.Clean(p.Label), p.Status))
	}
	if len(over) > 0 {
		return nil, usagef("%s", strings.Join(over, ", "))
	}
	if st.Count(sweeps.Queued)+st.Count(sweeps.Running) == 0 {
		return nil, usagef("sweep %s is %s: nothing of it runs or waits", st.ID, st.Phase)
	}
	return nil, nil
}

// onPoints is a command about points of a sweep.
func (a *app) onPoints(use, short, long string, least int, do func(*sweeps.Sweep, *sweeps.State, []string) error) *cobra.Command {
	return &cobra.Command{
		Use: use, Short: short, Long: long, Args: cobra.MinimumNArgs(least), ValidArgsFunction: a.completePoints,
		RunE: func(cmd *cobra.Command, args []string) error {
			return a.ask(cmd, args[:1], func(sw *sweeps.Sweep, st *sweeps.State) error {
				ids, err := findPoints(st, args[1:])
				if err != nil {
					return err
				}
				return do(sw, st, ids)
			})
		},
	}
}

// ask does something to a sweep and says what it is then.
func (a *app) ask(cmd *cobra.Command, args []string, do func(*sweeps.Sweep, *sweeps.State) error) error {
	s, sw, st, err := a.loadSweep(cmd.Context(), args)
	if err != nil {
		return err
	}
	err = do(sw, st)
	if errors.Is(err, sweeps.ErrChanged) {
		return usage(err)
	}
	if err != nil {
		return err
	}
	return a.tellSweep(cmd.Context(), s, sw)
}

// unfinished are the points that failed or were cancelled.
func unfinished(st *sweeps.State) []string {
	var ids []string
	for _, p := range st.Points {
		if p.Status == sweeps.Failed || p.Status == sweeps.Cancelled {
			ids = append(ids, p.ID)
		}
	}
	return ids
}
