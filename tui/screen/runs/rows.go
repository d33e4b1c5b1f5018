package runs

import (
	"cmp"
	"slices"
	"strconv"
	"strings"
	"time"

	"boost-tui/experiment"
	"boost-tui/internal/filter"
	"boost-tui/profiler/compare"
	"boost-tui/runner"
	"boost-tui/tui/format"
	"boost-tui/tui/layout"
	"boost-tui/tui/pick"
	"boost-tui/tui/theme"
	"boost-tui/tui/widget/table"
)

// run is a run as this screen sees it. The Info is the listing's: nobody writes to it.
type run struct {
	*runner.Info
	figures func(*runner.Info) *compare.Summary // worked out when somebody asks: there are thousands of runs
	disk    func(*runner.Info) (runner.Usage, bool)
	now     time.Time
	back    string // what a run that is over waits for to go on as another one; empty: it does not
}

// fig are the figures of the run, nil where nothing is known.
func (r run) fig() *compare.Summary {
	if r.figures == nil {
		return nil
	}
	return r.figures(r.Info)
}

var onOff = map[bool]string{true: "on", false: "off"}

// fields of the filter language.
var fields = filter.Fields{Names: []string{"id", "state", "name", "size", "variant", "scheme", "tp", "dp", "pp", "zero", "sp", "rank", "seq", "steps", "ms", "loss", "tag", "note", "where", "host", "nodes", "partition", "archived", "disk", "user", "started"}}

// Field is one value for the filter.
func (r run) Field(name string) (filter.Value, bool) {
	e := r.Run.Experiment
	switch name {
	case "id":
		return filter.Text(r.ID), true
	case "state":
		return filter.Text(string(r.State) + doneAlias(r.State)), true
	case "name":
		return filter.Text(r.Run.Name), true
	case "size":
		return filter.Text(e.Model.Size), true
	case "variant":
		return filter.Text(string(e.Model.Variant)), true
	case "scheme":
		return filter.Text(string(e.Parallel.Scheme)), true
	case "tag":
		return filter.Text(strings.Join(r.Tags, " ")), true
	case "note":
		return filter.Text(r.Note), true
	case "host": // where its ranks are; where that is not known, where it was launched
		return filter.Text(strings.Join(hostsOf(r.Info), " ")), true
	case "where":
		return filter.Text(cmp.Or(e.Where.Where, experiment.WhereLocal)), true
	case "partition":
		return filter.Text(e.Where.Partition), true
	case "archived":
		return filter.Text(onOff[r.Archived]), true
	case "sp":
		return filter.Text(onOff[e.Parallel.SP]), true
	case "user":
		return filter.Text(r.Run.User), true
	case "started":
		return filter.Age(r.Run.Created, r.now), true
	}
	return r.number(name)
}

func (r run) number(name string) (filter.Value, bool) {
	e := r.Run.Experiment
	switch name {
	case "tp":
		return filter.Number(float64(e.Parallel.TP)), true
	case "dp":
		return filter.Number(float64(max(1, e.Parallel.DP))), true
	case "pp":
		return filter.Number(float64(max(1, e.Parallel.PP))), true
	case "zero":
		return filter.Number(float64(e.Parallel.Zero)), true
	case "rank":
		return filter.Number(float64(e.Model.Rank)), true
	case "nodes":
		return filter.Number(float64(max(1, e.Where.Nodes, len(r.Run.Hosts)))), true
	case "disk":
		if r.disk != nil {
			if u, ok := r.disk(r.Info); ok {
				return filter.Number(float64(u.Bytes)), true
			}
		}
	case "seq":
		return filter.Number(float64(e.Step.Seq)), true
	case "steps":
		return filter.Number(float64(e.Train.Steps)), true
	case "ms":
		if ms := r.stepSeconds(); ms > 0 {
			return filter.Number(ms * 1000), true
		}
	case "loss":
		if f := r.fig(); f != nil && f.LossLast != nil {
			return filter.Number(*f.LossLast), true
		}
	}
	return filter.Value{}, false
}

// doneAlias lets "done" and "over" find finished runs as people say it.
func doneAlias(s runner.State) string {
	if s == runner.Finished {
		return " done"
	}
	return ""
}

// Words is the text that bare words are looked for in.
func (r run) Words() string {
	return strings.Join(append([]string{r.ID, r.Run.Name, r.Note, string(r.State)}, r.Tags...), " ")
}

// stepSeconds is the median step time, 0 when unknown.
func (r run) stepSeconds() float64 {
	f := r.fig()
	if f == nil || f.StepTimeMedian == nil {
		return 0
	}
	return *f.StepTimeMedian
}

