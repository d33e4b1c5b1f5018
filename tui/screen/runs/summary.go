package runs

import (
	"encoding/json"

	"boost-tui/profiler/compare"
	"boost-tui/runner"
)

// figuresOf are a run's figures: the summary that its agent wrote at its end, else what was measured; nil where nothing is
// known. A summary is read once, when somebody asks for it.
func (m *Model) figuresOf(in *runner.Info) *compare.Summary {
	k, seen := m.figures[in.ID]
	if in.Result == nil || len(in.Result.Summary) == 0 || seen && k.result == in.Result {
		return k.fig
	}
	var s compare.Summary
	if json.Unmarshal(in.Result.Summary, &s) != nil {
		return k.fig
	}
	m.figures[in.ID] = known{&s, string(in.State), m.now(), in.Result}
	return &s
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
