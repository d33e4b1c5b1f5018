package trainer

import (
	"fmt"
	"os"

	"boost-tui/experiment"
	"boost-tui/kernels"
	"boost-tui/kernels/cpu"
	"boost-tui/runner/protocol"
)

// opener opens the device that a rank computes on.
type opener func(protocol.RankSpec) (kernels.Device, error)

// openDevice opens the device that the experiment names.
func openDevice(spec protocol.RankSpec) (kernels.Device, error) {
	switch d := spec.Experiment.Step.Device; d {
	case experiment.DeviceCPU, experiment.DeviceAuto:
	default:
		return nil, fmt.Errorf("device %s: not in this version yet; use %s", d, experiment.DeviceCPU)
	}
	var segment *os.File
	if spec.SegmentFD != protocol.NoFD {
		segment = os.NewFile(uintptr(spec.SegmentFD), "segment")
	}
	d, err := cpu.Open(cpu.Options{Segment: segment, Threads: spec.Threads})
	if err != nil {
		return nil, fmt.Errorf("open the cpu device: %w", err)
	}
	return d, nil
}
