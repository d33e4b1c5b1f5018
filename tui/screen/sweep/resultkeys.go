package sweep

import (
	"fmt"
	"slices"
	"strings"

	"boost-tui/experiment"
	"boost-tui/sweeps/results"
	"boost-tui/tui/format"
	"boost-tui/tui/layout"
	"boost-tui/tui/msg"
	"boost-tui/tui/pick"
	"boost-tui/tui/widget/modal"

	tea "github.com/charmbracelet/bubbletea"
)

func resultsBindings() table {
	const group = "Sweep: results"
	return table{
		bind(group, "open", "the run on screen Live", (*Model).openResult, "enter"),
		bind(group, "sort", "order by any axis or figure; again turns it around", (*Model).askSort, "o"),
		bind(group, "filter", "filter: words, scheme:btp, tp>=2, vs_full>1.5, -state:failed; esc restores", (*Model).openFilter, "/"),
		bind(group, "mark", "mark or unmark the run", (*Model).markResult, "space"),
		bind(group, "compare", "the marked runs on screen Compare; without marks, the run beside its twins", (*Model).compare, "c"),
		bind(group, "launch", "a variation of the point, on screen Launch", (*Model).launchResult, "L"),
		bind(group, "Pareto", "only the Pareto front of step time, memory and loss20, or all", (*Model).onlyFront, "p"),
		bind(group, "best", "only the fastest of each size, or all", (*Model).onlyBest, "b"),
		bind(group, "columns", "other columns of the table", (*Model).otherResultColumns, "left", "right"),
		writes(bind(group, "retry", "run again what failed, was stopped, cancelled or skipped: the point, or the marked ones", (*Model).retry, "r")),
		bind(group, "", "mark from the last mark to here", (*Model).rangeResults, "V"),
		bind(group, "", "mark all shown, or none", (*Model).allResults, "*"),
		bind(group, "", "copy the shown rows as Markdown", (*Model).copyTable, "Y"),
	}
}

// current is the row under the cursor of the results, or that of the cell under
// the cursor of the heat map.
func (m *Model) current() *results.Row {
	if m.focus == paneHeat {
		return m.cellRow()
	}
	return m.row(m.results.table.Cursor())
}

// resultPoints are the marked points, else the current one.
func (m *Model) resultPoints() []string {
	if marked := m.results.table.Marked(); len(marked) > 0 {
		return marked
	}
	if r := m.current(); r != nil {
		return []string{r.Point}
	}
	return nil
}

func (m *Model) openResult(string) tea.Cmd {
	if r := m.current(); r != nil {
		return m.live(r.Run)
	}
	return nil
}

func (m *Model) markResult(string) tea.Cmd {
	m.results.table.Toggle()
	m.held[paneResults] = true
	return nil
}
func (m *Model) rangeResults(string) tea.Cmd { m.results.table.Range(); return nil }
func (m *Model) allResults(string) tea.Cmd   { m.results.table.ToggleAll(); return nil }

func (m *Model) otherResultColumns(key string) tea.Cmd {
	t := &m.results.table
	n := t.Sheets(max(1, m.resultWidth))
	by := 1
	if key == "left" {
		by = n - 1
	}
	t.Sheet = (min(t.Sheet, n-1) + by) % n
	return nil
}

// askSort offers every field, found by typing; the present one turns around.
func (m *Model) askSort(string) tea.Cmd {
	t := m.table()
	if t == nil {
		return warn("there are no results yet")
	}
	names := append([]string{""}, t.Fields()...)
	items := make([]modal.Item, len(names))
	at := 0
	for i, name := range names {
		items[i] = modal.Item{Label: layout.Clean(name)}
		if name == "" {
			items[i].Label = "as planned"
		} else if metric, err := results.MetricOf(name); err == nil {
			items[i].Note = metric.Title
		}
		if name == m.look.Sort {
			at = i
			items[i].Note = strings.TrimSpace(items[i].Note + "  now; again turns it around")
		}
	}
	return m.open(modal.Menu{Title: "Sort by", Items: items, Find: true, At: at}, func(answer any) tea.Cmd {
		if i, ok := answer.(int); ok {
			return m.sortBy(names[i])
		}
		return nil
	})
}

// sortBy orders by a field, the best first; the present one turns around.
func (m *Model) sortBy(name string) tea.Cmd {
	if name == m.look.Sort {
		m.look.Down = !m.look.Down
	} else {
		metric, err := results.MetricOf(name)
		m.look.Sort, m.look.Down = name, err == nil && metric.Higher
	}
	return m.relook()
}