// columns of the list, with that of the speed-ups if it has a title, and that of the marks where a run has one: what does not
// give way to a name. Drop orders what goes first in a narrow terminal.
func columns(speedup string, marked bool) []table.Column {
	all := []table.Column{
		{ID: "id", Title: "run", Width: 5}, {ID: "emulated", Title: "emu", Keep: true}, {ID: "started", Title: "start", Width: 6, Drop: 4}, {ID: "size", Title: "size", Width: 4, Drop: 2},
		{ID: "variant", Title: "variant", Width: 7}, {ID: "scheme", Title: "scheme", Width: 9}, {ID: "tp", Title: "tp", Width: 2, Right: true},
		{ID: "rank", Title: "r", Width: 4, Right: true, Drop: 6}, {ID: "state", Title: "state", Width: 9}, {ID: "ms", Title: "step ms", Width: 7, Right: true, Drop: 1},
		{ID: "vs", Title: speedup, Width: 7, Right: true, Drop: 1}, {ID: "loss", Title: "loss", Width: 5, Right: true, Drop: 5}, {ID: "disk", Title: "disk", Width: 8, Right: true, Drop: 8},
		{ID: "tags", Title: "name [tags]", Width: 11, Flex: 1, Drop: 3},
	}
	return slices.DeleteFunc(all, func(c table.Column) bool { return c.ID == "vs" && speedup == "" || c.ID == "emulated" && !marked })
}

// sortKeys are what the list can be ordered by.
var sortKeys = []string{"started", "id", "state", "size", "variant", "scheme", "tp", "rank", "ms", "loss", "where", "host", "disk"}

// Short is how a run is called in lists: "#" and the random end of its ID.
func Short(id string) string {
	return "#" + layout.Clean(id[strings.LastIndexByte(id, '-')+1:])
}

// row makes a line of the table.
func (m *Model) row(t theme.Theme, r run) table.Row {
	e := r.Run.Experiment
	sign, style := stateSign(t, r.State)
	rank := t.Glyphs.Dash
	if e.Model.Rank > 0 {
		rank = strconv.Itoa(e.Model.Rank)
	}
	ms, loss := t.Glyphs.Dash, t.Glyphs.Dash
	if s := r.stepSeconds(); s > 0 {
		ms = format.Millis(s)
	}
	if f := r.fig(); f != nil && f.LossLast != nil {
		loss = lossText(*f.LossLast)
	}
	disk := t.Glyphs.Dash
	if u, ok := m.usageOf(r.Info); ok {
		disk = format.Bytes(u.Bytes)
	}
	label := strings.TrimSpace(e.Parallel.Beside() + " " + named(r))
	if r.ID == m.refs.Vanilla {
		label = strings.TrimSpace(t.Glyphs.Vanilla + " " + label)
	}
	if r.ID == m.refs.Baseline {
		label = strings.TrimSpace(t.Glyphs.Baseline + " " + label)
	}
	cells := []table.Cell{{Text: Short(r.ID)}, {Text: format.When(r.Run.Created.In(m.now().Location()), m.now())}, {Text: layout.Clean(e.Model.Size)}, {Text: layout.Clean(string(e.Model.Variant))},
		{Text: layout.Clean(string(e.Parallel.Scheme))}, {Text: strconv.Itoa(e.Parallel.TP)}, {Text: rank}, {Text: string(r.State), Style: style}, {Text: ms}}
	if m.speedupHead() != "" {
		cells = append(cells, m.speedupCell(t, r))
	}
	cells = append(cells, table.Cell{Text: loss}, table.Cell{Text: disk}, table.Cell{Text: layout.Clean(label)})
	if r.back != "" {
		cells[7], sign = table.Cell{Text: "to go on", Style: t.Warn}, t.Glyphs.Pending
	}
	if r.Err != nil {
		cells[7] = table.Cell{Text: "damaged", Style: t.Bad}
		sign = t.Glyphs.Warn
	}
	if m.marked {
		cells = slices.Insert(cells, 1, table.Cell{Text: pick.EmulatedShort(e.Emulated()), Style: t.Warn})
	}
	row := table.Row{ID: r.ID, Sign: sign, Cells: cells}
	if r.Archived {
		row.Style = t.Dim
	}
	return row
}

// named is a run's name, and its tags in brackets.
func named(r run) string {
	name := r.Run.Name
	if r.Archived {
		name = strings.TrimSpace("archived " + name)
	}
	if len(r.Tags) == 0 {
		return name
	}
	return strings.TrimSpace(name + " [" + strings.Join(r.Tags, " ") + "]")
}

func lossText(v float64) string {
	if v-v != 0 {
		return "NaN"
	}
	return strconv.FormatFloat(v, 'f', 3, 64)
}

// stateSign is the glyph and colour of a state.
func stateSign(t theme.Theme, s runner.State) (string, theme.Style) {
	g := t.Glyphs
	switch s {
	case runner.Pending:
		return g.Pending, t.Dim
	case runner.Running:
		return g.Running, t.Accent
	case runner.Finished:
		return g.Finished, t.Good
	case runner.Failed:
		return g.Failed, t.Bad
	case runner.Cancelled:
		return g.Cancelled, t.Warn
	}
	return g.Lost, t.Warn
}
