package live

import (
	"boost-tui/tui/feed"
	"boost-tui/tui/keys"
	"boost-tui/tui/widget/input"

	tea "github.com/charmbracelet/bubbletea"
)

func (m *Model) takeLog(in feed.Batch[feed.Lines]) tea.Cmd {
	if !m.logLoop.Mine(in.Source, in.Gen) {
		return nil
	}
	m.logging = false
	if in.Err != nil {
		m.lines.Append("the log cannot be read: " + in.Err.Error())
		return nil
	}
	if in.Value.Skipped > 0 {
		m.lines.Append(skippedNote(in.Value.Skipped))
	}
	m.lines.Append(in.Value.Lines...)
	if in.More || m.logAgain {
		return m.readLog()
	}
	return nil
}

func (m *Model) searchKey(e keys.Event) { m.search = m.lines.Prompt(m.search, e) }

func (m *Model) openSearch(string) tea.Cmd {
	if m.focus == paneRanks && m.byHost() {
		m.openHostFilter()
		return nil
	}
	line := input.New("")
	m.search = &line
	m.focusLog()
	return nil
}

// focusLog shows the log and gives it the focus.
func (m *Model) focusLog() {
	m.focus, m.showLog, m.noLog = paneLog, true, false
}