func (m *Model) onlyFront(string) tea.Cmd { return m.reduce(onlyFront) }
func (m *Model) onlyBest(string) tea.Cmd  { return m.reduce(onlyBest) }

func (m *Model) reduce(to string) tea.Cmd {
	if m.look.Only == to {
		to = ""
	}
	m.look.Only = to
	return m.relook()
}

// compare shows the marked runs on Compare, else the current one with its twins.
func (m *Model) compare(string) tea.Cmd {
	var ids []string
	add := func(run string) {
		if run != "" && !slices.Contains(ids, run) {
			ids = append(ids, run)
		}
	}
	for _, point := range m.results.table.Marked() {
		if r := m.row(point); r != nil {
			add(r.Run)
		}
	}
	if len(ids) == 0 {
		if r := m.current(); r != nil {
			for _, v := range []*results.Versus{r.VsFull, r.VsVanilla} {
				if v != nil {
					add(v.Run)
				}
			}
			add(r.Run)
		}
	}
	if len(ids) < 2 {
		return warn("mark two or more runs with space, then c compares them")
	}
	return msg.Send(msg.CompareRuns{IDs: ids})
}

func (m *Model) launchResult(string) tea.Cmd {
	if r := m.current(); r != nil {
		return launch(r.Experiment)
	}
	return nil
}

func (m *Model) launchPoint(string) tea.Cmd {
	p := m.shown.point(m.queue.Cursor())
	if p == nil {
		return nil
	}
	e, err := p.Experiment(m.shown.state().Base)
	if err != nil {
		return warn(err.Error())
	}
	return launch(e)
}

func launch(e experiment.Experiment) tea.Cmd {
	return msg.Send(msg.EditExperiment{Experiment: e})
}

// copyTable copies the shown rows as Markdown.
func (m *Model) copyTable(string) tea.Cmd {
	t := m.table()
	if t == nil {
		return warn("there are no results yet")
	}
	shown := *t
	shown.Rows = m.seen.rows
	var b strings.Builder
	if err := shown.Markdown(&b); err != nil {
		return warn(err.Error())
	}
	return msg.Send(msg.Copy{Text: b.String(), What: format.Many(len(shown.Rows), "row") + " as Markdown"})
}

// resultInfo tells everything about the current row.
func (m *Model) resultInfo() tea.Cmd {
	r := m.current()
	if r == nil {
		if m.focus == paneHeat {
			return text("Cell", m.cellReport())
		}
		return nil
	}
	lines := []string{layout.Clean(r.Label), "", fmt.Sprintf("run %s  %s", layout.Clean(r.Run), r.Status)}
	if r.Cause != "" {
		lines = append(lines, layout.Clean(r.Cause))
	}
	if r.Err != nil {
		lines = append(lines, layout.Clean(r.Err.Error()))
	}
	lines = append(lines, "")
	for _, metric := range results.Metrics() {
		if v, ok := metric.Of(r); ok {
			lines = append(lines, fmt.Sprintf("%-24s %-14s %s", metric.Name, metric.Show(v), metric.Title))
		}
	}
	lines = append(lines, versusLines(r.VsFull, "full-rank")...)
	lines = append(lines, versusLines(r.VsVanilla, "vanilla")...)
	for _, id := range r.Overlapped {
		lines = append(lines, "! "+pick.Short(id)+" ran beside it on the machine: both were slowed, no verdict")
	}
	if m.focus == paneHeat {
		lines = append(m.cellReport(), append([]string{""}, lines...)...)
	}
	return text("Run of a sweep", lines)
}

// versusLines say what a speed-up rests on.
func versusLines(v *results.Versus, name string) []string {
	if v == nil {
		return nil
	}
	line := fmt.Sprintf("against %s %s: %s", name, pick.Short(v.Run), format.Ratio(v.Ratio, "x"))
	if len(v.CI) == 2 {
		line += fmt.Sprintf(" [%.3f, %.3f]", v.CI[0], v.CI[1])
	}
	switch {
	case v.Verdict == "~":
		line += ", no difference that the test finds"
	case v.Verdict != "":
		line += ", " + v.Verdict
	case !v.Comparable:
		line += ", not comparable: " + layout.Clean(strings.Join(v.Differs, ", "))
	case v.Partial:
		line += ", no verdict before both have ended"
	default:
		line += ", no verdict: too few steps, or another run beside it"
	}
	return []string{"", line}
}
