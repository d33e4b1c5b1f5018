package live

import (
	"time"

	"boost-tui/runner"
	"boost-tui/tui/feed"
	"boost-tui/tui/keys"
	"boost-tui/tui/layout"
	"boost-tui/tui/msg"
	"boost-tui/tui/widget/logview"

	tea "github.com/charmbracelet/bubbletea"
)

// Update handles keys and messages.
func (m *Model) Update(in tea.Msg) (cmd tea.Cmd, used bool) {
	dirty := true
	switch in := in.(type) {
	case keys.Event:
		cmd, used = m.key(in)
		m.listHosts()
	case msg.Theme:
		m.env.Theme = in.Theme
	case msg.Shown:
		if in.Screen == ID {
			cmd = m.show()
		}
	case msg.Hidden:
		if in.Screen == ID {
			m.hide()
		}
	case msg.OpenRun:
		// One that is not listed yet was just launched: that is the newest.
		_, listed := m.find(in.ID)
		cmd = m.open(in.ID, listed && !m.newest(in.ID))
		if in.Log {
			m.focusLog()
		}
	case msg.Runs:
		cmd = m.list(in)
	case msg.References:
		m.refs = in
		cmd = m.readReferences()
	case referencesRead:
		m.takeReferences(in)
	case msg.Tick:
		dirty = false
		if m.loop.Mine(in.Owner, in.Gen) {
			cmd = tea.Batch(m.read(), m.readLog(), m.askJob())
		}
	case feed.Batch[snapshot]:
		cmd = m.take(in)
	case feed.Batch[feed.Lines]:
		cmd = m.takeLog(in)
	case jobHeard:
		m.takeJob(in)
	case cancelled:
		cmd = in.toast()
	default:
		dirty = false
	}
	if dirty {
		m.cache = ""
	}
	return cmd, used
}

// show begins to read; a run that is over and was read stays as it is.
func (m *Model) show() tea.Cmd {
	m.visible, m.now = true, m.env.Now()
	if m.run.Dir == "" {
		return nil
	}
	if m.ended {
		return m.readReferences()
	}
	if m.reader == nil {
		m.reader = newFollower(m.run.Dir)
		m.startLog()
	}
	m.loop.Start()
	return tea.Batch(m.read(), m.readLog(), m.readReferences(), m.askJob())
}

// hide lets the timer run out. A read that is under way may still arrive.
func (m *Model) hide() {
	m.visible = false
	m.loop.Stop()
}

// list takes the store's runs: the shown one may have changed its state, or
// another one may have begun.
func (m *Model) list(in msg.Runs) tea.Cmd {
	more := finished(in.Infos) != finished(m.infos)
	m.infos, m.back, m.errs, m.now = in.Infos, in.Back, len(in.Errs), m.env.Now()
	before, want := m.run.State, m.run.ID
	now, there := m.find(want)
	if there && m.run.Dir != "" {
		m.run = now
	}
	if m.restored && there && now.State != runner.Running {
		m.pinned = false // of an earlier session: a run that goes on now is of more interest
	}
	if there && !before.Over() && now.State.Over() && m.followed(want) {
		m.pinned = false // its chain goes on
	}
	m.restored = false
	if !there || !m.pinned {
		if next := m.pick(); !there || m.worthMoving(next) {
			want = next
		}
	}
	if want != m.run.ID || m.run.Dir == "" {
		return m.open(want, m.pinned && want == m.run.ID)
	}
	if more {
		m.choose()
	}
	if before == m.run.State {
		if more {
			return m.readReferences()
		}
		return nil
	}
	m.ended = false
	if rank := m.culprit(); rank != m.logRank && m.logRank == 0 {
		m.logRank = rank
		m.startLog()
	}
	if m.visible {
		return tea.Batch(m.read(), m.readLog(), m.readReferences())
	}
	return nil
}

// open shows another run from its beginning.
func (m *Model) open(id string, pin bool) tea.Cmd {
	if id == m.run.ID && m.run.Dir != "" {
		m.pinned = pin
		return nil
	}
	m.loop.Stop()
	run, ok := m.find(id)
	if !ok {
		run = runner.Info{ID: id}
	}
	m.run, m.pinned = run, pin && id != ""
	m.reader, m.latest, m.frozen, m.err = nil, snapshot{nonFinite: -1}, nil, nil
	m.ended, m.reading, m.again = false, false, false
	m.span, m.end, m.cursor, m.page, m.logRank = 0, -1, -1, 0, 0
	m.lines = logview.View{}
	m.hosts.opened, m.hosts.line = nil, nil
	m.hosts.table.Move(-1 << 30)
	m.setHostFilter("")
	m.job = jobOf{}
	m.refData, m.refErr, m.compared = nil, nil, comparing{}
	m.search = nil
	m.stopLog()
	m.logRank = m.culprit()
	m.choose()
	if m.visible && ok {
		return m.show()
	}
	return nil
}

// take shows what a read found and decides about the next one.
func (m *Model) take(in feed.Batch[snapshot]) tea.Cmd {
	if in.Source != m.loop.Source || in.Value.by != m.reader {
		return nil
	}
	m.reading, m.now, m.err = false, m.env.Now(), in.Err
	if in.Err == nil {
		in.Value.notice(&m.latest, m.now)
		m.latest = in.Value
		m.clampView()
		m.listHosts()
	}
	refs := m.readReferences()
	switch {
	case !m.visible:
		return nil
	case in.Err == nil && (in.More || m.again):
		return tea.Batch(m.read(), refs)
	case m.live():
		return tea.Batch(m.loop.Wait(m.env.After, pollEvery), refs)
	}
	m.ended = in.Err == nil
	return refs
}

// notice keeps when what is newest was seen for the first time.
func (s *snapshot) notice(before *snapshot, now time.Time) {
	s.stepSeen, s.healthSeen = now, now
	if before.by == s.by && before.stepNanos == s.stepNanos {
		s.stepSeen = before.stepSeen
	}
	if before.by == s.by && before.healthNanos == s.healthNanos {
		s.healthSeen = before.healthSeen
	}
}

// clampView keeps cursor and page where there is something.
func (m *Model) clampView() {
	s := m.shown()
	if m.cursor >= 0 && s.some {
		m.cursor = max(s.first, min(m.cursor, s.last))
	}
	m.page = layout.Clamp(m.page, 0, max(0, (m.world()-1)/pageRanks))
}

func (m *Model) key(e keys.Event) (tea.Cmd, bool) {
	if m.search != nil {
		m.searchKey(e)
		return nil, true
	}
	if m.hosts.line != nil {
		m.hostFilterKey(e)
		m.listHosts()
		return nil, true
	}
	entry, ok := m.table.Find(e)
	if !ok || entry.Do == nil {
		return m.motion(e)
	}
	return entry.Do(m, e.Name), true
}

// motion scrolls the log and pages the ranks.
func (m *Model) motion(e keys.Event) (tea.Cmd, bool) {
	delta, ok := keys.Motion(e, m.lines.Page())
	if !ok {
		return nil, false
	}
	switch m.focus {
	case paneLog:
		m.lines.Scroll(delta)
	case paneRanks:
		if m.byHost() {
			if delta, ok = keys.Motion(e, m.hosts.table.Page()); ok {
				m.hosts.table.Move(delta)
			}
			return nil, true
		}
		return m.turnPage(layout.Clamp(delta, -1, 1)), true
	default:
		return nil, false
	}
	return nil, true
}
