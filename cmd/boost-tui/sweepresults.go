package main

import (
	"bytes"
	"errors"
	"fmt"
	"io"
	"io/fs"
	"path/filepath"
	"strings"

	"github.com/spf13/cobra"
	"golang.org/x/term"

	"boost-tui/runner/protocol"
	"boost-tui/sweeps/results"
)

// resultFlags say which part of a sweep's results is wanted, and in which form.
type resultFlags struct {
	sort, heat, metric, to string
	by                     string
	filter                 []string
	reverse, pareto, best  bool
	csv, markdown, force   bool
}

func newSweepResults(a *app) *cobra.Command {
	var f resultFlags
	cmd := &cobra.Command{
		Use: "results [ID]", Short: "Print the table of a sweep", Args: cobra.MaximumNArgs(1), ValidArgsFunction: a.completeSweeps,
		Long: `Print a row for each point of a sweep (the latest, where none is named): its axes, its state, step time with its interval,
speed-ups over its own full-rank and vanilla twins, loss, memory, bytes. It can be asked for while the sweep runs.`,
		Example: "  boost-tui sweep results --sort vs_full\n  boost-tui sweep results --filter scheme=btp --heat tp,rank --metric vs_full\n  boost-tui sweep results --by configuration\n  boost-tui sweep results --csv --to sweep.csv",
		RunE: func(cmd *cobra.Command, args []string) error {
			if err := f.wrong(a.json); err != nil {
				return usage(err)
			}
			s, _, st, err := a.loadSweep(cmd.Context(), args)
			if err != nil {
				return err
			}
			t, err := results.Measure(cmd.Context(), s, st, results.NewCache())
			if err != nil {
				return err
			}
			if t, err = f.part(t); err != nil {
				return usage(err)
			}
			return a.printResults(t, f)
		},
	}
	flags := cmd.Flags()
	flags.SortFlags = false
	flags.StringVar(&f.sort, "sort", "", "`COLUMN` to sort by, the best first: an axis or key, "+results.StepTime+", "+results.VsFull+", …, or as the table heads it; an unknown one lists them")
	flags.BoolVar(&f.reverse, "reverse", false, "sort the other way round")
	flags.StringArrayVar(&f.filter, "filter", nil, "only rows that meet this `LINE`, as behind / on the screen, repeatable: btp tp>=2, scheme!=vanilla, vs_full>1.2, -state:failed")
	flags.BoolVar(&f.pareto, "pareto", false, "only points that no other beats in step time, memory and loss at once")
	flags.BoolVar(&f.best, "best", false, "only what stands out of each size: the fastest, the lowest loss, the least memory")
	flags.StringVar(&f.by, "by", byPoint, "a row for each `WHAT`: "+byPoint+", or "+byConfiguration+" (the medians of its repeats, their spread, and the speed-up that they share)")
	flags.StringVar(&f.heat, "heat", "", "lay a metric over two axes: `X,Y`")
	flags.StringVar(&f.metric, "metric", results.StepTime, "`COLUMN` of the heat map, by its name or as the table heads it")
	flags.BoolVar(&f.csv, "csv", false, "one row per run, every axis and metric a column")
	flags.BoolVar(&f.markdown, "markdown", false, "a table in Markdown")
	flags.StringVar(&f.to, "to", "", "write into this `FILE` and print its name")
	flags.BoolVar(&f.force, "force", false, "replace the file where it is there")
	return cmd
}

// wrong names what does not go together.
func (f resultFlags) wrong(asJSON bool) error {
	var errs []error
	bad := func(wrong bool, text string) {
		if wrong {
			errs = append(errs, errors.New(text))
		}
	}
	bad(f.csv && f.markdown || f.csv && asJSON || f.markdown && asJSON, "--csv, --markdown and --json are different forms: use one of them")
	bad(f.heat != "" && (f.csv || f.markdown), "a heat map is text, or --json: leave out --csv and --markdown")
	bad(f.heat != "" && strings.Count(f.heat, ",") != 1, fmt.Sprintf("--heat %q: want two axes, as in --heat tp,rank", f.heat))
	bad(f.by != byPoint && f.by != byConfiguration, fmt.Sprintf("--by %q: want %s or %s", f.by, byPoint, byConfiguration))
	bad(f.by == byConfiguration && f.heat != "", "a heat map puts repeats together by itself: leave out --by")
	bad(f.metric != results.StepTime && f.heat == "", "--metric says what a heat map shows: add --heat X,Y")
	bad(f.reverse && f.sort == "", "--reverse is for --sort COLUMN")
	bad(f.force && f.to == "", "--force is for --to FILE")
	for _, text := range f.filter {
		if _, err := (&results.Table{}).Where(text); err != nil { // fields do not depend on the sweep
			errs = append(errs, fmt.Errorf("--filter %q: %w", text, err))
		}
	}
	return errors.Join(errs...)
}

