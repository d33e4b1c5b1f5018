package runs

import (
	"encoding/json"

	"boost-tui/profiler/compare"
	"boost-tui/runner"

	tea "github.com/charmbracelet/bubbletea"
)

// figuresOf are a run's figures: the summary that its agent wrote at its end, else what was measured; nil where nothing is
// known. A summary is read once, when somebody asks for it.
func (m *Model) figuresOf(in *runner.Info) *compare.Summary {
	k, seen := m.figures[in.ID]
	if in.Result == nil || len(in.Result.Summary) == 0 || seen && k.result == in.Result {
		return k.fig
	}
	s := decode(in.Result)
	if s == nil {
		return k.fig
	}
	m.figures[in.ID] = known{s, string(in.State), m.now(), in.Result}
	return s
}

// decode is the summary in a result; nil where it cannot be read.
func decode(r *runner.Result) *compare.Summary {
	var s compare.Summary
	if json.Unmarshal(r.Summary, &s) != nil {
		return nil
	}
	return &s
}

// decoded are summaries that were read aside.
type decoded map[string]known

// readSummaries reads the summaries of all runs aside, before somebody orders or filters by what is in them.
func (m *Model) readSummaries() tea.Cmd {
	if !m.visible || m.decoding {
		return nil
	}
	var todo []*runner.Info
	for _, r := range m.all {
		if res := r.Result; res != nil && len(res.Summary) > 0 && m.figures[r.ID].result != res {
			todo = append(todo, r.Info)
		}
	}
	if len(todo) == 0 {
		return nil
	}
	m.decoding = true
	now := m.now()
	return func() tea.Msg {
		out := make(decoded, len(todo))
		for _, in := range todo {
			// One that cannot be read is noted as well, or it would be tried again for ever.
			out[in.ID] = known{decode(in.Result), string(in.State), now, in.Result}
		}
		return out
	}
}

// forget drops what is known of runs that are gone.
func (m *Model) forget() {
	if len(m.figures) <= len(m.all) && len(m.usage) <= len(m.all) {
		return
	}
	there := make(map[string]bool, len(m.all))
	for _, r := range m.all {
		there[r.ID] = true
	}
	for id := range m.figures {
		if !there[id] {
			delete(m.figures, id)
		}
	}
	for id := range m.usage {
		if !there[id] {
			delete(m.usage, id)
		}
	}
}
