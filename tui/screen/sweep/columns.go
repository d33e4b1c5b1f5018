package sweep

import (
	"slices"

	"boost-tui/sweeps/results"
	"boost-tui/tui/layout"
	widget "boost-tui/tui/widget/table"
)

// In a narrow table columns give way in this order, the largest first: what
// tells points apart and what the Pareto front is made of stay longest.
const (
	dropVsFull = 1 + iota
	dropApart  // a key in which points differ
	dropMarks
	dropFront
	dropVsVanilla
	dropLoss
	dropRest // and on
)

// keyColumns are those that every table has for the experiment.
var keyColumns = []widget.Column{{ID: "variant", Title: "variant", Width: 7}, {ID: "scheme", Title: "scheme", Width: 6}, {ID: "tp", Title: "tp", Width: 2, Right: true}, {ID: "rank", Title: "r", Width: 1, Right: true}}

// figureColumns stand behind those of the keys. That of the time of a token is
// there where the front is made of it.
var figureColumns = []widget.Column{
	{ID: results.StepTime, Title: "step ms", Width: 7, Right: true}, {ID: results.TimePerToken, Title: "us/token", Width: 8, Right: true, Drop: dropFront},
	{ID: "ci", Title: "95 % interval", Width: 14, Drop: dropRest + 7},
	{ID: results.VsFull, Title: "vs full", Width: 8, Right: true, Drop: dropVsFull}, {ID: results.VsVanilla, Title: "vs van", Width: 7, Right: true, Drop: dropVsVanilla},
	{ID: results.Loss, Title: "loss20", Width: 6, Right: true, Drop: dropFront}, {ID: "loss_last", Title: "loss", Width: 6, Right: true, Drop: dropLoss},
	{ID: results.PeakMemory, Title: "mem MiB", Width: 7, Right: true, Drop: dropFront}, {ID: "comm_bytes_per_step", Title: "comm MiB", Width: 8, Right: true, Drop: dropRest + 1},
	{ID: "tokens_per_second", Title: "tok/s", Width: 7, Right: true, Drop: dropRest + 2}, {ID: "state", Title: "state", Width: 9, Drop: dropRest + 3},
	{ID: "comm_exposed", Title: "exposed", Width: 7, Right: true, Drop: dropRest + 4}, {ID: "attempts", Title: "tries", Width: 5, Right: true, Drop: dropRest + 5},
}

// resultColumns are the columns of a table: its axes among those that every
// experiment has, then the figures, those of its front among them.
func resultColumns(t *results.Table, front results.Front) []widget.Column {
	out := []widget.Column{{ID: "run", Title: "run", Width: 5}, {ID: "marks", Title: "", Width: 2, Drop: dropMarks}}
	own := map[string]bool{}
	for _, c := range keyColumns {
		out = append(out, keyColumn(t, c, layout.Width("full-rank")))
		own[c.ID] = true
	}
	for _, a := range t.Axes {
		if !own[a] {
			out = append(out, keyColumn(t, widget.Column{ID: a, Title: layout.Clean(a), Width: 4, Right: numeric(t, a)}, 16))
		}
	}
	for _, c := range figureColumns {
		if c.ID != results.TimePerToken || slices.Contains(front.Metrics, c.ID) {
			out = append(out, c)
		}
	}
	return out
}

// keyColumn makes a column as wide as its values, up to most cells. One whose
// values tell nothing apart is the first to give way.
func keyColumn(t *results.Table, c widget.Column, most int) widget.Column {
	for _, r := range t.Rows[:min(len(t.Rows), rowsShown)] {
		if v, ok := r.Field(c.ID); ok {
			c.Width = max(c.Width, min(most, layout.Width(layout.Clean(v.Text))))
		}
	}
	if c.Drop = dropRest + 6; apart(t, c.ID) {
		c.Drop, c.Keep = dropApart, true
	}
	return c
}

// apart reports whether a key tells points apart; the variant does so where
// points of one scheme differ in it.
func apart(t *results.Table, key string) bool {
	if key != "variant" {
		return several(t, key)
	}
	of := map[string]string{}
	for _, r := range t.Rows {
		if v, there := of[r.Scheme]; there && v != r.Variant {
			return true
		}
		of[r.Scheme] = r.Variant
	}
	return false
}

func numeric(t *results.Table, field string) bool {
	for _, r := range t.Rows {
		if v, ok := r.Field(field); ok && v.Text != "" {
			return v.IsNum
		}
	}
	return false
}
