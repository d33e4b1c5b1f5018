package main

import (
	"context"
	"fmt"
	"text/tabwriter"

	"boost-tui/runner"
	"boost-tui/sweeps"
	"boost-tui/sweeps/results"
	"boost-tui/sweeps/space"
	"boost-tui/tui/format"
)

// dryResult is the JSON of `sweep --dry-run`.
type dryResult struct {
	Name     string           `json:"name,omitempty"`
	State    string           `json:"state"` // dry-run
	Key      string           `json:"key"`   // of the space: the same space has the same key
	Axes     []string         `json:"axes"`
	Raw      int              `json:"raw"`      // combinations of the axes' values
	Excluded int              `json:"excluded"` // of those, left out by constraints
	Removed  []removedBy      `json:"removed"`  // by each constraint, whatever others say
	Merged   int              `json:"merged"`   // of the combinations, the same as another
	Twins    int              `json:"twins"`    // points that were added as twins
	Shapes   int              `json:"shapes"`   // distinct shapes that a step was recorded for
	Points   []space.Point    `json:"points"`
	Pruned   []space.Pruned   `json:"pruned"`
	Notes    []string         `json:"notes"`
	Options  sweeps.Options   `json:"options"`
	Estimate results.Estimate `json:"estimate"`
}

// removedBy is what one constraint is not met by.
type removedBy struct {
	Constraint string `json:"constraint"`
	Points     int    `json:"points"`
}

// dryRun says what a sweep would do, and does nothing. It needs no store: without one the cost is unknown.
func (a *app) dryRun(ctx context.Context, file space.File, x *space.Expansion, o sweeps.Options) error {
	cost := a.dryCost(ctx, x, o)
	if a.json {
		removed := []removedBy{}
		for _, r := range x.Removed {
			removed = append(removed, removedBy{r.Constraint, r.Points})
		}
		return a.printJSON(dryResult{Name: file.Spec.Name, State: "dry-run", Key: file.Spec.Key(), Axes: list(x.Keys), Raw: x.Raw, Excluded: x.Excluded, Removed: removed, Merged: x.Merged,
			Twins: x.Twins, Shapes: x.Shapes, Points: list(x.Points), Pruned: list(x.Pruned), Notes: list(x.Notes), Options: o, Estimate: cost})
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "POINT\tWHAT\tRANKS\tSTEPS\tFLOPS\t")
	for i, p := range x.Points {
		if i == pointsShown {
			fmt.Fprintf(w, "and %d more; --json lists them all\n", len(x.Points)-i)
			break
		}
		flops, twin := "-", ""
		if p.FLOPs > 0 {
			flops = format.SI(p.FLOPs)
		}
		if p.Twin {
			twin = "added as a twin"
		}
		fmt.Fprintf(w, "%s\t%s\t%d\t%d\t%s\t%s\n", p.ID, runner.Clean(p.Label), p.Ranks, p.Steps, flops, twin)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	if err := a.printPruned(x.Pruned); err != nil {
		return err
	}
	for _, r := range x.Removed {
		if err := a.print("constraint %s: not met by %d %s\n", runner.Clean(r.Constraint), r.Points, plural("combination", int64(r.Points))); err != nil {
			return err
		}
	}
	for _, n := range x.Notes {
		if err := a.print("%s\n", runner.Clean(n)); err != nil {
			return err
		}
	}
	return a.print("\n%s\ncost: %s\n", summary(x), costWords(cost))
}

// dryCost estimates by the runs of the store, where there is one.
func (a *app) dryCost(ctx context.Context, x *space.Expansion, o sweeps.Options) results.Estimate {
	var past results.History
	if s, err := a.store(); err == nil {
		past = results.ReadHistory(ctx, s)
	}
	return results.EstimatePoints(x.Base, x.Points, o, past)
}

// list is never nil: JSON readers want a list.
func list[T any](l []T) []T { return append([]T{}, l...) }

// summary is "12 combinations, 2 of them the same as another, 2 twins added, 3 pruned: 9 points".
func summary(x *space.Expansion) string {
	text := fmt.Sprintf("%d %s", x.Raw, plural("combination", int64(x.Raw)))
	if x.Excluded > 0 {
		text += fmt.Sprintf(", %d left out by constraints", x.Excluded)
	}
	if x.Merged > 0 {
		text += fmt.Sprintf(", %d the same as another", x.Merged)
	}
	if x.Twins > 0 {
		text += fmt.Sprintf(", %d %s added", x.Twins, plural("twin", int64(x.Twins)))
	}
	if len(x.Pruned) > 0 {
		text += fmt.Sprintf(", %d pruned", len(x.Pruned))
	}
	return text + fmt.Sprintf(": %d %s", len(x.Points), plural("point", int64(len(x.Points))))
}

// How many points of a dry run people are shown; --json has all.
const (
	pointsShown = 500
	prunedShown = 20
)

func (a *app) printPruned(pruned []space.Pruned) error {
	for i, p := range pruned {
		if i == prunedShown {
			return a.print("pruned: and %d more; --json lists them all\n", len(pruned)-i)
		}
		if err := a.print("pruned: %s: %s\n", runner.Clean(p.Point), runner.Clean(p.Reason)); err != nil {
			return err
		}
	}
	return nil
}

// costWords is "about 3 min 20 s, 0.11 device hours (…)", or why that is unknown.
func costWords(e results.Estimate) string {
	if e.Seconds == nil {
		return runner.Clean(e.Basis)
	}
	text := timeWords(e)
	if e.DeviceHours != nil {
		text += fmt.Sprintf(", %s device hours", format.Digits(*e.DeviceHours))
	}
	return text + " (" + runner.Clean(e.Basis) + ")"
}
