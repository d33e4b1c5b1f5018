package main

import (
	"context"
	"fmt"
	"io"
	"os"
	"strings"
	"time"

	"github.com/spf13/cobra"

	"boost-tui/profiler/record"
	"boost-tui/runner"
)

// How logs are read: often enough to feel immediate, in pieces that keep a key press answered.
const (
	logPoll  = 300 * time.Millisecond
	logPiece = 256 << 10
)

// logLine is a line of `logs --json`.
type logLine struct {
	Rank int    `json:"rank"`
	Text string `json:"text"`
}

func newLogs(a *app) *cobra.Command {
	var ranks []int
	var follow bool
	cmd := &cobra.Command{
		Use: "logs RUN", Short: "Print what the ranks of a run wrote", GroupID: groupStore,
		Long: `Print what the ranks of a run wrote to their standard output and error, cleaned of everything that could
steer a terminal. With several ranks every line begins with its rank.`,
		Args: cobra.ExactArgs(1), ValidArgsFunction: a.completeOneRun,
		RunE: func(cmd *cobra.Command, args []string) error {
			s, in, err := a.findReadable(args[0])
			if err != nil {
				return err
			}
			if follow && a.json {
				return usagef("--follow prints lines as they come; --json prints one value: use one of the two")
			}
			l, err := openLogs(in, ranks)
			if err != nil {
				return err
			}
			if a.json {
				return a.logsJSON(l)
			}
			return a.printLogs(cmd.Context(), s, in, l, follow)
		},
	}
	cmd.Flags().IntSliceVar(&ranks, "rank", nil, "only these ranks, separated by commas")
	cmd.Flags().BoolVarP(&follow, "follow", "f", false, "go on until the run ends")
	return cmd
}

// rankLog is the log of one rank while it is read.
type rankLog struct {
	rank int
	tail *record.Tailer
}

func openLogs(in runner.Info, ranks []int) ([]rankLog, error) {
	world := in.Run.World()
	if len(ranks) == 0 {
		for r := range world {
			ranks = append(ranks, r)
		}
	}
	var logs []rankLog
	for _, r := range ranks {
		if r < 0 || r >= world {
			return nil, usagef("run %s has ranks 0 to %d, not %d", in.ID, world-1, r)
		}
		logs = append(logs, rankLog{r, record.NewTailer(record.LogPath(in.Dir, r))})
	}
	return logs, nil
}

// each hands on all whole lines that are there, and with last also one that has no end.
func (l rankLog) each(last bool, f func(text string)) error {
	for {
		more, err := l.tail.Poll(logPiece, func(line []byte) { f(runner.Clean(string(line))) })
		if err != nil {
			return err
		}
		if !more {
			break
		}
	}
	if !last {
		return nil
	}
	file, err := os.Open(l.tail.Path())
	if os.IsNotExist(err) {
		return nil
	}
	if err != nil {
		return err
	}
	defer file.Close()
	rest, err := io.ReadAll(io.LimitReader(io.NewSectionReader(file, l.tail.Offset(), logPiece), logPiece))
	if err == nil && len(rest) > 0 {
		f(runner.Clean(strings.TrimRight(string(rest), "\r\n")))
	}
	return err
}

func (a *app) logsJSON(logs []rankLog) error {
	lines := []logLine{}
	for _, l := range logs {
		if err := l.each(true, func(text string) { lines = append(lines, logLine{l.rank, text}) }); err != nil {
			return err
		}
	}
	return a.printJSON(lines)
}

func (a *app) printLogs(ctx context.Context, s *runner.Store, in runner.Info, logs []rankLog, follow bool) error {
	for {
		over := in.State.Over() || !follow
		for _, l := range logs {
			prefix := ""
			if len(logs) > 1 {
				prefix = fmt.Sprintf("[%d] ", l.rank)
			}
			var failed error
			err := l.each(over, func(text string) {
				if failed == nil {
					failed = a.print("%s%s\n", prefix, text)
				}
			})
			if err == nil {
				err = failed
			}
			if err != nil {
				return err
			}
		}
		if over {
			return nil
		}
		select {
		case <-ctx.Done():
			return ctx.Err()
		case <-time.After(logPoll):
		}
		var err error
		if in, err = s.Load(in.ID); err != nil {
			return err
		}
	}
}
