// Package runs is screen 5: the store of runs. It lists, filters, sorts and
// marks them, shows what one measured and its logs, and tags, annotates,
// cancels, deletes and exports.
package runs

import (
	"encoding/json"
	"slices"
	"time"

	"boost-tui/internal/filter"
	"boost-tui/profiler/compare"
	"boost-tui/runner"
	"boost-tui/tui/feed"
	"boost-tui/tui/keys"
	"boost-tui/tui/msg"
	"boost-tui/tui/screen"
	"boost-tui/tui/widget/input"
	"boost-tui/tui/widget/logview"
	"boost-tui/tui/widget/table"

	tea "github.com/charmbracelet/bubbletea"
)

// ID of the screen.
const ID = "runs"

// Model is the screen.
type Model struct {
	env   screen.Env
	table table.Table
	keys  keys.Table[func(*Model) tea.Cmd]

	all     []run
	shown   []run
	marked  bool           // some of those shown ran on the emulated device or beside an emulated link
	at      map[string]int // places in shown, by id
	hidden  archive        // which runs are left out
	errs    []error
	listed  bool
	visible bool
	figures map[string]known // by ID
	refs    msg.References

	speedups map[string]speedup // over the baseline, by ID
	usage    map[string]used    // of disk, by ID
	counting bool               // a run's disk use is being counted
	decoding bool               // summaries are being read

	query   filter.Query
	text    string // of the filter in force
	fault   string // of the filter being typed
	line    *input.Line
	before  string // text to restore on esc
	sortBy  string
	down    bool
	logs    logPane
	undo    []undo
	zoom    bool
	last    string // run that the cursor was on last
	selects string // run to put the cursor on once it is listed
	// marksLater are the last session's marks, to set once the runs are listed.
	marksLater []string
}

// known is a run's figures and the state they were read in.
type known struct {
	fig    *compare.Summary
	state  string
	at     time.Time
	result *runner.Result // whose summary it is; nil: the figures were measured
}

// New makes the screen.
func New() *Model {
	m := &Model{figures: map[string]known{}, speedups: map[string]speedup{}, usage: map[string]used{}, sortBy: "started", down: true, logs: logPane{view: &logview.View{}, loop: feed.Loop{Source: "runs.log"}}}
	m.keys = bindings()
	m.table.Columns = columns("", false)
	m.table.Sort, m.table.Down = m.sortBy, m.down
	m.table.Fill = m.fill
	return m
}

// ID names the screen in messages and in the session.
func (m *Model) ID() string { return ID }

// Title is the tab's text.
func (m *Model) Title() string { return "Runs" }

// Init keeps the environment; the root lists the store.
func (m *Model) Init(env screen.Env) tea.Cmd {
	m.env = env
	return nil
}

// Capturing is true while the filter or a search is typed.
func (m *Model) Capturing() bool { return m.line != nil || m.logs.line != nil }

// Keys lists the bindings of what has the keyboard: a line that is typed in, the
// log pane, else the list.
func (m *Model) Keys() []keys.Binding {
	switch {
	case m.line != nil:
		return []keys.Binding{{Keys: []string{"letters"}, Hint: "filter"}, {Keys: []string{"enter"}, Hint: "keep"}, {Keys: []string{"esc"}, Hint: "as before"},
			{Keys: []string{"up", "down"}, Hint: "move"}}
	case m.logs.line != nil:
		return []keys.Binding{{Keys: []string{"letters"}, Hint: "search"}, {Keys: []string{"enter"}, Hint: "keep"}, {Keys: []string{"esc"}, Hint: "search nothing"}}
	case m.logs.open:
		return logBindings.Bindings()
	}
	return m.keys.Bindings()
}

// Selected is the run under the cursor.
func (m *Model) Selected() (run, bool) {
	return m.shownAs(m.table.Cursor())
}

// shownAs is the run of the list with the id.
func (m *Model) shownAs(id string) (run, bool) {
	if i, ok := m.at[id]; ok && i < len(m.shown) {
		return m.shown[i], true
	}
	return run{}, false
}

// fill draws the row of a run.
func (m *Model) fill(id string) table.Row {
	r, ok := m.shownAs(id)
	if !ok {
		return table.Row{ID: id, Cells: []table.Cell{}}
	}
	return m.row(m.env.Theme, r)
}

// targets are the marked runs, else the one under the cursor.
func (m *Model) targets() []string {
	if marked := m.table.Marked(); len(marked) > 0 {
		return marked
	}
	if id := m.table.Cursor(); id != "" {
		return []string{id}
	}
	return nil
}

// rebuild filters, sorts and hands the rows to the table.
func (m *Model) rebuild() {
	now := m.now()
	m.shown = m.shown[:0]
	for _, r := range m.all {
		r.now, r.figures, r.disk = r.Clock(now), m.figuresOf, m.usageOf
		if m.hidden.passes(r.Archived, m.text) && m.query.Match(r) {
			m.shown = append(m.shown, r)
		}
	}
	order(m.shown, m.sortBy, m.down)
	m.marked = slices.ContainsFunc(m.shown, func(r run) bool { return r.Run.Experiment.Emulated() != "" })
	m.table.Columns = columns(m.speedupHead(), m.marked)
	rows, at := make([]table.Row, len(m.shown)), make(map[string]int, len(m.shown))
	for i, r := range m.shown {
		rows[i].ID, at[r.ID] = r.ID, i
	}
	m.at = at
	// A filter that nothing passes takes the cursor away; it comes back to its row.
	lost := m.table.Cursor() == ""
	if !lost {
		m.last = m.table.Cursor()
	}
	m.table.SetRows(rows)
	if lost {
		m.table.Select(m.last)
	}
	m.table.Empty = m.emptyText()
	if _, there := m.at[m.selects]; there && m.selects != "" {
		m.table.Select(m.selects)
		m.selects = ""
	}
}

func (m *Model) emptyText() string {
	switch {
	case !m.listed:
		return "reading the runs folder " + m.env.Theme.Glyphs.Ellipsis
	case len(m.all) > 0 && m.text == "" && m.hidden == hideArchived:
		return "every run is archived: . shows them"
	case len(m.all) > 0 && m.text == "":
		return "no run is archived: . shows the others"
	case len(m.all) > 0:
		return "no run passes the filter; esc clears it"
	}
	return "no runs yet: 1 launches one"
}

func (m *Model) now() time.Time {
	if m.env.Now == nil {
		return time.Now()
	}
	return m.env.Now()
}

type savedState struct {
	Filter string   `json:"filter"`
	Sort   string   `json:"sort"`
	Down   bool     `json:"down"`
	Marks  []string `json:"marks"`
	Cursor string   `json:"cursor"`
	Hidden archive  `json:"hidden,omitempty"`
}

// Save keeps filter, order, marks and cursor.
func (m *Model) Save() json.RawMessage {
	return screen.Saved(savedState{m.text, m.sortBy, m.down, m.table.Marked(), m.table.Cursor(), m.hidden})
}

// Load takes up what Save kept.
func (m *Model) Load(data json.RawMessage) {
	var s savedState
	if json.Unmarshal(data, &s) != nil {
		return
	}
	if slices.Contains(sortKeys, s.Sort) {
		m.sortBy, m.down = s.Sort, s.Down
		m.table.Sort, m.table.Down = s.Sort, s.Down
	}
	if s.Hidden >= 0 && s.Hidden < archives {
		m.hidden = s.Hidden
	}
	m.setFilter(s.Filter)
	m.selects = s.Cursor
	m.marksLater = s.Marks
}
