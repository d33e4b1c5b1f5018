package compare

import (
	"testing"

	"boost-tui/experiment"
)

// The peak is known when every card's is, and the numbers are bf16.
func TestPeakFLOPS(t *testing.T) {
	for name, c := range map[string]struct {
		dtype string
		cards []GPU
		want  float64
	}{
		"two H200":     {experiment.BF16, []GPU{{"NVIDIA H200"}, {"NVIDIA H200"}}, 2 * 989.5e12},
		"fp32":         {experiment.FP32, []GPU{{"NVIDIA H200"}}, 0},
		"unknown card": {experiment.BF16, []GPU{{"NVIDIA H200"}, {"NVIDIA Z1"}}, 0},
		"no card":      {experiment.BF16, nil, 0},
	} {
		e := experiment.Default()
		e.Step.DType = c.dtype
		if got := (&Run{Experiment: &e, GPUs: c.cards}).PeakFLOPS(); got != c.want {
			t.Errorf("%s: %g, want %g", name, got, c.want)
		}
	}
	if got := (&Run{GPUs: []GPU{{"NVIDIA H200"}}}).PeakFLOPS(); got != 0 {
		t.Errorf("without an experiment: %g", got)
	}
}
