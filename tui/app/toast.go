package app

import (
	"slices"
	"strings"
	"time"

	"boost-tui/tui/layout"
	"boost-tui/tui/msg"
	"boost-tui/tui/theme"

	tea "github.com/charmbracelet/bubbletea"
)

// toast is a text that is shown for a while in place of the status, and of the
// hints where it has two lines; in place of the hints alone while the status holds
// a prompt.
type toast struct {
	id int
	msg.Toast
}

// toastOver takes a toast away.
type toastOver struct{ id int }

// longToast is the cells from which on a toast takes longer to read.
const longToast = 70

// toastLimit bounds the toasts that wait for their turn.
const toastLimit = 8

func (m *Model) toast(t msg.Toast) tea.Cmd {
	m.toastID++
	t.Text = layout.Clean(t.Text)
	m.toasts = append(m.toasts, toast{m.toastID, t})
	if len(m.toasts) > toastLimit {
		m.toasts = m.toasts[1:]
	}
	if t.Level >= msg.Warn {
		m.env.Logf("%s", t.Text)
	}
	last := 4 * time.Second
	switch {
	case t.Level == msg.Bad:
		last = 12 * time.Second
	case layout.Width(t.Text) > longToast:
		last = 8 * time.Second
	}
	return m.env.After(last, toastOver{m.toastID})
}

func (m *Model) dropToast(id int) {
	for i, t := range m.toasts {
		if t.id == id {
			m.toasts = append(m.toasts[:i:i], m.toasts[i+1:]...)
			return
		}
	}
}

// dropToasts takes away what was said of something that has changed.
func (m *Model) dropToasts(of string) {
	m.toasts = slices.DeleteFunc(m.toasts, func(t toast) bool { return of != "" && t.Of == of })
}

// toastLine draws the newest toast in one line; false: there is none.
func (m *Model) toastLine(t theme.Theme) (string, bool) {
	rows := m.toastRows(t, 1)
	if rows == nil {
		return "", false
	}
	return rows[0], true
}

// toastRows draws the newest toast in at most so many lines.
func (m *Model) toastRows(t theme.Theme, most int) []string {
	n := len(m.toasts)
	if n == 0 {
		return nil
	}
	toast := m.toasts[n-1]
	style, sign := t.Text, " "
	switch toast.Level {
	case msg.Good:
		style, sign = t.Good, t.Glyphs.Check
	case msg.Warn:
		style, sign = t.Warn, t.Glyphs.Warn
	case msg.Bad:
		style, sign = t.Bad, t.Glyphs.Cross
	}
	parts := layout.Wrap(toast.Text, m.w-4)
	if len(parts) > most {
		parts = append(parts[:most-1:most-1], layout.Cut(strings.Join(parts[most-1:], " "), m.w-4, t.Glyphs.Ellipsis))
	}
	for i, part := range parts {
		parts[i] = layout.Pad(style.Paint(" "+sign+" "+part), m.w)
		sign = " "
	}
	return parts
}
