package runs

import (
	"encoding/json"

	"boost-tui/runner"
)

// figures are what a run measured, by the names of DESIGN.md's `run` object.
// Times are seconds, sizes bytes; absent is unknown.
type figures struct {
	Steps           int       `json:"steps"`
	LossLast        *float64  `json:"loss_last"`
	StepTimeMedian  *float64  `json:"step_time_median"`
	TokensPerSecond *float64  `json:"tokens_per_second"`
	Breakdown       breakdown `json:"breakdown"`
	CommBytes       *int64    `json:"comm_bytes_per_step"`
	PeakMemory      *int64    `json:"peak_memory"`
}

type breakdown struct {
	Compute      float64 `json:"compute"` // overlap included
	CommExposed  float64 `json:"comm_exposed"`
	CommWait     float64 `json:"comm_wait"`
	CommTransfer float64 `json:"comm_transfer"`
	Overlap      float64 `json:"overlap"`
	Memory       float64 `json:"memory"`
	Idle         float64 `json:"idle"`
}

// step is the sum of the parts that a step divides into.
func (b breakdown) step() float64 { return b.Compute + b.CommExposed + b.Memory + b.Idle }

// figuresOf reads the summary that the agent wrote at a run's end.
func figuresOf(in runner.Info) *figures {
	if in.Result == nil || len(in.Result.Summary) == 0 {
		return nil
	}
	return parseFigures(in.Result.Summary)
}

func parseFigures(data []byte) *figures {
	var f figures
	if json.Unmarshal(data, &f) != nil {
		return nil
	}
	return &f
}
