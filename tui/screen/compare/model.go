// Package compare is screen 3: runs side by side, their speed-ups against a
// full-rank and a vanilla run, and why. Every figure comes from
// profiler/compare; tui/pick chooses what is compared when nobody has said
// so, rows.go makes the table's rows, why.go explains a difference.
package compare

import (
	"context"
	"encoding/json"
	"time"

	profile "boost-tui/profiler/compare"
	"boost-tui/runner"
	"boost-tui/tui/chart"
	"boost-tui/tui/feed"
	"boost-tui/tui/keys"
	"boost-tui/tui/layout"
	"boost-tui/tui/msg"
	"boost-tui/tui/screen"
	"boost-tui/tui/widget/table"

	tea "github.com/charmbracelet/bubbletea"
)

// ID of the screen.
const ID = "compare"

// refreshEvery is the time between two computations while one of the runs goes on.
const refreshEvery = 5 * time.Second

// pane is a part of the screen that can have the focus.
type pane int

const (
	paneTable pane = iota
	paneBars
	paneSpeed
	paneCurves
	paneDiff
	panes // how many there are
)

// Model is the screen.
type Model struct {
	env   screen.Env
	table table.Table
	keys  keys.Table[action]

	infos   []runner.Info
	refs    msg.References
	chosen  []string // asked for; nil: the default set
	visible bool

	loop   feed.Loop // its generation is that of the computation
	cancel context.CancelFunc
	stamp  string // what the last computation was about
	result result
	busy   bool

	metric int // index into metrics
	sort   int // index into sorts
	down   bool
	focus  pane
	lower  int // narrow: which pane is below the table
	alone  bool
	full   bool // the focused pane takes the screen
	zoomed int  // how often the curves' steps are halved
	drawn  layout.Rect
	cache  string
}

// result is what a computation found. Nothing in it changes afterwards.
type result struct {
	table   profile.Table
	curves  map[string]curves
	comm    map[string]feed.Collectives // what the sampled steps say; without what was matched
	missing []string                    // why runs are left out, one line each
	err     error
	auto    bool // the default set
}

// curves of a run over its steps.
type curves struct{ step, loss chart.Points }

// New makes the screen.
func New() *Model {
	m := &Model{loop: feed.Loop{Source: "compare"}}
	m.keys = bindings()
	m.table.Columns = columns(false)
	return m
}

// ID names the screen in messages and in the session.
func (m *Model) ID() string { return ID }

// Title is the tab's text.
func (m *Model) Title() string { return "Compare" }

// Init starts nothing: computing begins when the screen is shown.
func (m *Model) Init(env screen.Env) tea.Cmd {
	m.env = env
	return nil
}

// Capturing is false: nothing is typed here outside dialogs.
func (m *Model) Capturing() bool { return false }

// Keys lists the bindings.
func (m *Model) Keys() []keys.Binding { return m.keys.Bindings() }

// saved is the session of the screen.
type saved struct {
	Runs   []string `json:"runs"` // empty: the default set
	Metric int      `json:"metric"`
	Sort   int      `json:"sort"`
	Down   bool     `json:"down"`
	Lower  int      `json:"lower"`
}

// Save keeps the runs and how they are looked at.
func (m *Model) Save() json.RawMessage {
	return screen.Saved(saved{m.chosen, m.metric, m.sort, m.down, m.lower})
}

// Load takes up what Save kept; what makes no sense stays at its default.
func (m *Model) Load(data json.RawMessage) {
	var s saved
	if json.Unmarshal(data, &s) != nil {
		return
	}
	if s.Metric >= 0 && s.Metric < len(metrics) {
		m.metric = s.Metric
	}
	if s.Sort >= 0 && s.Sort < len(sorts) {
		m.sort, m.down = s.Sort, s.Down
	}
	if s.Lower >= 0 && s.Lower < lowerPanes {
		m.lower = s.Lower
	}
	if len(s.Runs) <= maxRuns {
		m.chosen = s.Runs
	}
}

// maxRuns bounds a comparison: more rows than that nobody reads.
const maxRuns = 64

// row is the row under the cursor.
func (m *Model) row() (profile.Row, bool) { return m.find(m.table.Cursor()) }

func (m *Model) find(id string) (profile.Row, bool) {
	for _, r := range m.result.table.Rows {
		if r.ID == id && id != "" {
			return r, true
		}
	}
	return profile.Row{}, false
}

// info is what the store says of a run.
func (m *Model) info(id string) (runner.Info, bool) {
	for i := range m.infos {
		if m.infos[i].ID == id {
			return m.infos[i], true
		}
	}
	return runner.Info{}, false
}
