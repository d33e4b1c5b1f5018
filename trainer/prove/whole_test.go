package prove

import (
	"testing"

	"boost-tui/experiment"
	"boost-tui/planner"
)

// What is measured on a GPU can be had there: every experiment is sound, and its rank fits a card of 80 GB beside what libraries take.
func TestWholeSizes(t *testing.T) {
	const room = 72 << 30
	b := &bench{Options: Options{Device: experiment.DeviceCUDA}}
	for _, s := range stepParts {
		e, err := b.experiment(s)
		if err != nil {
			t.Errorf("%s: %v", s.name, err)
			continue
		}
		p, err := planner.New(e, planner.Machine{})
		if err != nil {
			t.Errorf("%s: %v", s.name, err)
			continue
		}
		t.Logf("%s: %.1f GiB, %.1f TFLOP a rank", s.name, float64(p.Memory.Total)/(1<<30), float64(p.FLOPs)/1e12/float64(max(s.tp, 1)))
		if p.Memory.Total > room {
			t.Errorf("%s needs %d bytes", s.name, p.Memory.Total)
		}
		if s.tp > 1 {
			continue
		}
		rows, ops, err := productsOf(e)
		if err != nil || len(rows) == 0 || len(rows) != len(ops) {
			t.Errorf("%s: %d products, %v", s.name, len(rows), err)
		}
		var flops int64
		for i, r := range rows {
			flops += ops[i].FLOPs() * int64(r.PerStep)
			if i > 0 && ops[i].FLOPs()*int64(r.PerStep) > ops[i-1].FLOPs()*int64(rows[i-1].PerStep) {
				t.Errorf("%s: product %d takes more than the one before", s.name, i)
			}
		}
		t.Logf("%s: %d shapes, %.1f TFLOP", s.name, len(rows), float64(flops)/1e12)
		if flops <= p.FLOPs/2 || flops > 2*p.FLOPs {
			t.Errorf("%s: its products are %d FLOPs of %d", s.name, flops, p.FLOPs)
		}
	}
}
