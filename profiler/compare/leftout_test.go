package compare

import (
	"encoding/json"
	"fmt"
	"math"
	"strings"
	"testing"

	"boost-tui/profiler/record"
)

// TestStepsLeftOut: the last loss is that of the last step, even where it is none, and what was left out is counted and said.
func TestStepsLeftOut(t *testing.T) {
	root := t.TempDir()
	whole := spec{id: "whole", variant: "full", scheme: "full-rank", steps: 12, wallNanos: 1e8}.write(t, root)
	broken := spec{id: "broken", variant: "full", scheme: "full-rank", steps: 12, wallNanos: 1e8, flags: func(step int) record.Flags {
		if step > 1 {
			return record.NonFinite
		}
		return 0
	}}.write(t, root)
	s, err := Summarize(broken)
	ok(t, err)
	if s.StepsLeftOut != 11 || s.LossFirst == nil || *s.LossFirst != 5 || s.LossLast != nil || s.LossMeanLast20 != nil {
		t.Errorf("%+v", s)
	}
	text, err := json.Marshal(s)
	ok(t, err)
	if !strings.Contains(string(text), `"steps_left_out":11`) || !strings.Contains(string(text), `"loss_last":null`) {
		t.Errorf("%s", text)
	}
	if s, err = Summarize(whole); err != nil || s.StepsLeftOut != 0 || s.LossLast == nil {
		t.Errorf("%+v, %v", s, err)
	}
	table, err := Compare([]string{whole, broken}, Options{})
	ok(t, err)
	if notes := strings.Join(table.Notes(), "\n"); !strings.Contains(notes, "broken left out 11 of 12 updates") {
		t.Errorf("%s", notes)
	}
}

// TestPipelineWait is known where every step knows it, and absent where there are no stages.
func TestPipelineWait(t *testing.T) {
	root := t.TempDir()
	for _, bubble := range []int64{0, 400} {
		s, err := Summarize(spec{id: fmt.Sprint("run", bubble), variant: "full", scheme: "full-rank", steps: 12, wallNanos: 1e8, bubble: bubble}.write(t, root))
		ok(t, err)
		if got := s.Breakdown.PipelineWait; (got != nil) != (bubble > 0) || got != nil && math.Abs(*got-400e-9) > 1e-12 {
			t.Errorf("%d ns: %v", bubble, got)
		}
	}
}
