package app

import (
	"context"
	"time"

	"boost-tui/runner"
	"boost-tui/tui/feed"
	"boost-tui/tui/msg"

	tea "github.com/charmbracelet/bubbletea"
)

const (
	pollLive = time.Second     // between two listings while a run is on
	pollIdle = 3 * time.Second // between two looks at the folder's stamp
	// listDeadline bounds a listing on a file system that hangs.
	listDeadline = 30 * time.Second
)

// listing is what a look at the store found; unchanged leaves the list as it was.
type listing struct {
	infos     []runner.Info
	errs      []error
	back      map[string]string
	stamp     int64
	unchanged bool
}

// readRuns lists the store in a Cmd. When nothing is running and the folder
// has not changed since, it looks at the folder's stamp only.
func (m *Model) readRuns() tea.Cmd {
	stamp, store, changed, asks := m.stamp, m.env.Store, m.opts.RootChanged, m.env.ComesBack
	must := !m.listed || m.moving() || changed == nil
	return feed.Read(m.poll.Source, m.poll.Gen(), func(time.Time) (listing, bool, error) {
		l := listing{stamp: stamp}
		if changed != nil {
			l.stamp = changed()
		}
		if !must && l.stamp == stamp {
			l.unchanged = true
			return l, false, nil
		}
		ctx, cancel := context.WithTimeout(context.Background(), listDeadline)
		defer cancel()
		l.infos, l.errs = store.List(ctx)
		l.back = comingBack(l.infos, asks)
		return l, false, nil
	})
}

// comingBack asks what runs that are over wait for to go on as another one.
func comingBack(infos []runner.Info, ask func(runner.Info) string) map[string]string {
	back := map[string]string{}
	for i := range infos {
		if in := &infos[i]; ask != nil && in.State.Over() && in.Run.Experiment.Where.MaxRestarts > 0 {
			if words := ask(*in); words != "" {
				back[in.ID] = words
			}
		}
	}
	return back
}

// pollRuns keeps the list fresh. mine is false for messages of others.
func (m *Model) pollRuns(in tea.Msg) (cmd tea.Cmd, mine bool) {
	switch in := in.(type) {
	case msg.RunsChanged:
		m.listed = false
		m.poll.Start()
		return m.readRuns(), true
	case msg.Tick:
		if !m.poll.Mine(in.Owner, in.Gen) {
			return nil, in.Owner == m.poll.Source
		}
		return m.readRuns(), true
	case feed.Batch[listing]:
		if !m.poll.Mine(in.Source, in.Gen) {
			return nil, true
		}
		var cmds []tea.Cmd
		m.stamp = in.Value.stamp
		if !in.Value.unchanged {
			m.listed = true
			m.runs = msg.Runs{Infos: in.Value.infos, Errs: in.Value.errs, Back: in.Value.back, At: m.env.Now()}
			cmds = append(cmds, m.all(m.runs))
		}
		wait := pollIdle
		if m.moving() {
			wait = m.pace
		}
		return tea.Batch(append(cmds, m.poll.Wait(m.env.After, wait))...), true
	}
	return nil, false
}
