package sweep

import (
	"boost-tui/sweeps"
	"boost-tui/sweeps/results"
	"boost-tui/tui/theme"
)

// unsure says why the figure of a heat map's cell is not its last word; "": it
// is. It is a status: that of the run which the figure is of, or of the twin it is
// held against, where that run did not finish; or queued, where more of the
// cell's runs are to come.
type unsure sweeps.Status

// unsureOf looks at every cell.
func unsureOf(g *results.Heat, t *results.Table, d *digest) [][]unsure {
	out := make([][]unsure, len(g.Cells))
	for j, line := range g.Cells {
		out[j] = make([]unsure, len(line))
		for i := range line {
			out[j][i] = unsureCell(&line[i], g.Metric, t, d)
		}
	}
	return out
}

func unsureCell(c *results.Cell, metric string, t *results.Table, d *digest) unsure {
	if c.State != results.CellMeasured || c.Row < 0 || c.Row >= len(t.Rows) {
		return ""
	}
	if s := d.restsOn(t.Rows[c.Row], metric); s != sweeps.Finished {
		return unsure(s)
	}
	if c.Partial {
		return unsure(sweeps.Running)
	}
	for _, i := range c.Rows {
		if i >= 0 && i < len(t.Rows) && !t.Rows[i].Status.Over() {
			return unsure(sweeps.Queued)
		}
	}
	return ""
}

// restsOn is the status of the run that a figure is of, or of its twin's where
// that is the one which did not finish.
func (d *digest) restsOn(r *results.Row, metric string) sweeps.Status {
	p := d.index[r.Point]
	if r.Status != sweeps.Finished || p == nil {
		return r.Status
	}
	twin := map[string]string{results.VsFull: p.Full, results.VsVanilla: p.Vanilla}[metric]
	if q := d.index[twin]; q != nil {
		return q.Status
	}
	return r.Status
}

// sign marks a figure.
func (u unsure) sign(t theme.Theme) string {
	if u == "" {
		return ""
	}
	sign, _ := statusSign(t, sweeps.Status(u))
	return sign
}

// words say what the sign means.
func (u unsure) words() string {
	switch sweeps.Status(u) {
	case "":
		return ""
	case sweeps.Running:
		return "so far: a run that it rests on goes on"
	case sweeps.Queued:
		return "so far: more of its runs are to come"
	}
	return "rests on a run that " + ended[sweeps.Status(u)] + " before its end"
}

// ended is how a run did not finish. It is never changed.
var ended = map[sweeps.Status]string{sweeps.Failed: "failed", sweeps.Stopped: "was stopped", sweeps.Cancelled: "was cancelled", sweeps.Skipped: "was skipped"}

// unsureLegend explains the signs that are in the map, the worst first.
func (s *looked) unsureLegend(t theme.Theme) []string {
	seen := map[unsure]bool{}
	for _, line := range s.unsure {
		for _, u := range line {
			seen[u] = true
		}
	}
	var out []string
	if s.overlapped() {
		out = append(out, t.Glyphs.Warn+" in front: "+overlappedWords)
	}
	for _, u := range []sweeps.Status{sweeps.Failed, sweeps.Stopped, sweeps.Cancelled, sweeps.Skipped, sweeps.Running, sweeps.Queued} {
		if u := unsure(u); seen[u] {
			out = append(out, u.sign(t)+" "+u.words())
		}
	}
	return out
}

// overlappedWords say what is the matter with a figure whose run was disturbed.
const overlappedWords = "another run was at work beside it and slowed it"

// overlapped reports whether a figure of the map was disturbed.
func (s *looked) overlapped() bool {
	for _, line := range s.grid.Cells {
		for i := range line {
			if line[i].State == results.CellMeasured && line[i].Overlapped {
				return true
			}
		}
	}
	return false
}
