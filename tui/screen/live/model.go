// Package live is screen 2: one run as it goes. It shows who is busy and with
// what, where a step's time goes, step time and loss over the steps, and the
// log; all of it from the run directory, so that a run of yesterday or of
// somebody else looks the same. follow.go reads, measure.go computes, view*.go
// and panes.go draw.
package live

import (
	"encoding/json"
	"time"

	"boost-tui/runner"
	"boost-tui/tui/feed"
	"boost-tui/tui/keys"
	"boost-tui/tui/layout"
	"boost-tui/tui/msg"
	"boost-tui/tui/screen"
	"boost-tui/tui/widget/input"
	"boost-tui/tui/widget/logview"

	tea "github.com/charmbracelet/bubbletea"
)

// ID of the screen.
const ID = "live"

// pollEvery is the time between two reads of a run that goes on.
const pollEvery = time.Second

// pane is a part of the screen that can have the focus.
type pane int

const (
	paneRanks pane = iota
	paneParts
	paneStep
	paneLoss
	paneLog
	panes // how many there are
)

// Model is the screen.
type Model struct {
	env   screen.Env
	table keys.Table[action]

	infos []runner.Info
	back  map[string]string // what runs that are over wait for to go on as another one
	errs  int
	run   runner.Info // the shown one; ID "" when there is none
	// pinned keeps the shown run when another one starts.
	pinned   bool
	restored bool // pinned by an earlier session
	refs     msg.References
	auto     [2]string // references chosen for the run: full-rank, vanilla
	visible  bool
	now      time.Time // of the last news

	loop     feed.Loop
	reader   *follower
	reading  bool // a read is under way
	again    bool // something changed meanwhile
	ended    bool // the run was read to its end
	latest   snapshot
	frozen   *snapshot // what is shown while paused
	err      error
	refData  []reference // of the shown run
	refErr   error
	refGen   uint64
	compared comparing // what refData is about

	tail     *feed.Tail // of the log
	logLoop  feed.Loop
	logRank  int
	logging  bool
	logAgain bool
	lines    logview.View
	search   *input.Line

	hosts   hostList
	job     jobOf
	focus   pane
	full    bool  // the focused pane takes the screen
	showLog bool  // narrow: the log below the step time
	noLog   bool  // wide: the loss over the whole width instead of the log beside it
	page    int   // of ranks
	span    int64 // steps that the charts show; 0: all
	end     int64 // last of them; negative: the run's last
	cursor  int64 // step; negative: none
	plotW   int   // cells of the last drawn chart
	logStep bool
	logLoss bool
	smooth  int // index into smoothings

	drawn layout.Rect // of cache
	cache string
}

// New makes the screen.
func New() *Model {
	m := &Model{loop: feed.Loop{Source: "live"}, logLoop: feed.Loop{Source: "live.log"}, cursor: -1, end: -1, focus: paneStep}
	m.table = bindings()
	return m
}

// ID names the screen in messages and in the session.
func (m *Model) ID() string { return ID }

// Title is the tab's text.
func (m *Model) Title() string { return "Live" }

// Init starts nothing: reading begins when the screen is shown.
func (m *Model) Init(env screen.Env) tea.Cmd {
	m.env, m.now = env, env.Now()
	return nil
}

// Capturing is true while a text to search for is typed.
func (m *Model) Capturing() bool { return m.search != nil || m.hosts.line != nil }

// Keys lists the bindings; those of the log come first while it has the focus,
// and while a text to search for is typed there are no others.
func (m *Model) Keys() []keys.Binding {
	if m.search != nil {
		return []keys.Binding{{Keys: []string{"enter"}, Hint: "find", Help: "the last match; n N go on", Group: groupLog},
			{Keys: []string{"esc"}, Hint: "end the search", Help: "end the search", Group: groupLog}}
	}
	if m.hosts.line != nil {
		return []keys.Binding{{Keys: []string{"letters"}, Hint: "filter"}, {Keys: []string{"enter"}, Hint: "keep"}, {Keys: []string{"esc"}, Hint: "as before"},
			{Keys: []string{"up", "down"}, Hint: "move"}}
	}
	var own, rest []keys.Binding
	for _, b := range m.table.Bindings() {
		switch {
		case b.Group == groupLog && m.focus == paneLog, b.Group == groupHosts && m.focus == paneRanks && m.byHost():
			own = append(own, b)
		case b.Group == groupHosts && !m.byHost() && (b.Keys[0] != "h" || !m.hosts.flat):
			b.Hint = ""
			rest = append(rest, b)
		default:
			if b.Group == groupLog && b.Keys[0] != "l" || b.Danger && !m.live() {
				b.Hint = ""
			}
			rest = append(rest, b)
		}
	}
	return append(own, rest...)
}

// smoothings are the weights of the past that the s key walks through; 0 is
// the raw line alone.
var smoothings = []float64{0, 0.9, 0.98}

// saved is the session of the screen.
type saved struct {
	Run     string `json:"run"` // empty: the newest
	Focus   int    `json:"focus"`
	LogStep bool   `json:"log_step"`
	LogLoss bool   `json:"log_loss"`
	Smooth  int    `json:"smooth"`
	ShowLog bool   `json:"show_log"`
	NoLog   bool   `json:"no_log"`
	Flat    bool   `json:"flat,omitempty"` // all ranks instead of hosts
	Sort    string `json:"sort,omitempty"` // of hosts
}

// Save keeps the run and how it is looked at.
func (m *Model) Save() json.RawMessage {
	s := saved{Focus: int(m.focus), LogStep: m.logStep, LogLoss: m.logLoss, Smooth: m.smooth, ShowLog: m.showLog, NoLog: m.noLog, Flat: m.hosts.flat, Sort: hostOrders[m.hosts.sortBy].name}
	if m.pinned {
		s.Run = m.run.ID
	}
	return screen.Saved(s)
}

// Load takes up what Save kept; what makes no sense stays at its default.
func (m *Model) Load(data json.RawMessage) {
	var s saved
	if json.Unmarshal(data, &s) != nil {
		return
	}
	if s.Focus >= 0 && s.Focus < int(panes) {
		m.focus = pane(s.Focus)
	}
	if s.Smooth >= 0 && s.Smooth < len(smoothings) {
		m.smooth = s.Smooth
	}
	m.logStep, m.logLoss, m.showLog, m.noLog = s.LogStep, s.LogLoss, s.ShowLog, s.NoLog
	m.hosts.flat = s.Flat
	for i, o := range hostOrders {
		if o.name == s.Sort {
			m.hosts.sortBy = i
		}
	}
	if s.Run != "" {
		m.run, m.pinned, m.restored = runner.Info{ID: s.Run}, true, true
	}
}

// shown is the snapshot on the screen.
func (m *Model) shown() *snapshot {
	if m.frozen != nil {
		return m.frozen
	}
	return &m.latest
}

// live reports whether the run may still write.
func (m *Model) live() bool {
	return m.run.State == runner.Running || m.run.State == runner.Pending
}

// world is the number of ranks of the shown run.
func (m *Model) world() int {
	return layout.Clamp(m.run.Run.World(), 0, maxWorld)
}

// maxWorld bounds what a damaged run.json can ask for.
const maxWorld = 1 << 16
