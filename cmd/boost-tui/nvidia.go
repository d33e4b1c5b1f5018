package main

import (
	"context"
	"fmt"
	"slices"

	"boost-tui/experiment"
	"boost-tui/profiler/sample"
	"boost-tui/profiler/sample/nvml"
	"boost-tui/runner"
)

// nvidia says whether NVIDIA's driver answers.
type nvidia struct {
	GPUs   []string `json:"gpus"`
	Reason string   `json:"reason,omitempty"` // why there are none
}

func findNVIDIA(ctx context.Context) nvidia {
	found := nvidia{GPUs: []string{}}
	gpus, err := nvml.Open(ctx)
	if err != nil {
		found.Reason = err.Error()
		return found
	}
	for _, g := range gpus.List() {
		d := g.Describe()
		found.GPUs = append(found.GPUs, fmt.Sprintf("%d: %s", d.Index, d.Name))
	}
	if err := gpus.Close(); err != nil {
		found.Reason = err.Error()
	}
	return found
}

// cardsOf are the cards of this machine that an experiment's ranks compute on; nil: none, or it is not known which.
func cardsOf(e experiment.Experiment) []runner.GPU {
	if e.Step.Device != experiment.DeviceCUDA || !onThisMachine(e) {
		return nil
	}
	gpus, err := nvml.Open(context.Background())
	if err != nil {
		return nil
	}
	defer gpus.Close()
	list := gpus.List()
	if len(list) == 0 {
		return nil
	}
	name := list[0].Describe().Name
	// Where cards are not of one kind it is not known here which a rank takes: CUDA numbers them in an order of its own.
	if name == "" || slices.ContainsFunc(list, func(g sample.GPU) bool { return g.Describe().Name != name }) {
		return nil
	}
	return slices.Repeat([]runner.GPU{{Name: name}}, e.World())
}
