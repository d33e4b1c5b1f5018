package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// streams are where a command reads and writes.
type streams struct {
	in       io.Reader
	out, err io.Writer
}

// app is what all commands share: streams, and the flags that stand before any command.
type app struct {
	streams
	runs    string // --runs
	json    bool   // --json
	started bool   // a command's own code has begun
}

// execute runs one command line and gives its exit code.
func execute(ctx context.Context, s streams, args []string) int {
	a := &app{streams: s}
	root := newRoot(a)
	root.SetArgs(args)
	err := root.ExecuteContext(ctx)
	var silent *exitError
	if err != nil && !(errors.As(err, &silent) && silent.silent) {
		fmt.Fprintf(s.err, "boost-tui: %v\n", err)
		if !a.started {
			fmt.Fprintln(s.err, "boost-tui --help lists the commands, boost-tui COMMAND --help its flags")
		}
	}
	return codeOf(ctx, err, a.started)
}

func newRoot(a *app) *cobra.Command {
	var ui uiFlags
	root := &cobra.Command{
		Use:   "boost-tui",
		Short: "Train low-rank language models, see where each step's time goes, compare schemes",
		Long: `boost-tui trains low-rank language models under three tensor-parallel schemes (full-rank, vanilla,
bottleneck-aware), shows where the time of every step goes, and puts schemes side by side.

Without a command it opens the terminal UI; every action of the UI is also a command.
Exit codes: 0 done, 1 the work failed, 2 wrong usage or input, 3 a check did not hold, 130 interrupted.`,
		Args:          cobra.NoArgs,
		SilenceErrors: true,
		SilenceUsage:  true,
		PersistentPreRun: func(*cobra.Command, []string) {
			a.started = true
		},
		RunE: func(cmd *cobra.Command, _ []string) error { return a.openUI(cmd.Context(), ui) },
	}
	root.SetIn(a.in)
	root.SetOut(a.out)
	root.SetErr(a.err)
	root.PersistentFlags().StringVar(&a.runs, "runs", "", "folder of the runs (default $BOOST_RUNS, $SCRATCH/boost-tui/runs, else the XDG data folder)")
	root.PersistentFlags().BoolVar(&a.json, "json", false, "print one JSON value on stdout and nothing else there")
	ui.register(root.Flags())
	root.CompletionOptions.DisableDefaultCmd = true
	root.AddGroup(&cobra.Group{ID: groupWork, Title: "Run and predict:"}, &cobra.Group{ID: groupStore, Title: "Runs:"},
		&cobra.Group{ID: groupHouse, Title: "This machine and program:"})
	root.SetHelpCommandGroupID(groupHouse)
	for _, c := range commands {
		root.AddCommand(c(a))
	}
	return root
}

// Groups of commands in the help.
const (
	groupWork  = "work"
	groupStore = "store"
	groupHouse = "house"
)

// isTerminal reports whether a stream is a terminal.
func isTerminal(stream any) bool {
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// note writes a line for people. It never reaches stdout, so that --json stays pure.
func (a *app) note(format string, args ...any) { fmt.Fprintf(a.err, format+"\n", args...) }
