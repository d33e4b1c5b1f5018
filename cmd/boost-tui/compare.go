package main

import (
	"errors"
	"fmt"
	"os"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"

	"boost-tui/profiler/compare"
	"boost-tui/runner/protocol"
)

func newCompare(a *app) *cobra.Command {
	var o compare.Options
	var form string
	cmd := &cobra.Command{
		Use: "compare RUN...", Short: "Put runs side by side, with speed-ups and what they are worth", GroupID: groupWork,
		Long: `Put runs side by side: step time with its interval, breakdown, bytes, speed-ups against full-rank and vanilla.
A run is an id, its beginning or last part, or the path of a run's folder. Runs that differ in more than variant,
scheme, norm, grouping, recomputation or rank are marked.`,
		Args: cobra.MinimumNArgs(1), ValidArgsFunction: a.completeRuns,
		RunE: func(cmd *cobra.Command, args []string) error {
			print, ok := map[string]func(compare.Table) error{"table": a.printTable, "csv": a.printCSV, "markdown": a.printMarkdown,
				"json": func(t compare.Table) error { return a.printJSON(t) }}[form]
			if !ok {
				return usagef("--format %s: want table, csv, json or markdown", form)
			}
			if a.json {
				print = func(t compare.Table) error { return a.printJSON(t) }
			}
			dirs, err := a.dirs(args)
			if err != nil {
				return err
			}
			for _, ref := range []*string{&o.Baseline, &o.Vanilla} {
				if *ref == "" {
					continue
				}
				found, err := a.dirs([]string{*ref})
				if err != nil {
					return err
				}
				*ref = found[0]
				dirs = append(dirs, found[0]) // a run that is named twice counts once
			}
			good, bad := compare.Readable(dirs)
			if len(good) == 0 {
				return bad
			}
			t, err := compare.CompareContext(cmd.Context(), good, o)
			if err != nil {
				return errors.Join(err, bad)
			}
			return errors.Join(print(t), bad)
		},
	}
	cmd.Flags().StringVar(&o.Baseline, "baseline", "", "`RUN` that the others are compared with (default the full-rank one)")
	cmd.Flags().StringVar(&o.Vanilla, "vanilla", "", "`RUN` of the second column of speed-ups (default the vanilla one)")
	cmd.Flags().StringVar(&form, "format", "table", "table, csv, json or markdown")
	return cmd
}

// dirs finds the folders of runs that the user named by id or path.
func (a *app) dirs(args []string) ([]string, error) {
	s, err := a.store()
	if err != nil {
		return nil, err
	}
	var dirs []string
	for _, arg := range args {
		if _, err := os.Stat(filepath.Join(arg, protocol.RunFile)); err == nil {
			dirs = append(dirs, arg)
			continue
		}
		id, err := s.Find(arg)
		if err != nil {
			return nil, usage(err)
		}
		dirs = append(dirs, s.Dir(id))
	}
	return dirs, nil
}

func (a *app) printTable(t compare.Table) error {
	return a.print("%s\n", strings.TrimRight(t.Text(), "\n"))
}

func (a *app) printMarkdown(t compare.Table) error { return a.print("%s", t.Markdown()) }

func (a *app) printCSV(t compare.Table) error {
	data, err := t.CSV()
	if err != nil {
		return fmt.Errorf("write the comparison as CSV: %w", err)
	}
	return a.print("%s", data)
}
