package main

import (
	"context"

	"github.com/spf13/cobra"

	"boost-tui/runner"
)

// logLine is a line in the JSON of `logs`.
type logLine struct {
	Rank int    `json:"rank"`
	Text string `json:"text"`
}

func newLogs(a *app) *cobra.Command {
	o := runner.LogOptions{Tail: -1}
	cmd := &cobra.Command{
		Use: "logs RUN", Short: "Print what the ranks of a run wrote", GroupID: groupStore,
		Long: `Print what the ranks of a run wrote to their standard output and error, cleaned of everything that could
steer a terminal. With several ranks every line begins with its rank. A line that is very long is cut, which it says;
--json has it whole. --follow goes on with the run that this one goes on as (--max-restarts), and says so.`,
		Args: cobra.ExactArgs(1), ValidArgsFunction: a.completeOneRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			_, in, err := a.findReadable(args[0])
			if err != nil {
				return err
			}
			if o.Tail < -1 {
				return usagef("--tail %d: want a number of lines, or -1 for all", o.Tail)
			}
			if o.Follow && a.json {
				return usagef("--follow prints lines as they come; --json prints one value: use one of the two")
			}
			for _, r := range o.Ranks {
				if r < 0 || r >= in.Run.World() {
					return usagef("run %s has ranks 0 to %d, not %d", in.ID, in.Run.World()-1, r)
				}
			}
			if a.json {
				lines := []logLine{}
				o.Whole = true
				err := runner.Logs(cmd.Context(), in.Dir, o, func(rank int, text string) { lines = append(lines, logLine{rank, text}) })
				if err != nil {
					return err
				}
				return a.printJSON(lines)
			}
			return a.followLogs(cmd, in, o)
		},
	}
	cmd.Flags().IntSliceVar(&o.Ranks, "rank", nil, "only these ranks, separated by commas (default all)")
	cmd.Flags().IntVar(&o.Tail, "tail", -1, "only the last so many lines of each rank; -1: all")
	cmd.Flags().BoolVarP(&o.Follow, "follow", "f", false, "go on until the run ends, and with the one that it goes on as")
	return cmd
}

// followLogs prints the logs of a run, and where they are followed those of the runs that it goes on as.
func (a *app) followLogs(cmd *cobra.Command, in runner.Info, o runner.LogOptions) error {
	for {
		err := a.printLogs(cmd, in, o)
		if err != nil || !o.Follow || a.readerLeft() {
			return err
		}
		if in, err = runner.Read(in.Dir); err != nil {
			return nil // it was deleted meanwhile: there is nothing more to print
		}
		over := in
		next, ok, err := runner.Next(cmd.Context(), over, func(why string) { a.note("run %s is %s: it %s", over.ID, over.State, why) })
		if err != nil || !ok {
			return err
		}
		a.note("run %s is %s; its log goes on in that of run %s", over.ID, over.State, next.ID)
		in, o.Tail = next, -1
	}
}

func (a *app) printLogs(cmd *cobra.Command, in runner.Info, o runner.LogOptions) error {
	var failed error
	ctx, stop := context.WithCancel(cmd.Context())
	defer stop()
	err := runner.Logs(ctx, in.Dir, o, func(rank int, text string) {
		if failed != nil || a.readerLeft() {
			stop()
			return
		}
		if in.Run.World() > 1 && len(o.Ranks) != 1 {
			failed = a.print("[%d] %s\n", rank, text)
			return
		}
		failed = a.print("%s\n", text)
	})
	switch {
	case failed != nil:
		return failed
	case a.readerLeft():
		return nil
	}
	return err
}
