package main

import (
	"testing"

	"boost-tui/trainer/golden"
)

// TestLimitWords: what checks were held to is said as it was, of each degree where that differs.
func TestLimitWords(t *testing.T) {
	single := golden.Limits{Loss: 1e-5, Gradient: 5e-5, Final: 1e-5}
	half := golden.Limits{Loss: 1e-3, Gradient: 0.1, Final: 0.8, GradientMedian: 1e-2, FinalMedian: 9e-3, Moment: 5e-2}
	wide := half
	wide.Loss = 6e-3
	const medians = "gradient 1e-01, in the median 1e-02, change of a step 8e-01, in the median 9e-03, moments 5e-02 relative"
	for want, reports := range map[string][]golden.Report{
		"limits: loss 1e-05 absolute, gradient 5e-05, final 1e-05 relative":                                    {{DType: "fp32", TP: 1, Limits: single}, {DType: "fp32", TP: 4, Limits: single}},
		"limits: loss 1e-03 absolute, " + medians + "; all against the reference device in bf16, step by step": {{DType: "bf16", TP: 1, Limits: half}},
		"limits: tp 1, 2: loss 1e-03 absolute, " + medians + "; tp 4: loss 6e-03 absolute, " + medians + "; all against the reference device in bf16, step by step": {
			{DType: "bf16", TP: 1, Limits: half}, {DType: "bf16", TP: 2, Limits: half}, {DType: "bf16", TP: 4, Limits: wide}, {DType: "bf16", TP: 1, Limits: half}},
	} {
		if got := limitWords(reports); got != want {
			t.Errorf("%s\nwant %s", got, want)
		}
	}
}
