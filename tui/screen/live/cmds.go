package live

import (
	"context"
	"fmt"
	"time"

	"boost-tui/profiler/record"
	"boost-tui/runner"
	"boost-tui/tui/feed"
	"boost-tui/tui/format"
	"boost-tui/tui/msg"

	tea "github.com/charmbracelet/bubbletea"
)

// read brings the snapshot up to date. Only one read is under way at a time:
// a wish for another is remembered.
func (m *Model) read() tea.Cmd {
	if !m.visible || m.run.Dir == "" {
		return nil
	}
	if m.reader == nil {
		return nil
	}
	if m.reading {
		m.again = true
		return nil
	}
	m.reading, m.again = true, false
	reader, a := m.reader, m.ask()
	return feed.Read(m.loop.Source, m.loop.Gen(), func(deadline time.Time) (snapshot, bool, error) { return reader.read(a, deadline) })
}

// ask is what the screen wants to know now.
func (m *Model) ask() ask {
	a := ask{span: m.span, end: m.end, first: m.page * pageRanks, world: m.world(), hosts: m.run.Run.Hosts, now: m.env.Now(), look: m.run.Run.Preflight != nil}
	if cores := m.run.Run.Cores; cores > 0 && a.world > 0 {
		a.cores = max(1, float64(cores/a.world))
	}
	return a
}

// startLog follows the log of the chosen rank.
func (m *Model) startLog() {
	m.stopLog()
	m.lines.Reset()
	m.tail = feed.NewTail(record.LogPath(m.run.Dir, m.logRank))
	m.logLoop.Start()
}

// culprit is the rank that ended a failed run, as its cause names it, else 0.
func (m *Model) culprit() int {
	rank := 0
	if m.run.State != runner.Failed {
		return 0
	}
	if _, err := fmt.Sscanf(m.run.Cause, "rank %d", &rank); err != nil || rank < 0 || rank >= m.world() {
		return 0
	}
	return rank
}

func (m *Model) stopLog() {
	m.logLoop.Stop()
	m.tail, m.logging, m.logAgain = nil, false, false
}

// readLog reads what is new in the log; a wish while a read is under way is
// remembered.
func (m *Model) readLog() tea.Cmd {
	if m.tail == nil || !m.visible {
		return nil
	}
	if m.logging {
		m.logAgain = true
		return nil
	}
	m.logging, m.logAgain = true, false
	return m.tail.Read(&m.logLoop)
}

func skippedNote(bytes int64) string {
	return "… " + format.Bytes(bytes) + " left out here; the file has them …"
}

// cancelled is the answer to a request to end a run.
type cancelled struct {
	id  string
	err error
}

// cancelPatience bounds how long a run may take to end before it is reported
// as not ended; the request stands.
const cancelPatience = 30 * time.Second

func (m *Model) cancel(id string) tea.Cmd {
	ask := m.env.Cancel
	return func() tea.Msg {
		ctx, stop := context.WithTimeout(context.Background(), cancelPatience)
		defer stop()
		return cancelled{id, ask(ctx, id)}
	}
}

func (c cancelled) toast() tea.Cmd {
	if c.err != nil {
		return msg.Send(msg.Toast{Level: msg.Bad, Text: "cancel " + c.id + ": " + c.err.Error()})
	}
	return tea.Batch(msg.Send(msg.Toast{Level: msg.Good, Text: "cancelled " + c.id}), msg.Send(msg.RunsChanged{}))
}
