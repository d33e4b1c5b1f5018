package results

import (
	"encoding/csv"
	"encoding/json"
	"fmt"
	"io"
	"slices"
	"strconv"
	"time"

	"boost-tui/runner"
	"boost-tui/sweeps"
)

// configurationNote says what the rows are.
const configurationNote = "A row is a configuration: the medians over its repeats that have done their work, and of their step times the least and the most. The verdict of a speed-up is what all repeats say, ~ where they differ."

func (c *Configurations) notes() []string {
	return append([]string{configurationNote}, c.table.Notes()...)
}

// Text writes a row for each configuration, in lines of at most width cells, and what stands below Table.Text.
func (c *Configurations) Text(w io.Writer, width int) error {
	return c.table.write(w, width, c.grid(), c.notes())
}

// Markdown writes the same as Markdown.
func (c *Configurations) Markdown(w io.Writer) error { return c.table.markdown(w, c.grid(), c.notes()) }

// configurationColumn is a column of a table of configurations.
type configurationColumn struct {
	heading
	of func(*Configuration) string
}

func (c *Configurations) columns() []configurationColumn {
	front := map[*Row]bool{}
	for i := range c.table.onFront() {
		front[c.table.Rows[i]] = true
	}
	out := []configurationColumn{{heading{"", true, 95}, func(r *Configuration) string {
		return signs(r.Marks, slices.ContainsFunc(r.Rows, func(r *Row) bool { return front[r] }))
	}}}
	if c.table.emulated() {
		out = append(out, configurationColumn{linkHeading(), func(r *Configuration) string { return orUnknown(r.Rows[0].Link()) }})
	}
	if c.table.onEmulator() {
		out = append(out, configurationColumn{emulatorHeading(), func(r *Configuration) string { return onOff(r.Rows[0].onEmulator()) }})
	}
	for n, key := range c.table.shownKeys() {
		if key == keySeed {
			continue
		}
		worth := 100 - n
		if !slices.Contains(c.table.Axes, key) {
			worth = 35
		}
		out = append(out, configurationColumn{heading{key, !c.table.numeric(key), worth}, func(r *Configuration) string { v, _ := r.Rows[0].key(key); return orUnknown(v.Text) }})
	}
	metric := func(name string, worth int) configurationColumn {
		m, _ := MetricOf(name)
		return configurationColumn{heading{m.Title, false, worth}, func(r *Configuration) string {
			v, known := r.Value(m)
			if !known {
				return unknown
			}
			return m.Show(v)
		}}
	}
	return append(out,
		configurationColumn{heading{"runs", true, 85}, func(r *Configuration) string { return r.runsText() }},
		metric(StepTime, 90),
		configurationColumn{heading{"least .. most", false, 84}, func(r *Configuration) string {
			if len(r.Spread) != 2 {
				return unknown
			}
			return millis(r.Spread[0]) + " .. " + millis(r.Spread[1])
		}},
		configurationColumn{heading{"vs full", false, 89}, func(r *Configuration) string { return r.VsFull.text(r.VsFull.itself()) }},
		configurationColumn{heading{"vs vanilla", false, 88}, func(r *Configuration) string { return r.VsVanilla.text(r.VsVanilla.itself()) }},
		metric(Loss, 70), metric(PeakMemory, 65), metric("tokens_per_second", 50), metric(TimePerToken, 32), metric("comm", 33), metric("comm_bytes_per_step", 31))
}

// runsText is how many repeats the figures rest on, of how many.
func (c *Configuration) runsText() string {
	if len(c.Counted) == len(c.Rows) {
		return strconv.Itoa(len(c.Rows))
	}
	return fmt.Sprintf("%d of %d", len(c.Counted), len(c.Rows))
}

func (c *Configurations) grid() *grid {
	columns := c.columns()
	g := &grid{}
	for _, k := range columns {
		g.heads = append(g.heads, k.heading)
	}
	for _, r := range c.Rows {
		line := make([]string, len(columns))
		for i, k := range columns {
			line[i] = k.of(r)
		}
		g.cells = append(g.cells, line)
	}
	g.settle()
	return g
}

// finished counts the points whose run did its work.
func (c *Configuration) finished() (n int) {
	for _, r := range c.Rows {
		n += one(r.Status == sweeps.Finished)
	}
	return n
}

// overlapped counts the runs that the figures rest on and that another one slowed.
func (c *Configuration) overlapped() (n int) {
	for _, r := range c.Counted {
		n += one(len(r.Overlapped) > 0)
	}
	return n
}

// keys are what tells configurations apart: the axes but for seed, then what every row has.
func (c *Configurations) keys() []string {
	out := c.axes()
	for _, k := range always {
		if !slices.Contains(out, k) {
			out = append(out, k)
		}
	}
	return out
}

