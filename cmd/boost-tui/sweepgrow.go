package main

import (
	"context"

	"github.com/spf13/cobra"

	"boost-tui/sweeps"
	"boost-tui/sweeps/space"
)

func newSweepResume(a *app) *cobra.Command {
	var q queueFlags
	var detach bool
	cmd := &cobra.Command{
		Use: "resume [ID]", Short: "Go on with a sweep", Args: cobra.MaximumNArgs(1), ValidArgsFunction: a.completeSweeps,
		Long: `Go on with a sweep (the latest, where none is named) that was paused, interrupted or stopped by a limit, here or, with
--detach, in a program of its own. Options of the queue that are named hold from now on.`,
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := q.wrong(); err != nil {
				return usage(err)
			}
			s, sw, err := a.findSweep(cmd.Context(), args)
			if err != nil {
				return err
			}
			if err := a.resume(cmd.Context(), sw, q.over); err != nil {
				return err
			}
			if detach {
				return a.spawnSweep(cmd.Context(), s, sw)
			}
			return a.lookAfter(cmd.Context(), s, sw)
		},
	}
	cmd.Flags().SortFlags = false
	cmd.Flags().BoolVar(&detach, "detach", false, "print the sweep's id and leave it to itself")
	q.register(cmd)
	return cmd
}

// resume lifts whatever holds a sweep back, and puts what is said of its queue over its options. What its points compute on must
// be there before.
func (a *app) resume(ctx context.Context, sw *sweeps.Sweep, over func(sweeps.Options) sweeps.Options) error {
	st, err := sw.Load(ctx)
	if err != nil {
		return err
	}
	if err := a.readyDevices(ctx, st); err != nil {
		return err
	}
	if err := sw.SetOptions(over(st.Options)); err != nil {
		return err
	}
	return sw.Resume(who())
}

func newSweepGrow(a *app) *cobra.Command {
	var f spaceFlags
	cmd := &cobra.Command{
		Use: "grow [ID] --axis KEY=VALUES", Short: "Add values or axes to a sweep", Args: cobra.MaximumNArgs(1), ValidArgsFunction: a.completeSweeps,
		Long: `Add values or axes to a sweep (the latest, where none is named), whether it runs, is paused or is over. An axis over keys
that the sweep has gets more values; other keys are a new axis. What is planned or done already is not done again. A sweep
that nobody looks after goes on with boost-tui sweep resume.`,
		Example: "  boost-tui sweep grow k3fz --axis rank=128,256",
		RunE: func(cmd *cobra.Command, args []string) error {
			axes, err := f.parsed()
			if err != nil {
				return usage(err)
			}
			if len(axes) == 0 {
				return usagef("grow needs --axis KEY=VALUES: more values of an axis, or another one")
			}
			s, sw, err := a.findSweep(cmd.Context(), args)
			if err != nil {
				return err
			}
			if err := a.grow(cmd.Context(), sw, axes); err != nil {
				return err
			}
			return a.tellSweep(cmd.Context(), s, sw)
		},
	}
	f.axesFlag(cmd)
	return cmd
}

// grow plans what the axes add to a sweep, and writes it down.
func (a *app) grow(ctx context.Context, sw *sweeps.Sweep, axes []space.Axis) error {
	st, err := sw.Load(ctx)
	if err != nil {
		return err
	}
	file, err := space.ParseTOML([]byte(st.TOML), sweeps.TOMLFile)
	if err != nil {
		return err
	}
	for _, axis := range axes {
		if file.Spec, err = file.Spec.WithAxis(axis); err != nil {
			return usage(err)
		}
	}
	x, err := a.expand(ctx, &file.Spec)
	if err != nil {
		return err
	}
	var planned []space.Point
	for _, p := range st.Points {
		planned = append(planned, p.Point)
	}
	more := x.Beyond(planned, st.Pruned)
	if len(more.Points) == 0 {
		return usagef("sweep %s has every point of the larger space already%s", st.ID, map[bool]string{true: "; boost-tui sweep results shows what was pruned"}[len(more.Pruned) > 0])
	}
	if err := sw.Grow(file, more); err != nil {
		return err
	}
	a.note("%d more %s", len(more.Points), plural("point", int64(len(more.Points))))
	return a.printPruned(more.Pruned)
}
