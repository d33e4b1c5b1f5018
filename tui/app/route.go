package app

import (
	"slices"
	"time"

	"boost-tui/tui/keys"
	"boost-tui/tui/msg"
	"boost-tui/tui/theme"
	"boost-tui/tui/widget/help"
	"boost-tui/tui/widget/modal"

	tea "github.com/charmbracelet/bubbletea"
)

const everywhere = "Everywhere"

// rootKeys are the bindings that work on every screen.
func rootKeys() keys.Table[func(*Model) tea.Cmd] {
	bind := func(do func(*Model) tea.Cmd, hint, help string, names ...string) keys.Entry[func(*Model) tea.Cmd] {
		return keys.Entry[func(*Model) tea.Cmd]{Binding: keys.Binding{Keys: names, Hint: hint, Help: help, Group: everywhere}, Do: do}
	}
	t := keys.Table[func(*Model) tea.Cmd]{
		bind((*Model).openHelp, "help", "every key; / filters", "?"),
		bind((*Model).quit, "quit", "leave; runs go on", "q"),
		bind(nil, "", "leave what is open; twice leaves the program", "ctrl+c"),
		bind((*Model).openPalette, "", "find an action by its name", ":"),
		bind(func(m *Model) tea.Cmd { return m.neighbour(1) }, "", "next screen", "gt"),
		bind(func(m *Model) tea.Cmd { return m.neighbour(-1) }, "", "screen before", "gT"),
		bind((*Model).openSettings, "", "settings: theme, plain characters, how often the list of runs is read", ","),
		bind((*Model).nextTheme, "", "next theme: auto, dark, light, mono", "T"),
		bind((*Model).repaint, "", "repaint the screen", "ctrl+l"),
	}
	for _, n := range "123456" {
		key := string(n)
		t = append(t, bind(func(m *Model) tea.Cmd { return m.tab(key) }, "", "screen "+key, key))
	}
	return t
}

// tab goes to the screen with the number.
func (m *Model) tab(key string) tea.Cmd {
	for _, tab := range m.opts.Tabs {
		if tab.Key != key {
			continue
		}
		if tab.Off {
			return m.toast(msg.Toast{Level: msg.Warn, Text: tab.Title + " comes in a later version"})
		}
		for _, s := range m.screens {
			if s.Title() == tab.Title {
				return m.show(s.ID())
			}
		}
	}
	return nil
}

// neighbour goes to the next screen, or to the one before, round at the ends.
func (m *Model) neighbour(by int) tea.Cmd {
	n := len(m.screens)
	return m.show(m.screens[(m.active+by+n)%n].ID())
}

// chord reports whether a key ends gt or gT. The g alone was the screen's.
func (m *Model) chord(e keys.Event) (name string, ok bool) {
	last, now := m.lastG, m.env.Now()
	m.lastG = time.Time{}
	switch {
	case e.Name == "g":
		m.lastG = now
	case (e.Name == "t" || e.Name == "T") && !last.IsZero() && now.Sub(last) < time.Second:
		return "g" + e.Name, true
	}
	return "", false
}

// bindings lists the active screen's keys and the root's.
func (m *Model) bindings() []keys.Binding {
	out := append([]keys.Binding{}, m.current().Keys()...)
	for _, b := range m.table.Bindings() {
		if len(b.Keys) == 1 && b.Keys[0] >= "1" && b.Keys[0] <= "6" {
			title := ""
			for _, tab := range m.opts.Tabs {
				if tab.Key == b.Keys[0] && !tab.Off {
					title = tab.Title
				}
			}
			if title == "" {
				continue
			}
			b.Help = "screen " + title
		}
		out = append(out, b)
	}
	return out
}

func (m *Model) openHelp() tea.Cmd {
	h := help.New(m.bindings(), m.env.ReadOnly)
	m.help = &h
	return nil
}

// openPalette lists every action; choosing one presses its key.
func (m *Model) openPalette() tea.Cmd {
	var items []modal.Item
	var press []string
	for _, b := range m.bindings() {
		if b.Help == "" || len(b.Keys) == 0 || b.Keys[0] == ":" || b.Keys[0] == "ctrl+c" {
			continue
		}
		items = append(items, modal.Item{Label: b.Help, Note: b.Label(), Words: b.Hint + " " + b.Group, Off: b.Off(m.env.ReadOnly)})
		press = append(press, b.Keys[0])
	}
	m.dialogs = append(m.dialogs, msg.Open{Modal: modal.Menu{Title: "Actions", Items: items, Find: true}, Then: func(answer any) tea.Cmd {
		i, ok := answer.(int)
		if !ok {
			return nil
		}
		return m.key(keys.Press(press[i]))
	}})
	return nil
}

func (m *Model) nextTheme() tea.Cmd {
	names := theme.Names()
	at := 0
	for i, n := range names {
		if n == m.env.Theme.Options.Name {
			at = i
		}
	}
	next := names[(at+1)%len(names)]
	m.env.Theme = m.env.Theme.With(next)
	return tea.Batch(m.all(msg.Theme{Theme: m.env.Theme}), m.toast(msg.Toast{Text: "theme " + string(next)}))
}

func (m *Model) repaint() tea.Cmd {
	m.fresh++
	return nil
}

// dialogKey gives a key to the top dialog and acts on its answer.
func (m *Model) dialogKey(e keys.Event) tea.Cmd {
	top := len(m.dialogs) - 1
	dialog := m.dialogs[top]
	next, result := dialog.Modal.Update(e)
	if !result.Done {
		m.dialogs[top].Modal = next
		return nil
	}
	m.dialogs = m.dialogs[:top]
	if dialog.Then == nil {
		return nil
	}
	return dialog.Then(result.Answer)
}

// off reports whether read-only mode switches a key of the bindings off.
func off(bindings []keys.Binding, name string, readOnly bool) bool {
	for _, b := range bindings {
		if b.Off(readOnly) && slices.Contains(b.Keys, name) {
			return true
		}
	}
	return false
}
