// Package app is the root of the UI: it owns the size, the tabs, the dialogs,
// the toasts and the session, and hands everything else to the screens. Input
// goes to the top dialog or the active screen; all other messages go to every
// screen, so that hidden ones stay up to date.
package app

import (
	"time"

	"boost-tui/runner"
	"boost-tui/tui/feed"
	"boost-tui/tui/keys"
	"boost-tui/tui/msg"
	"boost-tui/tui/safego"
	"boost-tui/tui/screen"
	"boost-tui/tui/theme"
	"boost-tui/tui/widget/help"
	"boost-tui/tui/widget/statusbar"

	tea "github.com/charmbracelet/bubbletea"
)

// Options are what the root needs beside the screens' Env.
type Options struct {
	Env     screen.Env
	Screens []screen.Screen // in tab order
	// Tabs names the numbered places, screens by their title; others are shown
	// as not there yet.
	Tabs []statusbar.Tab
	// Width and Height are the terminal's size at the start; 0 waits for the
	// first size message.
	Width, Height int
	Session       Session
	// Save keeps a session; nil keeps none. It runs in a Cmd.
	Save func(Session) error
	// RootChanged returns a number that changes when the runs folder does; nil
	// lists at every poll.
	RootChanged func() int64
	Getenv      func(string) string // for the clipboard's wrapping
}

// Model is the root model.
type Model struct {
	env     screen.Env
	opts    Options
	screens []screen.Screen
	active  int // index into screens
	w, h    int
	table   keys.Table[func(*Model) tea.Cmd]

	help    *help.Help
	dialogs []msg.Open
	toasts  []toast
	toastID int
	refs    msg.References

	runs    msg.Runs
	listed  bool
	poll    feed.Loop
	stamp   int64
	saving  bool
	lastInt time.Time // last ctrl+c
	lastG   time.Time // last g: gt and gT are two keys
	pace    time.Duration
	fresh   int // counts requests for a full repaint
	crash   *safego.Panic
	raw     []byte
}

// New makes the root model. Nothing slow happens before Init's Cmds run.
func New(o Options) *Model {
	if o.Getenv == nil {
		o.Getenv = func(string) string { return "" }
	}
	m := &Model{env: o.Env, opts: o, screens: o.Screens, w: o.Width, h: o.Height, refs: o.Session.References, poll: feed.Loop{Source: "store"}, pace: pollLive}
	m.table = rootKeys()
	for i, s := range m.screens {
		if s.ID() == o.Session.Screen {
			m.active = i
		}
	}
	return m
}

// Init starts the screens and the first listing of the store. The Cmds run
// after the first frame is under way.
func (m *Model) Init() tea.Cmd {
	var cmds []tea.Cmd
	for _, s := range m.screens {
		cmds = append(cmds, s.Init(m.env))
		if saved := m.opts.Session.Screens[s.ID()]; len(saved) > 0 {
			s.Load(saved)
		}
	}
	if m.refs != (msg.References{}) {
		cmds = append(cmds, msg.Send(m.refs))
	}
	m.poll.Start()
	cmds = append(cmds, m.readRuns(), msg.Send(msg.Shown{Screen: m.current().ID()}))
	return guard(tea.Batch(cmds...))
}

func (m *Model) current() screen.Screen { return m.screens[m.active] }

// Crash is the panic that ended the program, nil when it ended by itself.
func (m *Model) Crash() *safego.Panic { return m.crash }

// Fresh changes when the terminal needs a full repaint.
func (m *Model) Fresh() int { return m.fresh }

// TakeRaw returns bytes for the terminal that are no part of a frame.
func (m *Model) TakeRaw() []byte {
	raw := m.raw
	m.raw = nil
	return raw
}

// Size is the size that View draws for.
func (m *Model) Size() (w, h int) { return m.w, m.h }

// going counts the runs that are not over.
func (m *Model) going() (running, pending int) {
	for i := range m.runs.Infos {
		switch m.runs.Infos[i].State {
		case runner.Running:
			running++
		case runner.Pending:
			pending++
		}
	}
	return running, pending
}

// moving reports whether runs may change by themselves.
func (m *Model) moving() bool {
	running, pending := m.going()
	return running+pending > 0 || len(m.runs.Back) > 0
}

// Theme is the theme in use.
func (m *Model) Theme() theme.Theme { return m.env.Theme }
