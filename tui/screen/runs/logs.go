package runs

import (
	"fmt"
	"time"

	"boost-tui/profiler/record"
	"boost-tui/tui/feed"
	"boost-tui/tui/keys"
	"boost-tui/tui/layout"
	"boost-tui/tui/msg"
	"boost-tui/tui/theme"
	"boost-tui/tui/widget/input"
	"boost-tui/tui/widget/logview"
	"boost-tui/tui/widget/panel"

	tea "github.com/charmbracelet/bubbletea"
)

// logPoll is the pause between two looks at a log.
const logPoll = time.Second

// logPane shows the log of one rank of one run.
type logPane struct {
	open bool
	id   string
	dir  string
	live bool
	rank int
	of   int
	view *logview.View
	tail *feed.Tail
	loop feed.Loop
	line *input.Line
	err  error
}

// logBindings are the keys of the log pane.
var logBindings = keys.Table[func(*Model) tea.Cmd]{
	logEntry("esc", "back", "back to the list; l too", (*Model).closeLogs),
	logEntry("/", "search", "search", (*Model).searchLogs),
	logEntry("n", "next", "next match above", func(m *Model) tea.Cmd { m.logs.view.Next(false); return nil }),
	logEntry("N", "", "next match below", func(m *Model) tea.Cmd { m.logs.view.Next(true); return nil }),
	logEntry("e", "errors", "only lines that look like errors", func(m *Model) tea.Cmd { m.logs.view.ToggleErrors(); return nil }),
	logEntry("w", "wrap", "break long lines", func(m *Model) tea.Cmd { m.logs.view.ToggleWrap(); return nil }),
	logEntry("]", "rank", "log of the next rank", func(m *Model) tea.Cmd { return m.logs.turn(1) }),
	logEntry("[", "", "log of the rank before", func(m *Model) tea.Cmd { return m.logs.turn(-1) }),
	logEntry("l", "", "back to the list", (*Model).closeLogs),
	logEntry("q", "", "back to the list", (*Model).closeLogs),
}

func logEntry(key, hint, help string, do func(*Model) tea.Cmd) keys.Entry[func(*Model) tea.Cmd] {
	return keys.Entry[func(*Model) tea.Cmd]{Binding: keys.Binding{Keys: []string{key}, Hint: hint, Help: help, Group: "Logs"}, Do: do}
}

func (m *Model) openLogs() tea.Cmd {
	r, ok := m.Selected()
	if !ok {
		return nil
	}
	m.logs.open, m.logs.id, m.logs.dir, m.logs.live = true, r.ID, r.Dir, running(r.State)
	m.logs.of, m.logs.rank = max(1, r.Run.World()), 0
	return m.logs.restart()
}

func (m *Model) closeLogs() tea.Cmd {
	m.logs.open = false
	m.logs.loop.Stop()
	return nil
}

func (m *Model) searchLogs() tea.Cmd {
	line := input.New("")
	m.logs.line = &line
	return nil
}

// restart reads the log of the present rank from near its end.
func (l *logPane) restart() tea.Cmd {
	l.view.Reset()
	l.err = nil
	l.tail = feed.NewTail(record.LogPath(l.dir, l.rank))
	l.loop.Start()
	return l.read()
}

// resume reads on when the screen is shown again.
func (l *logPane) resume() tea.Cmd {
	if !l.open {
		return nil
	}
	return l.restart()
}

func (l *logPane) read() tea.Cmd { return l.tail.Read(&l.loop) }

func (l *logPane) turn(by int) tea.Cmd {
	l.rank = (l.rank + by + l.of) % l.of
	return l.restart()
}

func (l *logPane) take(m *Model, in feed.Batch[feed.Lines]) tea.Cmd {
	if !l.loop.Mine(in.Source, in.Gen) {
		return nil
	}
	l.err = in.Err
	l.view.Append(in.Value.Lines...)
	for _, r := range m.all {
		if r.ID == l.id {
			l.live = running(r.State)
		}
	}
	switch {
	case in.More:
		return l.read()
	case !l.live || in.Err != nil:
		return nil // it is over: nothing more comes
	}
	return l.loop.Wait(m.env.After, logPoll)
}

func (l *logPane) key(m *Model, e keys.Event) (tea.Cmd, bool) {
	if l.line != nil {
		l.line = l.view.Prompt(l.line, e)
		return nil, true
	}
	if entry, ok := logBindings.Find(e); ok {
		return entry.Do(m), true
	}
	if e.Name == "y" {
		return msg.Send(msg.Copy{Text: record.LogPath(l.dir, l.rank), What: "the log's path"}), true
	}
	if delta, ok := keys.Motion(e, l.view.Page()); ok {
		l.view.Scroll(delta)
		return nil, true
	}
	return nil, false
}

func (l *logPane) pane(t theme.Theme, r layout.Rect) string {
	w, h := panel.Inner(r.W, r.H)
	body := l.view.Draw(t, w, h)
	if l.err != nil {
		body = t.Bad.Paint(layout.Clean(l.err.Error()))
	} else if l.view.Len() == 0 {
		body = t.Dim.Paint("the log is empty")
	}
	return panel.Panel{Title: fmt.Sprintf("Log of %s, rank %d of %d", layout.Clean(l.id), l.rank, l.of), Note: l.view.State(), Focused: true}.View(t, body, r.W, r.H)
}
