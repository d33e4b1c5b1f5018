package planner

import "testing"

// An experiment's sequence parallelism is in its step: no sum of whole outputs is left in a block.
func TestSequenceParallelismIsPlanned(t *testing.T) {
	whole, split := plan(t, "variant=full tp=2"), plan(t, "variant=full tp=2 sp=on")
	ops := map[string]int{}
	for _, c := range split.Block.Forward.Collectives {
		ops[c.Op]++
	}
	if ops["all-reduce"] > 0 || ops["all-gather"] == 0 || ops["reduce-scatter"] == 0 {
		t.Errorf("%v", ops)
	}
	if split.Memory.Activations >= whole.Memory.Activations {
		t.Errorf("%d bytes of activations, %d without", split.Memory.Activations, whole.Memory.Activations)
	}
}
