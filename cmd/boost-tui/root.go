package main

import (
	"context"
	"errors"
	"fmt"
	"io"
	"os"
	"sync/atomic"
	"time"

	"github.com/spf13/cobra"
	"golang.org/x/term"
)

// streams are where a command reads and writes.
type streams struct {
	in       io.Reader
	out, err io.Writer
	abandon  func(code int) // ends the process at once; nil: nothing may
}

// app is what all commands share: streams, and the flags that stand before any command.
type app struct {
	streams
	runs    string // --runs
	json    bool   // --json
	started bool   // a command's own code has begun
	// orderly is set by commands that end by themselves on a signal, and must: they look after processes
	// or a terminal. Any other is ended where it stands if it does not.
	orderly atomic.Bool
}

// patience is how long a command that looks after nothing may take to end after a signal.
const patience = 2 * time.Second

// watch ends the process some time after a signal, unless the command ends in good order by itself.
func (a *app) watch(ctx context.Context) (stop func()) {
	over := make(chan struct{})
	unhook := context.AfterFunc(ctx, func() {
		select {
		case <-over:
		case <-time.After(patience):
			if a.abandon != nil && !a.orderly.Load() {
				a.abandon(exitInterrupted)
			}
		}
	})
	return func() {
		close(over)
		unhook()
	}
}

// execute runs one command line and gives its exit code.
func execute(ctx context.Context, s streams, args []string) int {
	a := &app{streams: s}
	root := newRoot(a)
	root.SetArgs(args)
	stop := a.watch(ctx)
	err := root.ExecuteContext(ctx)
	stop()
	var silent *exitError
	switch {
	case err == nil || errors.As(err, &silent) && silent.silent:
	case ctx.Err() != nil && errors.Is(err, context.Canceled):
		fmt.Fprintln(s.err, "boost-tui: interrupted")
	default:
		fmt.Fprintf(s.err, "boost-tui: %s\n", calm(bounded(err.Error())))
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
boost-tui bench-gpu measures a GPU and checks what it computes: scripts/gpu.sh and docs/cuda.md say how, bench-gpu --help its flags.
Exit codes: 0 done, 1 the work failed, 2 wrong usage or input, 3 a check did not hold, 130 interrupted.`,
		Args:          noCommand,
		SilenceErrors: true,
		SilenceUsage:  true,
		PersistentPreRun: func(*cobra.Command, []string) {
			a.started = true
		},
		RunE: func(cmd *cobra.Command, _ []string) error {
			a.orderly.Store(true)
			return a.openUI(cmd.Context(), ui)
		},
	}
	root.SetFlagErrorFunc(nearestFlag)
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
	if p, ok := stream.(*pipe); ok {
		stream = p.File
	}
	f, ok := stream.(*os.File)
	return ok && term.IsTerminal(int(f.Fd()))
}

// note writes a line for people. It never reaches stdout, so that --json stays pure.
func (a *app) note(format string, args ...any) {
	fmt.Fprintln(a.err, calm(bounded(fmt.Sprintf(format, args...))))
}
