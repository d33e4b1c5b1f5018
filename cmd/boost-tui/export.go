package main

import (
	"context"
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"boost-tui/profiler/compare"
	"boost-tui/profiler/export"
	"boost-tui/runner/protocol"
	"boost-tui/trainer/weights"
)

// exported is the JSON of `export`.
type exported struct {
	Files []string `json:"files"`
}

func newExport(a *app) *cobra.Command {
	var to, weightsTo string
	var force, factors bool
	cmd := &cobra.Command{
		Use: "export RUN... --to DIR | RUN --weights FILE", Short: "Write runs as CSV files and as a trace, or a run's weights", GroupID: groupStore,
		Long: `Write steps.csv, collectives.csv, ranks.csv, gpus.csv, compare.csv and trace.json (for Perfetto or chrome://tracing)
of one or more runs into a folder.

With --weights, write the weights of a run's latest checkpoint (RUN@STEP: of that step; a folder is as good as an id) as one safetensors file with the
names of Hugging Face's LLaMA, and a config.json beside it. Factors are multiplied out; --factors keeps them.`,
		Args: cobra.MinimumNArgs(1), ValidArgsFunction: a.completeRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			if weightsTo != "" {
				return a.exportWeights(cmd.Context(), args, weightsTo, weights.ExportOptions{Factors: factors, Force: force})
			}
			if to == "" {
				return usagef("export needs --to DIR, the folder to write into")
			}
			dirs, err := a.dirs(args)
			if err != nil {
				return err
			}
			if err := outsideRuns(to); err != nil {
				return usage(err)
			}
			good, bad := compare.Readable(dirs)
			if len(good) == 0 {
				return bad
			}
			files, err := export.Export(cmd.Context(), good, to, force)
			if errors.Is(err, export.ErrExists) {
				return usage(err)
			}
			if err != nil {
				return errors.Join(err, bad)
			}
			if a.json {
				return errors.Join(a.printJSON(exported{files}), bad)
			}
			return errors.Join(a.print("%s\n", strings.Join(files, "\n")), bad)
		},
	}
	cmd.Flags().StringVar(&to, "to", "", "`DIR` to write into; made when it is not there")
	cmd.Flags().StringVar(&weightsTo, "weights", "", "safetensors `FILE` to write the weights to")
	cmd.Flags().BoolVar(&factors, "factors", false, "with --weights: keep factors as they are")
	cmd.MarkFlagsMutuallyExclusive("to", "weights")
	cmd.Flags().BoolVar(&force, "force", false, "replace files that are there")
	return cmd
}

// exportWeights writes the weights of one run.
func (a *app) exportWeights(ctx context.Context, args []string, path string, o weights.ExportOptions) error {
	if len(args) > 1 {
		return usagef("export --weights writes the weights of one run, and %d are named", len(args))
	}
	if err := outsideRuns(filepath.Dir(path)); err != nil {
		return usage(err)
	}
	dir, _, err := a.checks().findCheckpoint(args[0])
	if err != nil {
		return usage(err)
	}
	c, err := weights.OpenCheckpoint(dir)
	if err != nil {
		return err
	}
	defer c.Close()
	files, err := weights.Export(ctx, c, path, o)
	if errors.Is(err, weights.ErrExists) || errors.Is(err, weights.ErrNotDense) {
		return usage(err)
	}
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(exported{files})
	}
	return a.print("%s\n", strings.Join(files, "\n"))
}

// outsideRuns refuses a folder that is a run's, or lies in one: what is in there is the run's record alone.
func outsideRuns(to string) error {
	path, err := filepath.Abs(to)
	if err != nil {
		return err
	}
	if real, err := filepath.EvalSymlinks(path); err == nil {
		path = real
	}
	for ; path != filepath.Dir(path); path = filepath.Dir(path) {
		if _, err := os.Lstat(filepath.Join(path, protocol.RunFile)); err == nil {
			return fmt.Errorf("--to %s lies in the folder of the run %s: choose a folder outside of runs", to, filepath.Base(path))
		}
	}
	return nil
}
