package app

import (
	"time"

	"boost-tui/tui/feed"
	"boost-tui/tui/keys"
	"boost-tui/tui/layout"
	"boost-tui/tui/msg"
	"boost-tui/tui/safego"
	"boost-tui/tui/terminal"

	tea "github.com/charmbracelet/bubbletea"
)

// crashed is a panic in a Cmd.
type crashed struct{ panic *safego.Panic }

// guard makes a Cmd's panic a message, so that the terminal is restored and
// the stack goes to the log.
func guard(cmd tea.Cmd) tea.Cmd {
	if cmd == nil {
		return nil
	}
	return func() (out tea.Msg) {
		if p := safego.Call(func() { out = cmd() }); p != nil {
			return crashed{p}
		}
		if batch, ok := out.(tea.BatchMsg); ok {
			for i := range batch {
				batch[i] = guard(batch[i])
			}
		}
		return out
	}
}

// Update handles one message. A panic in it ends the program in order.
func (m *Model) Update(in tea.Msg) (_ tea.Model, cmd tea.Cmd) {
	if p := safego.Call(func() { cmd = m.update(in) }); p != nil {
		return m, m.Fail(p)
	}
	return m, guard(cmd)
}

// Fail notes a panic and ends the program.
func (m *Model) Fail(p *safego.Panic) tea.Cmd {
	m.crash = p
	m.env.Logf("%v\n%s", p, p.Stack)
	return tea.Quit
}

func (m *Model) update(in tea.Msg) tea.Cmd {
	switch in := in.(type) {
	case crashed:
		return m.Fail(in.panic)
	case tea.WindowSizeMsg:
		m.w, m.h = in.Width, in.Height
		m.fresh++
		return nil
	case tea.KeyMsg:
		var cmds []tea.Cmd
		for _, e := range keys.Normalize(in) {
			cmds = append(cmds, m.key(e))
		}
		return tea.Batch(append(cmds, m.saveLater())...)
	case tea.MouseMsg:
		return m.mouse(in)
	case msg.Open:
		m.dialogs = append(m.dialogs, in)
		return nil
	case msg.Toast:
		return m.toast(in)
	case msg.Outdated:
		m.dropToasts(in.Of)
		return nil
	case toastOver:
		m.dropToast(in.id)
		return nil
	case msg.Copy:
		m.raw = append(m.raw, terminal.Clipboard(in.Text, m.opts.Getenv)...)
		return m.toast(msg.Toast{Level: msg.Good, Text: "copied " + in.What})
	case msg.Goto:
		return m.show(in.Screen)
	case msg.OpenRun:
		return tea.Batch(m.show("live"), m.all(in))
	case msg.CompareRuns:
		return tea.Batch(m.show("compare"), m.all(in))
	case msg.EditExperiment:
		return tea.Batch(m.show("launch"), m.all(in))
	case msg.References:
		m.refs = in
		return tea.Batch(m.all(in), m.saveLater())
	case msg.RunsChanged, msg.Tick, feed.Batch[listing]:
		if cmd, mine := m.pollRuns(in); mine {
			return cmd
		}
	case saveNow:
		return m.save()
	case saved:
		return m.saved(in)
	}
	return m.all(in)
}

// all hands a message to every screen.
func (m *Model) all(in tea.Msg) tea.Cmd {
	cmds := make([]tea.Cmd, 0, len(m.screens))
	for _, s := range m.screens {
		cmd, _ := s.Update(in)
		cmds = append(cmds, cmd)
	}
	return tea.Batch(cmds...)
}

// show makes a screen the active one.
func (m *Model) show(id string) tea.Cmd {
	for i, s := range m.screens {
		if s.ID() == id && i != m.active {
			old := m.current().ID()
			m.active = i
			return tea.Batch(m.all(msg.Hidden{Screen: old}), m.all(msg.Shown{Screen: id}), m.saveLater())
		}
	}
	return nil
}

// key routes one key: ctrl+c, then the help, the top dialog, the active
// screen, and last the root's own bindings.
func (m *Model) key(e keys.Event) tea.Cmd {
	if e.Name == "ctrl+c" {
		return m.interrupt()
	}
	if m.unseen() {
		if e.Name == "q" {
			return m.quit()
		}
		return nil
	}
	if m.help != nil {
		h, closed := m.help.Update(e)
		m.help = &h
		if closed {
			m.help = nil
		}
		return nil
	}
	if n := len(m.dialogs); n > 0 {
		return m.dialogKey(e)
	}
	screen := m.current()
	capturing := screen.Capturing()
	if !capturing && off(screen.Keys(), e.Name, m.env.ReadOnly) {
		return m.toast(msg.Toast{Level: msg.Warn, Text: e.Name + " is off: the UI was started with --read-only"})
	}
	if !capturing {
		if name, ok := m.chord(e); ok {
			e = keys.Event{Name: name}
		}
	}
	cmd, used := screen.Update(e)
	if used || capturing {
		return cmd
	}
	if entry, ok := m.table.Find(e); ok {
		return tea.Batch(cmd, entry.Do(m))
	}
	return cmd
}

// interrupt is ctrl+c: it leaves what is open, or the program; a second one
// within a second always leaves the program.
func (m *Model) interrupt() tea.Cmd {
	now := m.env.Now()
	again := now.Sub(m.lastInt) < time.Second
	m.lastInt = now
	if again {
		return m.quit()
	}
	switch {
	case m.help != nil:
		m.help = nil
		return nil
	case len(m.dialogs) > 0 || m.current().Capturing():
		return m.key(keys.Press("esc"))
	}
	return m.quit()
}

// quit saves the session and ends the program. Runs go on: those that were
// launched from here have a session of their own.
func (m *Model) quit() tea.Cmd {
	if m.opts.Save != nil {
		if err := m.opts.Save(m.session()); err != nil {
			m.env.Logf("save the session: %v", err)
		}
	}
	return tea.Quit
}

// unseen reports whether the terminal is too small to show what a key would act on.
func (m *Model) unseen() bool {
	return m.w > 0 && m.h > 0 && layout.ClassOf(m.w, m.h) == layout.TooSmall
}

// wheelRows is how far one notch of the mouse wheel moves.
const wheelRows = 3

func (m *Model) mouse(in tea.MouseMsg) tea.Cmd {
	if m.unseen() {
		return nil
	}
	name := ""
	switch {
	case in.Button == tea.MouseButtonWheelUp:
		name = "up"
	case in.Button == tea.MouseButtonWheelDown:
		name = "down"
	case in.Button == tea.MouseButtonLeft && in.Action == tea.MouseActionPress && in.Y == 0 && len(m.dialogs) == 0 && m.help == nil:
		if tab := m.tabAt(in.X); tab != "" {
			return m.tab(tab)
		}
	}
	if name == "" {
		return nil
	}
	var cmds []tea.Cmd
	for range wheelRows {
		cmds = append(cmds, m.key(keys.Press(name)))
	}
	return tea.Batch(cmds...)
}
