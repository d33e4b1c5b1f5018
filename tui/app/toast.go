package app

import (
	"time"

	"boost-tui/tui/layout"
	"boost-tui/tui/msg"
	"boost-tui/tui/theme"

	tea "github.com/charmbracelet/bubbletea"
)

// toast is a line that is shown for a while in place of the status, or of the
// hints while the status holds a prompt.
type toast struct {
	id int
	msg.Toast
}

// toastOver takes a toast away.
type toastOver struct{ id int }

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
	if t.Level == msg.Bad {
		last = 12 * time.Second
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

// toastLine draws the newest toast; false: there is none.
func (m *Model) toastLine(t theme.Theme) (string, bool) {
	n := len(m.toasts)
	if n == 0 {
		return "", false
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
	return layout.Pad(style.Paint(" "+sign+" "+layout.Cut(toast.Text, m.w-4, t.Glyphs.Ellipsis)), m.w), true
}
