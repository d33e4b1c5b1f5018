package main

import (
	"bytes"
	"strings"
	"testing"

	"boost-tui/sweeps/results"
)

// A heat map shows the marks of its cells, and says below what they mean.
func TestHeatTextShowsMarks(t *testing.T) {
	cell := func(v float64, k results.Marks) results.Cell {
		return results.Cell{State: results.CellMeasured, Value: v, Points: 1, Marks: k}
	}
	h := &results.Heat{X: "tp", Y: "rank", Metric: results.StepTime, XValues: []string{"1", "2"}, YValues: []string{"32", ""}, Combined: "one point in a cell", Cells: [][]results.Cell{
		{cell(0.01, results.Marks{}), cell(0.02, results.Marks{Partial: true, Unfinished: true})},
		{cell(0.03, results.Marks{Overlapped: true}), {State: results.CellQueued}},
	}}
	var b bytes.Buffer
	if err := heatText(&b, h); err != nil {
		t.Fatal(err)
	}
	want := "step ms, one point in a cell\n" +
		"rank \\ tp  1        2\n" +
		"32         10.00    20.00 …\n" +
		"-          ! 30.00  queued\n" +
		strings.Join(h.Notes(), "\n") + "\n"
	if b.String() != want || len(h.Notes()) != 2 {
		t.Errorf("%s\nwant\n%s", b.String(), want)
	}
}
