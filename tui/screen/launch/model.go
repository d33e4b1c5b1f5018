// Package launch is screen 1: it makes an experiment, shows what the planner
// knows of it, and starts it as a run that survives the UI. draft.go is the
// pure half.
package launch

import (
	"encoding/json"

	"boost-tui/experiment"
	"boost-tui/planner"
	"boost-tui/runner"
	"boost-tui/tui/feed"
	"boost-tui/tui/keys"
	"boost-tui/tui/screen"
	"boost-tui/tui/widget/form"
	"boost-tui/tui/widget/input"

	tea "github.com/charmbracelet/bubbletea"
)

// ID of the screen.
const ID = "launch"

// Model is the screen.
type Model struct {
	env   screen.Env
	draft draft
	form  form.Form
	table keys.Table[func(*Model) tea.Cmd]

	find      *input.Line // open while a field is looked for
	plan      plan
	rivals    [3]plan // full-rank, vanilla, btp of the same configuration
	debounce  feed.Loop
	planning  bool
	launch    progress
	infos     []runner.Info   // all runs, oldest first
	asking    bool            // a launch waits for the store to be read
	machine   planner.Machine // of the draft's place
	preflight preflight
	queue     queue
	visible   bool
	scroll    int // of the lower pane
}

// plan is the planner's answer, or why there is none.
type plan struct {
	p     *planner.Plan
	err   error
	micro int // the largest micro-batch that fits; 0: unknown
}

// New makes the screen with the default experiment.
func New() *Model {
	m := &Model{draft: newDraft(experiment.Default()), debounce: feed.Loop{Source: "launch.plan"}}
	m.table = bindings()
	m.form.SetFields(m.draft.fields())
	return m
}

// ID names the screen in messages and in the session.
func (m *Model) ID() string { return ID }

// Title is the tab's text.
func (m *Model) Title() string { return "Launch" }

// Init asks about the place, in Cmds; planning starts when the screen
// is shown.
func (m *Model) Init(env screen.Env) tea.Cmd {
	m.env = env
	return m.readPlace()
}

// Capturing is true while a field or the search line takes all keys.
func (m *Model) Capturing() bool { return m.form.Typing() || m.find != nil }

// Keys lists the bindings: of the line that is typed in while there is one.
func (m *Model) Keys() []keys.Binding {
	switch {
	case m.find != nil:
		return findKeys()
	case m.form.Typing():
		return editKeys(m.form.Field().Digits != "")
	}
	return m.table.Bindings()
}

// saved is the session of the screen.
type saved struct {
	TOML  string `json:"toml"`
	Focus string `json:"focus"`
	All   bool   `json:"all"`
	// Preflight is the run of the latest look at the machines: its result is shown again.
	Preflight string `json:"preflight,omitempty"`
}

// Save keeps the draft and the field.
func (m *Model) Save() json.RawMessage {
	return screen.Saved(saved{string(m.draft.set.TOML()), m.form.Focus(), m.draft.all, m.preflight.id})
}

// Load takes up what Save kept; what cannot be read stays at its default.
func (m *Model) Load(data json.RawMessage) {
	var s saved
	if json.Unmarshal(data, &s) != nil {
		return
	}
	if e, err := experiment.ParseTOML([]byte(s.TOML), "the session"); err == nil {
		m.draft.set = again(e)
		m.draft.set.Step.Device = e.Step.Device // as it was said
	}
	m.draft.all = s.All
	if runner.CheckID(s.Preflight) == nil {
		m.preflight = preflight{id: s.Preflight}
	}
	m.draft.settle()
	m.form.SetFields(m.draft.fields())
	m.form.Select(s.Focus)
}
