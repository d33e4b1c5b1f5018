package trainer

import (
	"fmt"
	"os"
	"time"

	"boost-tui/experiment"
	"boost-tui/kernels"
	"boost-tui/kernels/cpu"
	"boost-tui/kernels/wire"
	"boost-tui/runner/protocol"
	"boost-tui/trainer/rendezvous"
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
	o := cpu.Options{World: spec.LocalWorld, Rank: spec.LocalRank, Threads: spec.Threads}
	l, err := experiment.ParseLink(spec.Experiment.Parallel.Link)
	if err != nil {
		return nil, err
	}
	o.Link = kernels.Link(l)
	if spec.Address != "" {
		version, err := rendezvous.BinaryHash()
		if err != nil {
			return nil, err
		}
		silence := time.Duration(spec.Experiment.Where.HeartbeatTimeout) * time.Second
		o.Network = &wire.Options{Secret: spec.Secret, Address: spec.Address, Version: version, Silence: silence, Say: func(format string, args ...any) {
			fmt.Printf("rank %d: %s\n", spec.Rank, fmt.Sprintf(format, args...)) // into the rank's log
		}}
	}
	if spec.SegmentFD != protocol.NoFD {
		o.Segment = os.NewFile(uintptr(spec.SegmentFD), "segment")
		defer o.Segment.Close() // the device works on a duplicate
	}
	d, err := cpu.Open(o)
	if err != nil {
		return nil, fmt.Errorf("open the cpu device: %w", err)
	}
	return d, nil
}
