package results

import (
	"encoding/csv"
	"errors"
	"fmt"
	"io"
	"math"
	"strconv"

	"boost-tui/runner"
)

// csvColumn is a column of the CSV file.
type csvColumn struct {
	name string
	of   func(*Row) string
}

// CSV writes one row for each run, in the table's order, whatever became of it (the column state says), with every axis
// and every metric a column. A point that needed several attempts has a row for each that became a run, one after
// another; counts says which is the one that tables and speed-ups are about. Points that were never begun and pruned
// points have no run and no row. Lines end as RFC 4180 wants. Seconds, bytes, and empty for what is unknown or means
// nothing.
func (t *Table) CSV(w io.Writer) error {
	counts := false // the row that is written
	columns := t.csvColumns(func(*Row) string { return onOff(counts) })
	out := csv.NewWriter(w)
	out.UseCRLF = true
	record := make([]string, len(columns))
	for i, c := range columns {
		record[i] = c.name
	}
	err := out.Write(record)
	write := func(r *Row) {
		for i, c := range columns {
			record[i] = runner.Clean(c.of(r)) // foreign text, which may go to a terminal
		}
		if err == nil {
			err = out.Write(record)
		}
	}
	for _, r := range t.Rows {
		counts = false
		for _, e := range r.Earlier {
			if e.Run != "" {
				write(e)
			}
		}
		counts = true
		if r.Run != "" {
			write(r)
		}
	}
	out.Flush()
	if err = errors.Join(err, out.Error()); err != nil {
		return fmt.Errorf("write the sweep as CSV: %w", err)
	}
	return nil
}

func (t *Table) csvColumns(counts func(*Row) string) []csvColumn {
	field := func(name string) csvColumn {
		return csvColumn{name, func(r *Row) string { v, _ := r.Field(name); return v.Text }}
	}
	var out []csvColumn
	seen := map[string]bool{}
	add := func(c csvColumn) {
		if !seen[c.name] {
			seen[c.name] = true
			out = append(out, c)
		}
	}
	named := func(name string, of func(*Row) string) { add(csvColumn{name, of}) }
	add(field(fieldRun))
	add(field(fieldPoint))
	add(csvColumn{"attempt", func(r *Row) string { return strconv.Itoa(r.Attempt) }})
	add(csvColumn{"counts", counts})
	for _, a := range t.Axes {
		add(field(a))
	}
	for _, k := range always {
		add(field(k))
	}
	for _, n := range []string{fieldState, fieldPartial, fieldUnfinished, fieldOverlapped, fieldLink, fieldEmulator, fieldCause, fieldTwin} {
		add(field(n))
	}
	add(csvColumn{"ranks", func(r *Row) string { return strconv.Itoa(r.Ranks) }})
	add(csvColumn{"steps_planned", func(r *Row) string { return strconv.Itoa(r.Steps) }})
	for _, m := range metrics {
		add(field(m.Name))
		switch m.Name {
		case StepTime:
			add(csvColumn{"ci_lo", func(r *Row) string { return end(r.Figures.StepTimeCI, 0) }})
			add(csvColumn{"ci_hi", func(r *Row) string { return end(r.Figures.StepTimeCI, 1) }})
		case VsFull:
			versusColumns(m.Name, func(r *Row) *Versus { return r.VsFull }, named)
		case VsVanilla:
			versusColumns(m.Name, func(r *Row) *Versus { return r.VsVanilla }, named)
		}
	}
	return out
}

// versusColumns are those beside a ratio.
func versusColumns[T any](name string, of func(T) *Versus, add func(string, func(T) string)) {
	say := func(suffix string, text func(*Versus) string) {
		add(name+suffix, func(r T) string {
			if v := of(r); v != nil {
				return text(v)
			}
			return ""
		})
	}
	say("_ci_lo", func(v *Versus) string { return end(v.CI, 0) })
	say("_ci_hi", func(v *Versus) string { return end(v.CI, 1) })
	say("_p", func(v *Versus) string {
		if v.P == nil {
			return ""
		}
		return float(*v.P)
	})
	say("_verdict", func(v *Versus) string { return v.Verdict })
	say("_run", func(v *Versus) string { return v.Run })
	say("_comparable", func(v *Versus) string { return strconv.FormatBool(v.Comparable) })
	say("_partial", func(v *Versus) string { return strconv.FormatBool(v.Partial) })
	say("_unfinished", func(v *Versus) string { return strconv.FormatBool(v.Unfinished) })
	say("_overlapped", func(v *Versus) string { return strconv.FormatBool(v.Overlapped) })
	say("_pooled", func(v *Versus) string { return strconv.Itoa(v.Pooled[1]) })
	say("_pooled_twins", func(v *Versus) string { return strconv.Itoa(v.Pooled[0]) })
}

func end(ci []float64, i int) string {
	if len(ci) != 2 {
		return ""
	}
	return float(ci[i])
}

// float is the shortest text that reads back; whole numbers, such as bytes, are written out.
func float(v float64) string {
	const exact = 1 << 53
	if v == math.Trunc(v) && math.Abs(v) < exact {
		return strconv.FormatFloat(v, 'f', 0, 64)
	}
	return strconv.FormatFloat(v, 'g', -1, 64)
}

// marked is a speed-up as tables show it.
func (r *Row) marked(v *Versus) string { return v.text(v != nil && v.Run == r.Run) }

// text is a speed-up with its marks: ≠ what cannot be compared, ! what another run disturbed, ~ no significant difference,
// … what has not done all of its work. itself: it is a run's over the same run.
func (v *Versus) text(itself bool) string {
	if v == nil {
		return unknown
	}
	s := v.Speedup.String()
	if itself {
		return s
	}
	if !v.Comparable {
		s = "≠ " + s
	}
	return v.Marks.On(s)
}

// itself reports whether a speed-up of several rows is that of runs over the same runs.
func (v *Versus) itself() bool {
	return v != nil && v.P == nil && v.Ratio == 1 && len(v.CI) == 2 && v.CI[0] == 1 && v.CI[1] == 1
}
