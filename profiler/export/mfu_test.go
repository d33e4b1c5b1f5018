package export

import (
	"math"
	"testing"

	"boost-tui/experiment"
	"boost-tui/profiler/compare"
	"boost-tui/profiler/record"
)

func TestMFUPercent(t *testing.T) {
	e := experiment.Default()
	e.Step.DType = experiment.BF16
	r := &run{Run: compare.Run{Experiment: &e, GPUs: []compare.GPU{{Name: "NVIDIA A100-SXM4-80GB"}}}}
	r.Predicted.FLOPs = 156e12
	if got := mfuPercent(&record.StepLine{WallNanos: 1e9}, r); math.Abs(got-50) > 1e-9 {
		t.Errorf("%g %%, want 50", got)
	}
	r.GPUs = nil
	if got := mfuPercent(&record.StepLine{WallNanos: 1e9}, r); !math.IsNaN(got) {
		t.Errorf("without a card: %g", got)
	}
}
