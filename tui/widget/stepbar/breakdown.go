package stepbar

import (
	"math"

	"boost-tui/profiler/compare"
)

// Of takes the parts of a run's mean step; nil gives unknown parts.
func Of(b *compare.Breakdown) Parts {
	p := Unknown()
	if b == nil {
		return p
	}
	overlap := value(b.Overlap)
	if math.IsNaN(overlap) {
		overlap = 0
	}
	p.Compute, p.Hidden = value(b.Compute)-overlap, overlap
	p.Exposed, p.Memory, p.Idle = value(b.CommExposed), value(b.Memory), value(b.Idle)
	p.Comm, p.Wait, p.Transfer = value(b.Comm), value(b.CommWait), value(b.CommTransfer)
	return p
}

func value(v *float64) float64 {
	if v == nil {
		return math.NaN()
	}
	return *v
}