// What a row is for --by.
const (
	byPoint         = "point"
	byConfiguration = "configuration"
)

// part is what of the table was asked for.
func (f resultFlags) part(t *results.Table) (*results.Table, error) {
	for _, text := range f.filter {
		keep, err := t.Where(text)
		if err != nil {
			return nil, fmt.Errorf("--filter %q: %w", text, err)
		}
		t = t.Filter(keep)
	}
	if f.pareto {
		t = rows(t, t.Pareto().Points)
	}
	if f.best {
		var keep []int
		for _, b := range t.BestPerSize() {
			for _, i := range []int{b.Fastest, b.LowestLoss, b.LeastMemory} {
				if i >= 0 && f.by == byConfiguration {
					keep = append(keep, t.Repeats(i)...)
				} else if i >= 0 {
					keep = append(keep, i)
				}
			}
		}
		t = rows(t, keep)
	}
	if f.sort != "" && f.by != byConfiguration {
		if err := t.Sort(f.sort, f.falling()); err != nil {
			return nil, fmt.Errorf("--%w", err)
		}
	}
	return t, nil
}

// falling reports whether the best of what is sorted by are the highest, or the lowest where the order is reversed.
func (f resultFlags) falling() bool {
	m, err := results.MetricOf(f.sort)
	return err == nil && m.Higher != f.reverse || err != nil && f.reverse
}

// rows is the table with these of its rows alone.
func rows(t *results.Table, keep []int) *results.Table {
	kept := map[*results.Row]bool{}
	for _, i := range keep {
		kept[t.Rows[i]] = true
	}
	return t.Filter(func(r *results.Row) bool { return kept[r] })
}

// printResults prints the table in the form that was asked for, or writes it into a file.
func (a *app) printResults(t *results.Table, f resultFlags) error {
	text, err := a.resultText(t, f)
	switch {
	case err != nil:
		return err
	case f.to != "":
		return a.toFile(f.to, text, f.force)
	}
	if _, err := a.out.Write(text); err != nil {
		return fmt.Errorf("write to stdout: %w", err)
	}
	return nil
}

// resultText is the table in the form that was asked for.
func (a *app) resultText(t *results.Table, f resultFlags) ([]byte, error) {
	var text bytes.Buffer
	switch {
	case f.heat != "":
		x, y, _ := strings.Cut(f.heat, ",")
		h, err := t.Heat(x, y, f.metric)
		if err != nil {
			return nil, usage(err)
		}
		if a.json {
			return jsonText(h)
		}
		err = heatText(&text, h)
		return text.Bytes(), err
	case f.by == byConfiguration:
		c := t.Configurations()
		if f.sort != "" {
			if err := c.Sort(f.sort, f.falling()); err != nil {
				return nil, usage(fmt.Errorf("--%w", err))
			}
		}
		return a.tableText(c, f)
	}
	return a.tableText(t, f)
}

// written is a table in all its forms.
type written interface {
	CSV(io.Writer) error
	Markdown(io.Writer) error
	Text(w io.Writer, width int) error
}

func (a *app) tableText(t written, f resultFlags) ([]byte, error) {
	var text bytes.Buffer
	var err error
	switch {
	case a.json:
		return jsonText(t)
	case f.csv:
		err = t.CSV(&text)
	case f.markdown:
		err = t.Markdown(&text)
	default:
		err = t.Text(&text, a.width())
	}
	return text.Bytes(), err
}

// printSweepTable is what a sweep ends with.
func (a *app) printSweepTable(t *results.Table) error { return a.printResults(t, resultFlags{}) }

// width is that of the terminal on stdout; 0 where there is none.
func (a *app) width() int {
	if p, ok := a.out.(*pipe); ok && isTerminal(p) {
		if w, _, err := term.GetSize(int(p.Fd())); err == nil {
			return w
		}
	}
	return 0
}

// toFile writes a file that is not there yet, or with force replaces it.
func (a *app) toFile(path string, data []byte, force bool) error {
	write := protocol.WriteNew
	if force {
		write = protocol.WriteFile
	}
	if err := outsideRuns(filepath.Dir(path)); err != nil {
		return usage(err)
	}
	err := write(path, data)
	if errors.Is(err, fs.ErrExist) {
		return usagef("%s is there already: --force replaces it", path)
	}
	if errors.Is(err, fs.ErrNotExist) {
		return usagef("--to %s: there is no folder %s", path, filepath.Dir(path))
	}
	if err != nil {
		return err
	}
	if a.json {
		return a.printJSON(exported{[]string{path}})
	}
	return a.print("%s\n", path)
}
