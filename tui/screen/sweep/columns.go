package sweep

import (
	"boost-tui/sweeps/results"
	"boost-tui/tui/layout"
	widget "boost-tui/tui/widget/table"
)

// own are the columns that every table has for the experiment.
var own = []widget.Column{{ID: "variant", Title: "variant", Width: 7, Drop: 12}, {ID: "scheme", Title: "scheme", Width: 9, Drop: 3},
	{ID: "tp", Title: "tp", Width: 2, Right: true, Drop: 4}, {ID: "rank", Title: "r", Width: 4, Right: true, Drop: 5}}

// figures are the columns behind those of the axes.
var figures = []widget.Column{
	{ID: results.StepTime, Title: "step ms", Width: 7, Right: true}, {ID: "ci", Title: "95 % interval", Width: 14, Drop: 14},
	{ID: results.VsFull, Title: "vs full", Width: 8, Right: true}, {ID: results.VsVanilla, Title: "vs van", Width: 8, Right: true, Drop: 1},
	{ID: "tokens_per_second", Title: "tok/s", Width: 7, Right: true, Drop: 9}, {ID: "loss_last", Title: "loss", Width: 6, Right: true, Drop: 6},
	{ID: results.PeakMemory, Title: "mem MiB", Width: 7, Right: true, Drop: 7}, {ID: "comm_bytes_per_step", Title: "comm MiB", Width: 8, Right: true, Drop: 8},
	{ID: "comm_exposed", Title: "exposed", Width: 7, Right: true, Drop: 11}, {ID: "state", Title: "state", Width: 9, Drop: 10},
}

// resultColumns are the columns of a table: its axes among those that every
// experiment has, then the figures.
func resultColumns(t *results.Table) []widget.Column {
	out := []widget.Column{{ID: "run", Title: "run", Width: 5}, {ID: "marks", Title: "", Width: 2}}
	on := map[string]bool{}
	for _, a := range t.Axes {
		on[a] = true
	}
	for _, c := range own {
		if on[c.ID] {
			c.Drop = 0
		}
		out = append(out, c)
		delete(on, c.ID)
	}
	for _, a := range t.Axes {
		if !on[a] {
			continue
		}
		width := 4
		for _, r := range t.Rows[:min(len(t.Rows), rowsShown)] {
			if v, ok := r.Field(a); ok {
				width = max(width, layout.Width(layout.Clean(v.Text)))
			}
		}
		out = append(out, widget.Column{ID: a, Title: layout.Clean(a), Width: min(width, 16), Right: numeric(t, a), Drop: 2})
	}
	return append(out, figures...)
}

func numeric(t *results.Table, field string) bool {
	for _, r := range t.Rows {
		if v, ok := r.Field(field); ok && v.Text != "" {
			return v.IsNum
		}
	}
	return false
}
