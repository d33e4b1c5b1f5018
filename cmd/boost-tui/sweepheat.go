package main

import (
	"bytes"
	"fmt"
	"text/tabwriter"

	"boost-tui/runner"
	"boost-tui/sweeps/results"
)

// heatText draws a heat map: a line for each value of y.
func heatText(out *bytes.Buffer, h *results.Heat) error {
	m, err := results.MetricOf(h.Metric)
	if err != nil {
		return err
	}
	fmt.Fprintf(out, "%s, %s\n", m.Title, h.Combined)
	w := tabwriter.NewWriter(out, 0, 0, 2, ' ', 0)
	fmt.Fprintf(w, "%s \\ %s", h.Y, h.X)
	for _, x := range h.XValues {
		fmt.Fprintf(w, "\t%s", orDash(x))
	}
	fmt.Fprintln(w)
	for i, line := range h.Cells {
		fmt.Fprint(w, orDash(h.YValues[i]))
		for _, c := range line {
			fmt.Fprintf(w, "\t%s", cellText(m, c))
		}
		fmt.Fprintln(w)
	}
	if err := w.Flush(); err != nil {
		return err
	}
	for _, note := range h.Notes() {
		fmt.Fprintln(out, note)
	}
	return nil
}

// cellText is the value of a cell, or why it has none.
func cellText(m results.Metric, c results.Cell) string {
	switch {
	case c.State == results.CellNone:
		return "."
	case c.State != results.CellMeasured:
		return string(c.State)
	}
	return c.Marks.On(m.Show(c.Value))
}

func orDash(text string) string {
	if text == "" {
		return "-"
	}
	return runner.Clean(text)
}
