package launch

import (
	"context"
	"fmt"
	"slices"
	"time"

	"boost-tui/experiment"
	"boost-tui/runner"
	"boost-tui/tui/feed"
	"boost-tui/tui/layout"
	"boost-tui/tui/msg"
	"boost-tui/tui/pick"

	tea "github.com/charmbracelet/bubbletea"
)

const (
	// launchTick is how often the status counts while a launch is under way.
	launchTick = time.Second
	// launchSlow is when the UI says that a launch takes long.
	launchSlow = 5 * time.Second
)

// progress is a launch under way and what came of the last one.
type progress struct {
	what    string    // being launched; "" when nothing is
	since   time.Time // of the launch under way
	slow    bool      // said already that it takes long
	loop    feed.Loop
	failure string   // why the last launch came to nothing; until the next one
	ids     []string // runs of the last launch, while they are watched
}

// busy reports whether a launch is under way.
func (p *progress) busy() bool { return p.what != "" }

// begin notes the start of a launch and counts from now on.
func (m *Model) begin(what string) tea.Cmd {
	loop := m.launch.loop
	loop.Source = "launch.progress"
	loop.Start()
	m.launch = progress{what: what, since: m.env.Now(), loop: loop}
	return m.launch.loop.Wait(m.env.After, launchTick)
}

// count goes on counting, and says once that it takes long.
func (m *Model) count() tea.Cmd {
	if !m.launch.busy() {
		return nil
	}
	next := m.launch.loop.Wait(m.env.After, launchTick)
	if waited := m.env.Now().Sub(m.launch.since); !m.launch.slow && waited >= launchSlow {
		m.launch.slow = true
		return tea.Batch(next, msg.Send(msg.Toast{Level: msg.Warn, Text: fmt.Sprintf("the launch of %s takes long: no agent has answered for %.0f s", m.launch.what, waited.Seconds())}))
	}
	return next
}

// end notes how a launch went: the runs it made, and why there are not more.
func (m *Model) end(err error, ids ...string) {
	m.launch = progress{ids: ids, loop: m.launch.loop}
	m.launch.loop.Stop()
	if err != nil {
		m.launch.failure = firstLine(err.Error())
	}
}

// watch tells when a run that was launched last has failed: its agent may die before anybody looks at the run.
func (m *Model) watch(infos []runner.Info) tea.Cmd {
	var cmds []tea.Cmd
	for _, in := range infos {
		at := slices.Index(m.launch.ids, in.ID)
		if at < 0 || !in.State.Over() {
			continue
		}
		m.launch.ids = slices.Delete(slices.Clone(m.launch.ids), at, at+1)
		if in.State != runner.Failed && in.State != runner.Lost {
			continue
		}
		cause := layout.Clean(in.Cause)
		if cause == "" {
			cause = "no cause is known"
		}
		m.launch.failure = pick.Short(in.ID) + " " + string(in.State) + ": " + cause
		cmds = append(cmds, msg.Send(msg.Toast{Level: msg.Bad, Text: m.launch.failure}))
	}
	return tea.Batch(cmds...)
}

// progressLine is the status of a launch; "" when there is nothing to say.
func (m *Model) progressLine() string {
	t := m.env.Theme
	switch {
	case m.launch.busy():
		return t.Accent.Paint(fmt.Sprintf("launching %s %s %.0f s", m.launch.what, t.Glyphs.Ellipsis, m.env.Now().Sub(m.launch.since).Seconds()))
	case m.launch.failure != "":
		return t.Bad.Paint(t.Glyphs.Cross + " the last launch failed: " + m.launch.failure)
	}
	return ""
}

// start launches a run that waits for another one, if any is named.
func (m *Model) start(e experiment.Experiment, after string) tea.Cmd {
	start := m.env.Launch
	return tea.Batch(m.begin(describe(e)), func() tea.Msg {
		ctx, cancel := context.WithTimeout(context.Background(), deadline(e.Where))
		defer cancel()
		id, err := start(ctx, e, after)
		return launched{id, err}
	})
}
