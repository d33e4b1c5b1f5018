package runs

import (
	"encoding/json"

	"boost-tui/profiler/compare"
	"boost-tui/runner"
)

// figuresOf reads the summary that the agent wrote at a run's end; nil where
// there is none.
func figuresOf(in runner.Info) *compare.Summary {
	if in.Result == nil || len(in.Result.Summary) == 0 {
		return nil
	}
	var s compare.Summary
	if json.Unmarshal(in.Result.Summary, &s) != nil {
		return nil
	}
	return &s
}
