// Package msg holds the messages that pass between the root model and the
// screens. A screen's own results are its own private types; the root hands
// every message that is not input to all screens.
package msg

import (
	"time"

	"boost-tui/experiment"
	"boost-tui/runner"
	"boost-tui/tui/theme"
	"boost-tui/tui/widget/modal"

	tea "github.com/charmbracelet/bubbletea"
)

// Level is how serious a toast is.
type Level int

// The levels.
const (
	Info Level = iota
	Good
	Warn
	Bad
)

// Toast shows a line for some seconds.
type Toast struct {
	Level Level
	Text  string // untrusted text is cleaned by the root
	Of    string // what it speaks of, for Outdated; "" nothing that changes
}

// Outdated takes away the toasts that speak of what has changed since.
type Outdated struct{ Of string }

// Open puts a dialog on top. Then, if any, turns its answer (nil when it was
// dismissed) into a Cmd.
type Open struct {
	Modal modal.Modal
	Then  func(answer any) tea.Cmd
}

// Goto changes to a screen by its ID: launch, live, compare, sweep, runs.
type Goto struct{ Screen string }

// OpenRun shows a run on the Live screen, and its log where that is asked for.
// The root goes there.
type OpenRun struct {
	ID  string
	Log bool
}

// CompareRuns shows runs on the Compare screen. The root goes there.
type CompareRuns struct{ IDs []string }

// EditExperiment puts an experiment into the Launch form. The root goes there.
type EditExperiment struct{ Experiment experiment.Experiment }

// References sets the runs that speed-ups are measured against; "" for none.
// The root keeps and saves them and hands them to all screens.
type References struct{ Baseline, Vanilla string }

// RunsChanged says that the store is known to have changed (a launch, a
// deletion), so that nobody waits for the next poll.
type RunsChanged struct{}

// Shown tells a screen that it is visible now, Hidden that it no longer is.
// Hidden screens should let their timers run out.
type (
	Shown  struct{ Screen string }
	Hidden struct{ Screen string }
)

// Theme hands every screen the theme to draw with from now on.
type Theme struct{ Theme theme.Theme }

// Tick is a timer of Env.After. Owner and Gen tell whose; a screen ignores
// ticks of an older generation.
type Tick struct {
	Owner string
	Gen   uint64
	At    time.Time
}

// Send makes a Cmd of a message.
func Send(m tea.Msg) tea.Cmd { return func() tea.Msg { return m } }

// Runs is the store's list, oldest first. The root reads it once a second
// while a run is pending or running, and when the runs folder changes; screens
// need not list themselves.
type Runs struct {
	Infos []runner.Info
	Errs  []error
	Back  map[string]string // what runs that are over wait for to go on as another one, by their IDs
	At    time.Time
}

// Copy puts a text into the terminal's clipboard (OSC 52). What names it in
// the toast.
type Copy struct{ Text, What string }
