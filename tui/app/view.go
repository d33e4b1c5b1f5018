package app

import (
	"fmt"

	"boost-tui/tui/keys"
	"boost-tui/tui/layout"
	"boost-tui/tui/theme"
	"boost-tui/tui/widget/modal"
	"boost-tui/tui/widget/statusbar"
)

// View draws the whole terminal: tabs, screen, status or toast, hints, and
// what is open on top. While the screen is typed into, its prompt is in the
// status row, and a toast takes the row of the hints instead.
func (m *Model) View() string {
	if m.w <= 0 || m.h <= 0 {
		return ""
	}
	view := m.view()
	if m.env.Theme.ASCII {
		view = layout.ASCII(view)
	}
	return view
}

func (m *Model) view() string {
	t := m.env.Theme
	if layout.ClassOf(m.w, m.h) == layout.TooSmall {
		text := "boost-tui needs 40x10,\nthis is %dx%d.\nq quits"
		if m.w < len("boost-tui needs 40x10,") {
			text = "too small:\n%dx%d of\n40x10 (q)"
		}
		return layout.Fit(fmt.Sprintf(text, m.w, m.h), m.w, m.h)
	}
	body := layout.Rect{X: 0, Y: 1, W: m.w, H: m.h - 3}
	content := layout.Fit(m.current().View(body), body.W, body.H)
	switch {
	case m.help != nil:
		content = layout.Overlay(content, m.help.View(t, body.W, body.H), body.W, body.H)
	case len(m.dialogs) > 0:
		content = layout.Overlay(content, m.dialogs[len(m.dialogs)-1].Modal.View(t, body.W, body.H), body.W, body.H)
	}
	status, hints := m.statusLine(t), m.hintLine(t)
	if rows := m.toastRows(t, 2); len(rows) == 2 && m.help == nil && len(m.dialogs) == 0 && !m.prompting() {
		status, hints = rows[0], rows[1]
	}
	frame := layout.Stack(statusbar.Tabs(t, m.opts.Tabs, m.tabIndex(), m.site(), m.w), content, status, hints)
	return layout.Fit(frame, m.w, m.h)
}

// hintLine is the keys of what has the keyboard: the help, the top dialog, a
// field that is being typed in, or the screen. Keys that do nothing now are not
// in it.
func (m *Model) hintLine(t theme.Theme) string {
	switch {
	case m.help != nil:
		return statusbar.Hints(t, m.help.Hints(), m.w)
	case len(m.dialogs) > 0:
		return statusbar.Hints(t, modal.Hints(m.dialogs[len(m.dialogs)-1].Modal), m.w)
	case m.current().Capturing():
		if line, ok := m.toastLine(t); ok {
			return line
		}
		return statusbar.Hints(t, m.current().Keys(), m.w)
	}
	var own []keys.Binding
	taken := map[string]bool{}
	for _, b := range m.current().Keys() {
		for _, k := range b.Keys {
			taken[k] = true
		}
		if !b.Off(m.env.ReadOnly) {
			own = append(own, b)
		}
	}
	for _, b := range m.table.Bindings() {
		if !taken[b.Keys[0]] {
			own = append(own, b)
		}
	}
	return statusbar.Hints(t, own, m.w)
}

// site is the right end of the tab line.
func (m *Model) site() string {
	text := layout.Clean(m.env.Host)
	if m.env.ReadOnly {
		text += "  read-only"
	}
	running, pending := m.going()
	if running > 0 {
		text += fmt.Sprintf("  %d running", running)
	}
	if pending > 0 {
		text += fmt.Sprintf("  %d pending", pending)
	}
	return text + " "
}

func (m *Model) statusLine(t theme.Theme) string {
	if line, ok := m.toastLine(t); ok && !m.prompting() {
		return line
	}
	return layout.Pad(layout.Cut(" "+m.current().Status(), m.w, t.Glyphs.Ellipsis), m.w)
}

// prompting says whether keys go into a prompt of the screen: it must be seen.
func (m *Model) prompting() bool {
	return m.help == nil && len(m.dialogs) == 0 && m.current().Capturing()
}

// tabIndex is the place of the active screen among the tabs.
func (m *Model) tabIndex() int {
	for i, tab := range m.opts.Tabs {
		if tab.Title == m.current().Title() {
			return i
		}
	}
	return -1
}

// tabAt is the key of the tab under column x of the first line.
func (m *Model) tabAt(x int) string {
	return statusbar.TabAt(m.opts.Tabs, m.tabIndex(), m.w-layout.Width(m.site()), x)
}
