package main

import (
	"context"
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"boost-tui/runner"
	"boost-tui/sweeps"
	"boost-tui/sweeps/results"
	"boost-tui/tui/format"
)

// sweepView is a sweep in the JSON of `sweep status` and `sweep list`.
type sweepView struct {
	ID          string                `json:"id"`
	Name        string                `json:"name,omitempty"`
	State       string                `json:"state"`
	Cause       string                `json:"cause,omitempty"`
	Held        bool                  `json:"held"` // a program looks after it
	Created     time.Time             `json:"created"`
	Dir         string                `json:"dir"`
	Axes        []string              `json:"axes"`
	Counts      map[sweeps.Status]int `json:"counts"`
	Pruned      int                   `json:"pruned"`
	Options     sweeps.Options        `json:"options"`
	DeviceHours float64               `json:"device_hours"`
	Worked      float64               `json:"worked"` // seconds that programs looked after it
	BadLines    int                   `json:"bad_lines,omitempty"`
	Estimate    *results.Estimate     `json:"estimate,omitempty"`
	Points      []pointView           `json:"points,omitempty"`
}

// pointView is a point in the JSON of `sweep status`.
type pointView struct {
	Point    string `json:"point"`
	Label    string `json:"label"`
	Run      string `json:"run,omitempty"`
	State    string `json:"state"`
	Cause    string `json:"cause,omitempty"`
	Attempts int    `json:"attempts"`
	Twin     bool   `json:"twin,omitempty"`
	Place    int    `json:"place,omitempty"` // in the queue, from 1
}

func viewOfSweep(st *sweeps.State) sweepView {
	return sweepView{ID: st.ID, Name: st.Name, State: string(st.Phase), Cause: st.Cause, Held: st.Held, Created: st.Created, Dir: st.Dir, Axes: list(st.Axes),
		Counts: counted(st), Pruned: len(st.Pruned), Options: st.Options, DeviceHours: st.DeviceHours, Worked: st.Worked.Seconds(), BadLines: st.BadLines}
}

func newSweepStatus(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "status [ID]", Short: "Show how a sweep gets on", Args: cobra.MaximumNArgs(1), ValidArgsFunction: a.completeSweeps,
		Long: "Show what of a sweep (the latest, where none is named) runs, is next, failed and why, and what is left.",
		RunE: func(cmd *cobra.Command, args []string) error {
			s, sw, err := a.findSweep(cmd.Context(), args)
			if err != nil {
				return err
			}
			return a.tellSweep(cmd.Context(), s, sw)
		},
	}
}

func newSweepList(a *app) *cobra.Command {
	return &cobra.Command{
		Use: "list", Short: "List the sweeps of the store, the latest first", Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			s, err := a.store()
			if err != nil {
				return err
			}
			all, errs := sweeps.OpenFolder(s).List(cmd.Context())
			if all == nil && len(errs) > 0 {
				return errs[0]
			}
			slices.Reverse(all)
			if a.json {
				views := []listedSweep{}
				for _, in := range all {
					views = append(views, viewOfListed(in))
				}
				return a.printJSON(views)
			}
			if len(all) == 0 {
				a.note("no sweeps in %s; `boost-tui sweep --axis KEY=VALUES` makes one", s.Root)
				return nil
			}
			return a.printSweeps(all)
		},
	}
}

// listedSweep is a sweep in the JSON of `sweep list`.
type listedSweep struct {
	ID          string                `json:"id"`
	Name        string                `json:"name,omitempty"`
	State       string                `json:"state"`
	Cause       string                `json:"cause,omitempty"`
	Held        bool                  `json:"held"` // a program looks after it
	Created     time.Time             `json:"created"`
	Updated     time.Time             `json:"updated"`
	Points      int                   `json:"points"`
	Counts      map[sweeps.Status]int `json:"counts"`
	Pruned      int                   `json:"pruned"`
	DeviceHours float64               `json:"device_hours"`
	Worked      float64               `json:"worked"` // seconds that programs looked after it
	Dir         string                `json:"dir"`
	Error       string                `json:"error,omitempty"` // what of the sweep could not be read
}

func viewOfListed(in sweeps.Info) listedSweep {
	v := listedSweep{ID: in.ID, Name: in.Name, State: string(in.Phase), Cause: in.Cause, Held: in.Held, Created: in.Created, Updated: in.Updated,
		Points: in.Points, Counts: in.Counts, Pruned: in.Pruned, DeviceHours: in.DeviceHours, Worked: in.Worked.Seconds(), Dir: in.Dir}
	if in.Err != nil {
		v.Error = in.Err.Error()
	}
	return v
}

