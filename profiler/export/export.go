// Package export writes runs as files for other tools: CSVs with PROFILING.md §6's columns, and a
// Chrome trace of the sampled steps.
//
// Times are in the units that the columns name; what is not known is left empty, never 0.
// pcie_tx_b and pcie_rx_b are bytes per second, nvlink_tx_b and nvlink_rx_b are cumulative; a rank on
// CPUs is a device too, whose util_pct is its share of the cores it may use.
//
// Start reading at Export.
package export

import (
	"bufio"
	"context"
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"os"
	"path/filepath"
	"strconv"
	"strings"

	"boost-tui/internal/regular"
	"boost-tui/profiler/compare"
	"boost-tui/profiler/record"
)

// Names of the files, in the order in which they are written.
const (
	StepsCSV       = "steps.csv"
	CollectivesCSV = "collectives.csv"
	RanksCSV       = "ranks.csv"
	GPUsCSV        = "gpus.csv"
	CompareCSV     = "compare.csv"
	TraceJSON      = "trace.json"
)

// ErrExists is wrapped when a file is there already and may not be replaced.
var ErrExists = errors.New("is there already")

// Export writes the runs in dirs to files in the folder to, which it makes, and returns their paths.
// Files that are there are replaced with force alone. All are written aside first and get their
// names together at the end: a failed export leaves none behind.
func Export(ctx context.Context, dirs []string, to string, force bool) ([]string, error) {
	runs, err := open(dirs)
	if err != nil {
		return nil, err
	}
	if err := os.MkdirAll(to, 0o755); err != nil {
		return nil, fmt.Errorf("make %s: %w", to, explain(err))
	}
	parts := []struct {
		name  string
		write func(context.Context, io.Writer, []*run) error
	}{
		{StepsCSV, writeSteps}, {CollectivesCSV, writeCollectives}, {RanksCSV, writeRanks}, {GPUsCSV, writeGPUs},
		{CompareCSV, writeCompare}, {TraceJSON, writeTrace},
	}
	var files []string
	for _, p := range parts {
		files = append(files, filepath.Join(to, p.name))
	}
	if !force {
		if err := refuse(files); err != nil {
			return nil, err
		}
	}
	var aside []string
	defer func() {
		for _, a := range aside {
			_ = os.Remove(a) // those that got their names are gone
		}
	}()
	for _, p := range parts {
		tmp, err := writeAside(to, p.name, func(w io.Writer) error { return p.write(ctx, w, runs) })
		if tmp != "" {
			aside = append(aside, tmp)
		}
		if err != nil {
			return nil, err
		}
	}
	for i, f := range files {
		if err := os.Rename(aside[i], f); err != nil {
			return nil, fmt.Errorf("rename to %s: %w", f, explain(err))
		}
	}
	return files, nil
}

func explain(err error) error {
	return record.ExplainFor(err, "write elsewhere with --to", "choose a folder that you may write with --to")
}

func refuse(files []string) error {
	var there []string
	for _, f := range files {
		if _, err := os.Lstat(f); err == nil {
			there = append(there, f)
		}
	}
	if len(there) == 0 {
		return nil
	}
	return fmt.Errorf("%s %w: choose another folder, or replace with --force", strings.Join(there, ", "), ErrExists)
}

// writeAside writes a file under a name of its own in the folder.
func writeAside(to, name string, write func(io.Writer) error) (string, error) {
	f, err := regular.Aside(to, "."+name+".")
	if err != nil {
		return "", fmt.Errorf("write %s: %w", filepath.Join(to, name), explain(err))
	}
	b := bufio.NewWriterSize(f, 1<<18)
	err = write(b)
	if err == nil {
		err = b.Flush()
	}
	err = errors.Join(err, f.Close())
	if err != nil {
		err = fmt.Errorf("write %s: %w", filepath.Join(to, name), explain(err))
	}
	return f.Name(), err
}

// run is a run to export.
type run struct {
	compare.Run
	ranks []int
	hosts map[int]string // rank → host, where health lines tell
}

func open(dirs []string) ([]*run, error) {
	if len(dirs) == 0 {
		return nil, errors.New("nothing to export: name at least one run")
	}
	var runs []*run
	for _, d := range dirs {
		info, err := compare.ReadRun(d)
		if err != nil {
			return nil, err
		}
		r := &run{Run: info, hosts: map[int]string{}}
		if r.ranks, err = record.StepRanks(d); err != nil {
			return nil, err
		}
		runs = append(runs, r)
	}
	return runs, nil
}

// perDevice is how many devices share a data-parallel rank's tokens.
func (r *run) perDevice() int64 { return int64(max(1, r.Plan.TP) * max(1, r.Plan.PP)) }

// coresPerRank is how many cores a rank may use; 0 unknown.
func (r *run) coresPerRank() float64 {
	n := len(r.ranks)
	if n == 0 || r.Cores == 0 {
		return 0
	}
	return float64(r.Cores*max(1, len(r.Hosts))) / float64(n)
}

func writeCompare(ctx context.Context, w io.Writer, runs []*run) error {
	var dirs []string
	for _, r := range runs {
		dirs = append(dirs, r.Dir)
	}
	t, err := compare.CompareContext(ctx, dirs, compare.Options{})
	if err != nil {
		return err
	}
	data, err := t.CSV()
	if err == nil {
		_, err = w.Write(data)
	}
	return err
}

// table is a CSV writer that remembers its first error.
type table struct {
	w   *csv.Writer
	row []string
}

func newTable(w io.Writer, head string) *table {
	t := &table{w: csv.NewWriter(w)}
	_ = t.w.Write(strings.Split(head, ",")) // the writer keeps the error for end
	return t
}

func (t *table) text(s ...string) *table {
	t.row = append(t.row, s...)
	return t
}

func (t *table) int(v ...int64) *table {
	for _, x := range v {
		t.row = append(t.row, strconv.FormatInt(x, 10))
	}
	return t
}

// known writes integers, empty where they are unknown.
func (t *table) known(v ...int64) *table {
	for _, x := range v {
		if x == record.Unknown {
			t.row = append(t.row, "")
			continue
		}
		t.row = append(t.row, strconv.FormatInt(x, 10))
	}
	return t
}

// seconds writes nanoseconds as seconds, exactly.
func (t *table) seconds(nanos ...int64) *table {
	for _, n := range nanos {
		if n < 0 {
			t.row = append(t.row, "")
			continue
		}
		t.row = append(t.row, fmt.Sprintf("%d.%09d", n/1e9, n%1e9))
	}
	return t
}

// float writes numbers, empty where they are none.
func (t *table) float(v ...float64) *table {
	for _, x := range v {
		if x-x != 0 { // NaN or infinite
			t.row = append(t.row, "")
			continue
		}
		t.row = append(t.row, strconv.FormatFloat(x, 'g', 9, 64))
	}
	return t
}

func (t *table) end() error {
	err := t.w.Write(t.row)
	t.row = t.row[:0]
	return err
}

func (t *table) close() error {
	t.w.Flush()
	return t.w.Error()
}
