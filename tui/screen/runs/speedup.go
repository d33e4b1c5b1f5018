package runs

import (
	"context"
	"fmt"

	"boost-tui/profiler/compare"
	"boost-tui/runner"
	"boost-tui/tui/pick"
	"boost-tui/tui/theme"
	"boost-tui/tui/widget/table"

	tea "github.com/charmbracelet/bubbletea"
)

// speedup is how a run stands to the baseline, as profiler/compare says it; row is nil where it says nothing.
type speedup struct {
	state string
	row   *compare.Row
}

// compared is the answer of profiler/compare for one run.
type compared struct {
	baseline, id string
	speedup
}

// readSpeedups compares one more of the visible runs with the baseline. One at a time: its message asks for the next.
func (m *Model) readSpeedups() tea.Cmd {
	base, ok := m.find(m.refs.Baseline)
	if !m.visible || m.env.Compare == nil || !ok || !base.State.Over() {
		return nil
	}
	for _, r := range m.nearby() {
		if old, seen := m.speedups[r.ID]; r.Err != nil || !r.State.Over() || r.ID == base.ID || seen && old.state == string(r.State) {
			continue
		}
		out := compared{baseline: base.ID, id: r.ID, speedup: speedup{state: string(r.State)}}
		m.speedups[r.ID] = out.speedup // noted at once, so that nobody asks for it again meanwhile
		dirs, id, read := []string{base.Dir, r.Dir}, r.ID, m.env.Compare
		return func() tea.Msg {
			ctx, stop := context.WithTimeout(context.Background(), measureDeadline)
			defer stop()
			if t, err := read(ctx, dirs, compare.Options{Baseline: base.ID}); err == nil {
				for i := range t.Rows {
					if t.Rows[i].ID == id {
						out.row = &t.Rows[i]
					}
				}
			}
			return out
		}
	}
	return nil
}

func (m *Model) find(id string) (run, bool) {
	if id == "" {
		return run{}, false
	}
	for _, r := range m.all {
		if r.ID == id {
			return r, true
		}
	}
	return run{}, false
}

// nearby are the run under the cursor, then those that may be on the screen.
func (m *Model) nearby() []run {
	at := m.at[m.table.Cursor()]
	near := append([]run{}, m.shown[max(0, at-m.table.Page()):min(len(m.shown), at+m.table.Page())]...)
	if r, ok := m.Selected(); ok {
		near = append([]run{r}, near...)
	}
	return near
}

// speedupHead is the column's title, "" while there is no baseline.
func (m *Model) speedupHead() string {
	base, ok := m.find(m.refs.Baseline)
	if !ok {
		return ""
	}
	return "vs " + pick.Head(pick.Baseline, string(base.Run.Experiment.Parallel.Scheme))
}

// speedupCell is a run's speed-up: a sign where the two are not comparable, dim where no verdict can be given.
func (m *Model) speedupCell(t theme.Theme, r run) table.Cell {
	row := m.speedups[r.ID].row
	switch {
	case r.ID == m.refs.Baseline && r.State == runner.Finished:
		return table.Cell{Text: "1.00" + t.Glyphs.Times}
	case row == nil || row.VsFull == nil:
		return table.Cell{Text: t.Glyphs.Dash}
	case !row.Comparable:
		return table.Cell{Text: t.Glyphs.Differs, Style: t.Warn}
	}
	cell := table.Cell{Text: fmt.Sprintf("%.2f%s", row.VsFull.Ratio, t.Glyphs.Times)}
	switch row.VsFull.Verdict {
	case "":
		cell.Text, cell.Style = "("+cell.Text+")", t.Dim
	case "~":
		cell.Text = "~" + cell.Text
	}
	return cell
}
