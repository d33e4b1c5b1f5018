package main

import (
	"errors"
	"fmt"

	"boost-tui/profiler/sample"
	"boost-tui/profiler/sample/nvml"
)

// nvidia says whether NVIDIA's driver answers.
type nvidia struct {
	GPUs   []string `json:"gpus"`
	Reason string   `json:"reason,omitempty"` // why there are none
}

func findNVIDIA() nvidia {
	found := nvidia{GPUs: []string{}}
	gpus, err := nvml.Open()
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

// cards opens the GPUs of this machine for sampling; none where there is no driver, which is nothing to note in a run.
func cards() (sample.GPUs, error) {
	gpus, err := nvml.Open()
	if errors.Is(err, nvml.ErrNoDriver) {
		return nil, nil
	}
	return gpus, err
}
