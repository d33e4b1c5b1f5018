package main

import (
	"context"
	"fmt"

	"github.com/spf13/cobra"

	"boost-tui/runner"
	"boost-tui/sweeps"
)

// findSweep opens the sweep that the user named; without a name it is the latest.
func (a *app) findSweep(ctx context.Context, args []string) (*runner.Store, *sweeps.Sweep, error) {
	s, err := a.store()
	if err != nil {
		return nil, nil, err
	}
	folder := sweeps.OpenFolder(s)
	if len(args) > 0 {
		sw, err := folder.Find(args[0])
		return s, sw, usage(err)
	}
	all, errs := folder.List(ctx)
	if len(all) == 0 {
		if len(errs) > 0 {
			return nil, nil, errs[0]
		}
		return nil, nil, usagef("no sweeps in %s; `boost-tui sweep --axis KEY=VALUES` makes one", s.Root)
	}
	latest := all[len(all)-1]
	for _, in := range all {
		if in.Err == nil && (latest.Err != nil || in.Created.After(latest.Created)) {
			latest = in
		}
	}
	sw, err := folder.Find(latest.ID)
	return s, sw, err
}

// loadSweep is findSweep that reads the sweep, too.
func (a *app) loadSweep(ctx context.Context, args []string) (*runner.Store, *sweeps.Sweep, *sweeps.State, error) {
	s, sw, err := a.findSweep(ctx, args)
	if err != nil {
		return nil, nil, nil, err
	}
	st, err := sw.Load(ctx)
	return s, sw, st, err
}

// findPoints gives the ids of the points that the user named.
func findPoints(st *sweeps.State, names []string) ([]string, error) {
	var ids []string
	for _, name := range names {
		p, err := st.FindPoint(name)
		if err != nil {
			return nil, usage(err)
		}
		ids = append(ids, p.ID)
	}
	return ids, nil
}

// completeSweeps offers the ids of the store's sweeps, the latest first.
func (a *app) completeSweeps(cmd *cobra.Command, given []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(given) > 0 {
		return nil, cobra.ShellCompDirectiveNoFileComp
	}
	s, err := a.store()
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	all, _ := sweeps.OpenFolder(s).List(cmd.Context())
	var ids []string
	for i := len(all) - 1; i >= 0; i-- {
		ids = append(ids, cobra.CompletionWithDesc(all[i].ID, string(all[i].Phase)))
	}
	return ids, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}

// completePoints offers a sweep, and behind it its points.
func (a *app) completePoints(cmd *cobra.Command, given []string, prefix string) ([]string, cobra.ShellCompDirective) {
	if len(given) == 0 {
		return a.completeSweeps(cmd, given, prefix)
	}
	_, _, st, err := a.loadSweep(cmd.Context(), given[:1])
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	var ids []string
	for _, p := range st.Points {
		ids = append(ids, cobra.CompletionWithDesc(p.ID, fmt.Sprintf("%s, %s", runner.Clean(p.Label), p.Status)))
	}
	return ids, cobra.ShellCompDirectiveNoFileComp | cobra.ShellCompDirectiveKeepOrder
}