func (a *app) printSweeps(all []sweeps.Info) error {
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	fmt.Fprintln(w, "SWEEP\tSTATE\tPOINTS\tSTARTED\tNAME")
	for _, in := range all {
		if in.Err != nil {
			fmt.Fprintf(w, "%s\t(%s)\t-\t-\t-\n", in.ID, short(runner.Clean(in.Err.Error()), shortError))
			continue
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\n", in.ID, in.Phase, countWords(in.Counts, in.Points), format.When(in.Created, time.Now()), runner.Clean(in.Name))
	}
	return w.Flush()
}

// tellSweep prints how a sweep gets on.
func (a *app) tellSweep(ctx context.Context, s *runner.Store, sw *sweeps.Sweep) error {
	st, err := sw.Load(ctx)
	if err != nil {
		return err
	}
	est, err := results.EstimateSweep(ctx, s, st, nil)
	if err != nil {
		return err
	}
	if !a.json {
		return a.printSweepStatus(st, est)
	}
	v := viewOfSweep(st)
	v.Estimate = &est
	place := map[string]int{}
	for i, p := range st.Queue {
		place[p.ID] = i + 1
	}
	for _, p := range st.Points {
		v.Points = append(v.Points, pointView{Point: p.ID, Label: p.Label, Run: p.Run(), State: string(p.Status), Cause: p.Cause,
			Attempts: len(p.Attempts), Twin: p.Twin, Place: place[p.ID]})
	}
	return a.printJSON(v)
}

func (a *app) printSweepStatus(st *sweeps.State, est results.Estimate) error {
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	line := func(name, value string) {
		if value != "" {
			fmt.Fprintf(w, "%s\t%s\n", name, runner.Clean(value))
		}
	}
	line("sweep", st.ID)
	line("name", st.Name)
	line("state", string(st.Phase))
	line("cause", st.Cause)
	line("points", countWords(counted(st), len(st.Points)))
	if n := len(st.Pruned); n > 0 {
		line("pruned", fmt.Sprintf("%d; boost-tui sweep results %s says why", n, st.ID))
	}
	line("axes", strings.Join(st.Axes, ", "))
	line("queue", optionWords(st.Options))
	line("worked", fmt.Sprintf("%s, %s device hours", format.Duration(st.Worked), format.Digits(st.DeviceHours)))
	if len(st.Queue) > 0 {
		line("estimate", est.String())
	}
	if st.BadLines > 0 {
		line("journal", fmt.Sprintf("%d lines cannot be read and were skipped", st.BadLines))
	}
	line("folder", st.Dir)
	for _, n := range st.Notes[max(0, len(st.Notes)-notesShown):] {
		line("note", format.When(n.At, time.Now())+" "+n.Text)
	}
	if lines := pointLines(st); len(lines) > 0 {
		fmt.Fprintln(w)
		for _, l := range lines {
			line(l[0], l[1])
		}
	}
	return w.Flush()
}

// How many of a sweep's points and notes people are shown.
const (
	queuedShown  = 5
	troubleShown = 20
	notesShown   = 3
)

// pointLines are the points that run, those that ended otherwise than they should, and the first of the queue.
func pointLines(st *sweeps.State) [][2]string {
	var lines [][2]string
	left := 0
	for _, p := range st.Points {
		if p.Status == sweeps.Queued || p.Status == sweeps.Finished {
			continue
		}
		if len(lines) == troubleShown {
			left++
			continue
		}
		lines = append(lines, [2]string{p.ID, pointWords(p)})
	}
	if left > 0 {
		lines = append(lines, [2]string{"", fmt.Sprintf("and %d more; --json lists them all", left)})
	}
	for i, p := range st.Queue {
		switch {
		case i == 0:
			lines = append(lines, [2]string{p.ID, p.Label + ": next"})
		case i < queuedShown:
			lines = append(lines, [2]string{p.ID, p.Label + ": queued"})
		case i == queuedShown:
			lines = append(lines, [2]string{"", fmt.Sprintf("and %d more queued", len(st.Queue)-i)})
		}
	}
	return lines
}

// pointWords is "vanilla tp 2 rank 32: failed, run …: rank 1: …".
func pointWords(p *sweeps.PointState) string {
	text := p.Label + ": " + string(p.Status)
	if run := p.Run(); run != "" {
		text += ", run " + run
	}
	if p.Cause != "" {
		text += ": " + p.Cause
	}
	return text
}

// optionWords is "given order, 1 at once, stops after 5 failures in a row, …".
func optionWords(o sweeps.Options) string {
	words := []string{"order " + o.Order, fmt.Sprintf("%d at once", o.AtOnce)}
	if o.MaxTime > 0 {
		words = append(words, "at most "+format.Duration(o.MaxTime))
	}
	if o.MaxDeviceHours > 0 {
		words = append(words, fmt.Sprintf("at most %g device hours", o.MaxDeviceHours))
	}
	if o.MaxFailures > 0 {
		words = append(words, fmt.Sprintf("stops after %d %s in a row", o.MaxFailures, plural("failure", int64(o.MaxFailures))))
	}
	words = append(words, fmt.Sprintf("%d %s", o.Retries, map[bool]string{true: "retry", false: "retries"}[o.Retries == 1]))
	if o.StopDiverged {
		words = append(words, "ends diverged runs")
	}
	if o.StopSlower {
		words = append(words, "ends slower runs")
	}
	return strings.Join(words, ", ")
}
