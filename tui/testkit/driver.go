// Package testkit drives the UI in tests: the root model without a terminal
// and without real time, goldens of frames, tmux, and a terminal that never
// answers. Nothing but tests imports it.
package testkit

import (
	"sort"
	"testing"
	"time"

	"boost-tui/tui/app"
	"boost-tui/tui/screen"

	tea "github.com/charmbracelet/bubbletea"
	"github.com/charmbracelet/x/ansi"
)

// Start is the time at which every test begins.
var Start = time.Date(2026, 11, 29, 15, 20, 0, 0, time.UTC)

// Driver runs a root model by hand: Cmds run at once, one after the other, and
// timers wait until Advance.
type Driver struct {
	Model  *app.Model
	t      testing.TB
	now    time.Time
	timers []timer
	quit   bool
}

type timer struct {
	at  time.Time
	msg tea.Msg
}

// timed is what the driver's After returns.
type timed struct {
	d   time.Duration
	msg tea.Msg
}

// NewDriver starts a root model of w x h cells with the given Env (see Env)
// and screens. The clock in the Env is replaced by the driver's.
func NewDriver(t testing.TB, w, h int, o app.Options) *Driver {
	t.Helper()
	d := &Driver{t: t, now: Start}
	o.Env.Now = func() time.Time { return d.now }
	o.Env.After = func(wait time.Duration, m tea.Msg) tea.Cmd { return func() tea.Msg { return timed{wait, m} } }
	o.Width, o.Height = w, h
	if o.Tabs == nil {
		o.Tabs = Tabs(o.Screens)
	}
	d.Model = app.New(o)
	d.run(d.Model.Init())
	return d
}

// Send delivers messages, each with all that follows from it.
func (d *Driver) Send(messages ...tea.Msg) {
	d.t.Helper()
	for _, m := range messages {
		d.deliver(m)
	}
}

// Press presses keys by name: "j", "enter", "ctrl+d", "space".
func (d *Driver) Press(names ...string) {
	d.t.Helper()
	for _, n := range names {
		d.deliver(KeyMsg(n))
	}
}

// Type types a text, key by key.
func (d *Driver) Type(text string) {
	d.t.Helper()
	for _, r := range text {
		d.deliver(KeyMsg(string(r)))
	}
}

// Resize changes the size.
func (d *Driver) Resize(w, h int) { d.Send(tea.WindowSizeMsg{Width: w, Height: h}) }

// Advance lets time pass and fires the timers that fall into it.
func (d *Driver) Advance(by time.Duration) {
	end := d.now.Add(by)
	for {
		sort.SliceStable(d.timers, func(i, j int) bool { return d.timers[i].at.Before(d.timers[j].at) })
		if len(d.timers) == 0 || d.timers[0].at.After(end) {
			break
		}
		next := d.timers[0]
		d.timers = d.timers[1:]
		d.now = next.at
		d.deliver(next.msg)
	}
	d.now = end
}

// Timers is the number of timers that wait.
func (d *Driver) Timers() int { return len(d.timers) }

// Quit reports whether the program has ended.
func (d *Driver) Quit() bool { return d.quit }

// View is the frame with its colours, Text without.
func (d *Driver) View() string { return d.Model.View() }

// Text is the frame as a reader without colours sees it.
func (d *Driver) Text() string { return ansi.Strip(d.Model.View()) }

func (d *Driver) deliver(m tea.Msg) {
	switch m := m.(type) {
	case nil:
	case tea.QuitMsg:
		d.quit = true
	case tea.BatchMsg:
		for _, cmd := range m {
			d.run(cmd)
		}
	case timed:
		d.timers = append(d.timers, timer{d.now.Add(m.d), m.msg})
	default:
		_, cmd := d.Model.Update(m)
		d.run(cmd)
	}
}

func (d *Driver) run(cmd tea.Cmd) {
	if cmd != nil {
		d.deliver(cmd())
	}
}

// KeyMsg is what bubbletea delivers for a key.
func KeyMsg(name string) tea.KeyMsg {
	if k, ok := special[name]; ok {
		return tea.KeyMsg{Type: k}
	}
	if name == "space" || name == " " {
		return tea.KeyMsg{Type: tea.KeySpace, Runes: []rune{' '}}
	}
	return tea.KeyMsg{Type: tea.KeyRunes, Runes: []rune(name)}
}

var special = map[string]tea.KeyType{
	"enter": tea.KeyEnter, "esc": tea.KeyEsc, "tab": tea.KeyTab, "shift+tab": tea.KeyShiftTab, "backspace": tea.KeyBackspace, "delete": tea.KeyDelete,
	"up": tea.KeyUp, "down": tea.KeyDown, "left": tea.KeyLeft, "right": tea.KeyRight, "home": tea.KeyHome, "end": tea.KeyEnd,
	"pgup": tea.KeyPgUp, "pgdown": tea.KeyPgDown, "ctrl+a": tea.KeyCtrlA, "ctrl+c": tea.KeyCtrlC, "ctrl+d": tea.KeyCtrlD, "ctrl+e": tea.KeyCtrlE,
	"ctrl+k": tea.KeyCtrlK, "ctrl+l": tea.KeyCtrlL, "ctrl+u": tea.KeyCtrlU, "ctrl+w": tea.KeyCtrlW, "ctrl+r": tea.KeyCtrlR,
}

// One wraps a single screen as the screens of a root.
func One(s screen.Screen) []screen.Screen { return []screen.Screen{s} }
