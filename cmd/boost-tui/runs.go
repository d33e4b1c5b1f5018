package main

import (
	"fmt"
	"slices"
	"strings"
	"text/tabwriter"
	"time"

	"github.com/spf13/cobra"

	"boost-tui/runner"
	"boost-tui/tui/format"
)

// states are what a run can be in, in the order of its life.
var states = []string{string(runner.Pending), string(runner.Running), string(runner.Finished), string(runner.Failed), string(runner.Cancelled), string(runner.Lost)}

// shortError is how much of an error stands in a table; show has all of it.
const shortError = 32

func newRuns(a *app) *cobra.Command {
	var state, tag, sweep string
	cmd := &cobra.Command{
		Use: "runs", Short: "List the runs of the store, the latest first", GroupID: groupStore, Args: cobra.NoArgs,
		RunE: func(cmd *cobra.Command, _ []string) error {
			if state != "" && !slices.Contains(states, state) {
				return usagef("--state %q: want %s", state, strings.Join(states, ", "))
			}
			s, err := a.store()
			if err != nil {
				return err
			}
			infos, errs := s.List(cmd.Context())
			if infos == nil && len(errs) > 0 {
				return errs[0]
			}
			views := []runView{}
			for i := len(infos) - 1; i >= 0; i-- {
				v := viewOf(infos[i])
				if (state == "" || v.State == state) && (tag == "" || slices.Contains(v.Tags, tag)) && v.ofSweep(sweep) {
					views = append(views, v)
				}
			}
			if a.json {
				return a.printJSON(views)
			}
			if len(views) == 0 && len(infos) > 0 {
				a.note("none of the %d runs in %s is such a one", len(infos), s.Root)
				return nil
			}
			return a.printRuns(s, views)
		},
	}
	cmd.Flags().StringVar(&state, "state", "", "only runs in this state: "+strings.Join(states, ", "))
	_ = cmd.RegisterFlagCompletionFunc("state", cobra.FixedCompletions(states, cobra.ShellCompDirectiveNoFileComp)) // it fails for a flag that is not there
	cmd.Flags().StringVar(&tag, "tag", "", "only runs with this tag")
	cmd.Flags().StringVar(&sweep, "sweep", "", "only runs of this sweep: its `ID`, or the beginning or last part of it")
	return cmd
}

func (a *app) printRuns(s *runner.Store, views []runView) error {
	if len(views) == 0 {
		a.note("no runs in %s; `boost-tui run` makes one", s.Root)
		return nil
	}
	w := tabwriter.NewWriter(a.out, 0, 0, 2, ' ', 0)
	swept := slices.ContainsFunc(views, func(v runView) bool { return v.Sweep != nil })
	head := "RUN\tSTATE\tSTEP\tLOSS\tSTARTED\tNAME\tTAGS"
	if swept { // a column that most stores need not
		head += "\tSWEEP"
	}
	fmt.Fprintln(w, head)
	for _, v := range views {
		step, loss := "-", "-"
		if v.Step != nil {
			step = fmt.Sprintf("%d/%d", *v.Step, v.Steps)
		}
		if v.Loss != nil {
			loss = fmt.Sprintf("%.4f", *v.Loss)
		}
		state := v.State
		if v.Error != "" {
			state += " (" + short(runner.Clean(v.Error), shortError) + ")"
		}
		fmt.Fprintf(w, "%s\t%s\t%s\t%s\t%s\t%s\t%s", v.ID, state, step, loss, format.When(v.Created, time.Now()),
			runner.Clean(v.Name), runner.Clean(strings.Join(v.Tags, ",")))
		if v.Sweep != nil {
			fmt.Fprintf(w, "\t%s", lastPart(v.Sweep.ID))
		}
		fmt.Fprintln(w)
	}
	return w.Flush()
}

// short is at most n characters of a text, the last of them then an ellipsis.
func short(text string, n int) string {
	if r := []rune(text); len(r) > n {
		return string(r[:n-1]) + "…"
	}
	return text
}

// lastPart is the ending of an id, which is what people remember of it.
func lastPart(id string) string { return "#" + id[strings.LastIndexByte(id, '-')+1:] }

// ofSweep reports whether the run is one of the sweep that the text names; empty: of any or none.
func (v runView) ofSweep(text string) bool {
	return text == "" || v.Sweep != nil && (strings.HasPrefix(v.Sweep.ID, text) || strings.HasSuffix(v.Sweep.ID, "-"+text))
}
