package trainer

import (
	"fmt"
	"testing"
	"time"

	"boost-tui/kernels"
	"boost-tui/profiler"
	"boost-tui/profiler/record"
)

// A sampled step on the emulated device has a span of its own for every operation, messages with their group and number alike on
// both ranks, in order on each stream and inside the step.
func TestEmulatedDeepStep(t *testing.T) {
	compiled(t)
	const sampledSteps = 2 // of the seven, those after warmSteps
	p := start(t, small(t, map[string]string{"tp": "2", "device": "emulated", "dtype": "bf16", "steps": fmt.Sprint(warmSteps + sampledSteps)}))
	for rank := range p.cmds {
		if code := p.code(t, rank, time.Minute); code != 0 {
			t.Fatalf("rank %d exits %d", rank, code)
		}
	}
	n := 0
	err := profiler.EachSampled(t.Context(), p.dir, func(step int, ranks []profiler.RankSpans) error {
		n++
		if len(ranks) != 2 {
			t.Fatalf("step %d has spans of %d ranks", step, len(ranks))
		}
		messages := [2]string{}
		for i, r := range ranks {
			last, phases := map[kernels.Stream]int64{}, map[kernels.Phase]int{}
			for _, s := range r.Spans {
				if s.Label.Op == "" || s.DurNanos < 0 || s.StartNanos < last[s.Stream] {
					t.Errorf("step %d, rank %d: %s (%s) begins %d ns before the end of the last one", step, r.Rank, s.Op, s.Label, last[s.Stream]-s.StartNanos)
				}
				last[s.Stream] = s.EndNanos()
				phases[s.Label.Phase]++
				if s.Class == kernels.Communication {
					messages[i] += fmt.Sprintf("%s %s %d %d\n", s.Op, s.Group, s.Seq, s.Bytes)
					if s.WaitNanos == record.Unknown || s.WaitNanos > s.DurNanos {
						t.Errorf("step %d, rank %d: %s waits %d of %d ns", step, r.Rank, s.Label, s.WaitNanos, s.DurNanos)
					}
				}
			}
			if phases[kernels.Forward] == 0 || phases[kernels.Backward] == 0 || phases[kernels.Optimizer] == 0 {
				t.Errorf("step %d, rank %d: phases %v", step, r.Rank, phases)
			}
		}
		if messages[0] == "" || messages[0] != messages[1] {
			t.Errorf("step %d: the messages of the ranks are\n%sand\n%s", step, messages[0], messages[1])
		}
		return nil
	})
	if err != nil || n != sampledSteps {
		t.Errorf("%d sampled steps, %v", n, err)
	}
}
