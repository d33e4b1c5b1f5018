// Package screen is the contract between the root model and the screens, and
// what a screen gets from outside.
package screen

import (
	"encoding/json"
	"time"

	"boost-tui/tui/keys"
	"boost-tui/tui/layout"

	tea "github.com/charmbracelet/bubbletea"
)

// Screen is one of the numbered screens. It is used from the Update loop only
// and needs no locks. Anything slow happens in the Cmds it returns, whose
// results carry a generation, so that an old answer to an old question is
// recognised.
type Screen interface {
	// ID is its stable name: launch, live, compare, sweep, runs.
	ID() string
	// Title is what the tab says.
	Title() string
	// Init is called once, before the first frame. It must not block and
	// should start nothing that only a visible screen needs.
	Init(Env) tea.Cmd
	// Update handles keys (keys.Event, only while it is the active screen and
	// no dialog is open) and every other message. used tells, for a key, that
	// the root should not try its own bindings.
	Update(tea.Msg) (cmd tea.Cmd, used bool)
	// View draws into a rectangle. Its last call is layout.Fit.
	View(layout.Rect) string
	// Status is the line above the hints.
	Status() string
	// Keys lists the bindings of the focused pane first, for hints and help.
	Keys() []keys.Binding
	// Capturing is true while typing in a field: global keys are off.
	Capturing() bool
	// Save and Load keep what the next session should find. Load gets what an
	// earlier, maybe older, version saved, and ignores what it cannot use.
	Save() json.RawMessage
	Load(json.RawMessage)
}

// After makes a Cmd that delivers m after d. Timers end up in the root's busy
// accounting as idle, and tests replace it by a clock they turn by hand.
type After func(d time.Duration, m tea.Msg) tea.Cmd

// Saved is the value as Save returns it; nil, which keeps nothing, where it has no JSON.
func Saved(v any) json.RawMessage {
	data, err := json.Marshal(v)
	if err != nil {
		return nil
	}
	return data
}
