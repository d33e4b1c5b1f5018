package planner

import (
	"sort"

	"boost-tui/experiment"
)

// LargestMicroBatch is the largest micro-batch with which a resolved experiment is valid and fits the machine, everything else
// unchanged; 0 where none does, or where the machine's memory is unknown. On GPUs it leaves room for what is assumed to come
// beside the allocations (GPUMarginBytes).
func LargestMicroBatch(e experiment.Experiment, m Machine) int {
	k, ok := experiment.KeyOf("micro-batch")
	if !ok || !m.measures(e) {
		return 0
	}
	return sort.Search(int(k.Max), func(i int) bool {
		try := e
		try.Step.MicroBatch = i + 1
		if experiment.Invalid(try.Validate(experiment.Machine{})) != nil {
			return true
		}
		need, err := needs(try)
		return err != nil || !m.roomy(try, need)
	})
}
