// Package sweep is screen 4: it builds a space of experiments key by key, says
// at once what it comes to, has it worked off by a program of its own, and shows
// the queue and the results while they come.
//
// draft.go, axis.go and options.go are the sweep being made, grid.go draws it;
// count.go is what it comes to; shown.go is the sweep that exists, with its
// queue (queue.go), results (results.go) and heat map (heat.go).
package sweep

import (
	"context"
	"encoding/json"
	"time"

	"boost-tui/runner"
	"boost-tui/sweeps"
	"boost-tui/sweeps/results"
	"boost-tui/tui/feed"
	"boost-tui/tui/layout"
	"boost-tui/tui/screen"
	"boost-tui/tui/widget/input"
	widget "boost-tui/tui/widget/table"

	tea "github.com/charmbracelet/bubbletea"
)

// ID of the screen.
const ID = "sweep"

// pane is a part of the screen that can have the focus.
type pane int

const (
	paneGrid pane = iota
	paneQueue
	paneResults
	paneHeat
	panes // how many there are
)

// Model is the screen.
type Model struct {
	env    screen.Env
	tables struct{ common, grid, queue, results, heat table }

	draft   draft
	fresh   draft  // the new sweep, while another one is shown
	begun   *draft // the one that was started last: it is no longer being made
	history []edited
	cursor  cursor

	count       counted
	asked       bool      // R waits for the count
	debounce    feed.Loop // its generation is that of the count
	cancelCount context.CancelFunc

	shown   shown
	poll    feed.Loop
	visible bool
	busy    string // what is being done now: "starting the sweep"; one thing at a time
	failure string // of the last action

	queue     widget.Table
	queueForm queueForm
	held      [panes]bool // the table's cursor was moved: it stays on its row, else on the first
	results   resultPane
	heat      heatMap
	look      look      // how the results are to be looked at
	seen      looked    // the last look at them
	glance    feed.Loop // its generation is that of the look

	queueWidth, resultWidth int // cells of the tables when they were last drawn
	infos                   []runner.Info

	typed  *input.Line // the filter of the results while it is typed
	focus  pane
	full   bool // the focused pane takes the screen
	mapped bool // the heat map stands where the results stand
	drawn  layout.Rect
	cache  string
}

// New makes the screen with an empty grid.
func New() *Model {
	m := &Model{draft: newDraft(), debounce: feed.Loop{Source: "sweep.count"}, poll: feed.Loop{Source: "sweep"}, glance: feed.Loop{Source: "sweep.look"}}
	m.fresh = m.draft
	m.tables.common, m.tables.grid, m.tables.queue = commonBindings(), gridBindings(), queueBindings()
	m.tables.results, m.tables.heat = resultsBindings(), heatBindings()
	m.look = look{Sort: results.VsFull, Down: true}
	return m
}

// ID names the screen in messages and in the session.
func (m *Model) ID() string { return ID }

// Title is the tab's text.
func (m *Model) Title() string { return "Sweep" }

// Init starts nothing: counting and polling begin when the screen is shown.
func (m *Model) Init(env screen.Env) tea.Cmd {
	m.env = env
	return nil
}

// Capturing is true while the filter is typed.
func (m *Model) Capturing() bool { return m.typed != nil }

// saved is the session of the screen.
type saved struct {
	New   *draft `json:"new,omitempty"`
	Sweep string `json:"sweep,omitempty"` // the one shown
	Grown *draft `json:"grown,omitempty"` // its grid, where it was changed
	Focus pane   `json:"focus"`
	Map   bool   `json:"map"`
	Look  look   `json:"look"`
}

// Save keeps the drafts, what is shown and how it is looked at.
func (m *Model) Save() json.RawMessage {
	s := saved{Sweep: m.shown.id, Focus: m.focus, Map: m.mapped, Look: m.look}
	d := m.draft
	if m.shown.id == "" {
		s.New = &d
	} else {
		f := m.fresh
		s.New = &f
		if m.changed() {
			s.Grown = &d
		}
	}
	if out := screen.Saved(s); len(out) <= savedLimit {
		return out
	}
	s.New, s.Grown = nil, nil
	return screen.Saved(s)
}

// savedLimit keeps a session small: it is written after every key.
const savedLimit = 256 << 10

// Load takes up what Save kept; what makes no sense stays at its default.
func (m *Model) Load(data json.RawMessage) {
	var s saved
	if json.Unmarshal(data, &s) != nil {
		return
	}
	if s.New != nil {
		m.draft = s.New.repaired()
		m.fresh = m.draft
	}
	if s.Sweep != "" {
		m.shown = shown{id: s.Sweep}
		m.draft = draft{Repeats: 1, Options: sweeps.DefaultOptions()} // until it is read
		if s.Grown != nil {
			d := s.Grown.repaired()
			m.shown.grown = &d
		}
	}
	if s.Focus >= 0 && s.Focus < panes {
		m.focus = s.Focus
	}
	m.mapped = s.Map
	if m.look = s.Look; m.look.Only != onlyFront && m.look.Only != onlyBest {
		m.look.Only = ""
	}
}

func (m *Model) now() time.Time {
	if m.env.Now == nil {
		return time.Now()
	}
	return m.env.Now()
}