// CSV writes a row for each configuration: axes, how many points it has and how many its figures rest on, every metric,
// and speed-ups. Lines end as RFC 4180 wants. Seconds, bytes, and empty for what is unknown or means nothing.
func (c *Configurations) CSV(w io.Writer) error {
	var names []string
	var texts []func(*Configuration) string
	add := func(name string, text func(*Configuration) string) {
		if !slices.Contains(names, name) {
			names, texts = append(names, name), append(texts, text)
		}
	}
	count := func(name string, n func(*Configuration) int) {
		add(name, func(r *Configuration) string { return strconv.Itoa(n(r)) })
	}
	for _, k := range c.keys() {
		add(k, func(r *Configuration) string { v, _ := r.Rows[0].key(k); return v.Text })
	}
	count("points", func(r *Configuration) int { return len(r.Rows) })
	count("finished", (*Configuration).finished)
	count("runs", func(r *Configuration) int { return len(r.Counted) })
	add(fieldPartial, func(r *Configuration) string { return onOff(r.Partial) })
	add(fieldUnfinished, func(r *Configuration) string { return onOff(r.Unfinished) })
	count(fieldOverlapped, (*Configuration).overlapped)
	add(fieldLink, func(r *Configuration) string { return r.Rows[0].Link() })
	add(fieldEmulator, func(r *Configuration) string { return r.Rows[0].emulator() })
	for _, m := range metrics {
		add(m.Name, func(r *Configuration) string { return r.field(&m).Text })
		switch m.Name {
		case StepTime:
			add("step_time_least", func(r *Configuration) string { return end(r.Spread, 0) })
			add("step_time_most", func(r *Configuration) string { return end(r.Spread, 1) })
		case VsFull:
			versusColumns(m.Name, func(r *Configuration) *Versus { return r.VsFull }, add)
		case VsVanilla:
			versusColumns(m.Name, func(r *Configuration) *Versus { return r.VsVanilla }, add)
		}
	}
	out := csv.NewWriter(w)
	out.UseCRLF = true
	err := out.Write(names)
	record := make([]string, len(names))
	for _, r := range c.Rows {
		for i, text := range texts {
			record[i] = runner.Clean(text(r))
		}
		if err == nil {
			err = out.Write(record)
		}
	}
	if out.Flush(); err == nil {
		err = out.Error()
	}
	if err != nil {
		return fmt.Errorf("write the sweep's configurations as CSV: %w", err)
	}
	return nil
}

// MarshalJSON writes the sweep with a list of its configurations in the place of rows.
func (c *Configurations) MarshalJSON() ([]byte, error) {
	t := c.table
	rows := c.Rows
	if rows == nil {
		rows = []*Configuration{}
	}
	return json.Marshal(struct {
		ID      string           `json:"id"`
		Name    string           `json:"name,omitempty"`
		Created time.Time        `json:"created"`
		State   sweeps.Phase     `json:"state"`
		Cause   string           `json:"cause,omitempty"`
		Axes    []string         `json:"axes"`
		Counts  Counts           `json:"counts"`
		Rows    []*Configuration `json:"configurations"`
	}{t.ID, t.Name, t.Created, t.State, t.Cause, c.axes(), t.Counts, rows})
}

// MarshalJSON writes the configuration flat: what it is, then its figures under the names of Metrics.
func (c *Configuration) MarshalJSON() ([]byte, error) {
	o := &object{seen: map[string]bool{keySeed: true}}
	first := c.Rows[0]
	for _, keys := range [][]string{first.axes, always} {
		for _, k := range keys {
			o.key(first, k)
		}
	}
	points, runs := []string{}, []string{}
	for _, r := range c.Rows {
		points = append(points, r.Point)
	}
	for _, r := range c.Counted {
		runs = append(runs, r.Run)
	}
	o.text(fieldLink, first.Link())
	o.text(fieldEmulator, first.emulator())
	o.add("points", points)
	o.add("finished", c.finished())
	o.add("runs", runs) // that the figures rest on
	if c.Partial {
		o.add("partial", true)
	}
	if c.Unfinished {
		o.add("unfinished", true)
	}
	if n := c.overlapped(); n > 0 {
		o.add("overlapped", n)
	}
	for _, m := range metrics {
		switch v, known := c.Value(m); {
		case !known:
		case m.Name == VsFull:
			o.add(m.Name, c.VsFull)
		case m.Name == VsVanilla:
			o.add(m.Name, c.VsVanilla)
		default:
			o.add(m.Name, v)
		}
		if m.Name == StepTime && c.Spread != nil {
			o.add("spread", c.Spread)
		}
	}
	return o.bytes()
}
